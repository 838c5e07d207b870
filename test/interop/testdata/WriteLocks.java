import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/** Locks with ZooKeeper's own recipe: see peer_test.go for what it is told and what it says. */
public class WriteLocks {
    public static void main(String[] args) throws Exception {
        Map<String, WriteLock> locks = new HashMap<>();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = orders.readLine()) != null; ) {
            String[] order = line.split(" ");
            String name = order[1];
            if (order[0].equals("lock")) {
                lock(locks, args[0], name, order[2]);
            } else {
                locks.get(name).unlock();
                System.out.println(name);
            }
        }
        System.exit(0);
    }

    static void lock(Map<String, WriteLock> locks, String server, String name, String path) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper(server, 20000, (WatchedEvent event) -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        connected.await();
        WriteLock lock = new WriteLock(client, path, Ids.OPEN_ACL_UNSAFE, new LockListener() {
            @Override
            public void lockAcquired() {
                System.out.println(name);
            }

            @Override
            public void lockReleased() {}
        });
        locks.put(name, lock);
        lock.lock();
    }
}
