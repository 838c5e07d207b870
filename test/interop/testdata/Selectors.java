import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.retry.RetryOneTime;

/**
 * Candidates of Curator's LeaderSelector, whose ids are their names: see peer_test.go for what it is
 * told and what it says. A lock is the leadership.
 */
public class Selectors {
    private static final Map<String, LeaderSelector> selectors = new HashMap<>();
    private static final Map<String, CountDownLatch> orders = new HashMap<>();
    private static final Map<String, CountDownLatch> ends = new HashMap<>();

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], 20000, 20000, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] order = line.split(" ");
            String name = order[1];
            switch (order[0]) {
                case "lock" -> campaign(client, name, order[2]);
                case "unlock" -> {
                    orders.get(name).countDown();
                    ends.get(name).await();
                    selectors.get(name).close();
                    System.out.println(name);
                }
                case "leader" -> System.out.println(name + " " + selector(client, name, order[2], null).getLeader().getId());
                default -> throw new IllegalArgumentException(line);
            }
        }
        System.exit(0);
    }

    static void campaign(CuratorFramework client, String name, String path) {
        CountDownLatch resign = new CountDownLatch(1), end = new CountDownLatch(1);
        orders.put(name, resign);
        ends.put(name, end);
        LeaderSelector selector = selector(client, name, path, () -> {
            System.out.println(name);
            resign.await();
            end.countDown();
        });
        selectors.put(name, selector);
        selector.start();
    }

    interface Lead {
        void lead() throws InterruptedException;
    }

    static LeaderSelector selector(CuratorFramework client, String name, String path, Lead lead) {
        LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                lead.lead();
            }
        });
        selector.setId(name);
        return selector;
    }
}
