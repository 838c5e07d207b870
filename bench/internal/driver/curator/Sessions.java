import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;

/** The clients, each a session of its own, kept until close. */
final class Sessions {
    private static final int TIMEOUT_MS = 30_000;

    private final Map<String, List<CuratorFramework>> clients = new HashMap<>();

    static CuratorFramework connect(String server) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(server, TIMEOUT_MS, TIMEOUT_MS, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    /** Returns as many clients as the request says, spread over its servers. */
    List<CuratorFramework> of(Fields f) throws Exception {
        String[] servers = f.text("servers").split(",");
        Map<String, Integer> taken = new HashMap<>();
        List<CuratorFramework> chosen = new ArrayList<>();
        for (int i = 0; i < Math.max(1, f.number("sessions")); i++) {
            String server = servers[i % servers.length];
            List<CuratorFramework> there = clients.computeIfAbsent(server, s -> new ArrayList<>());
            int index = taken.merge(server, 1, Integer::sum) - 1;
            if (index == there.size()) {
                there.add(connect(server));
            }
            chosen.add(there.get(index));
        }
        return chosen;
    }

    void close() {
        clients.values().forEach(there -> there.forEach(CuratorFramework::close));
        clients.clear();
    }
}
