import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;

/** Talks to the server given through Curator, and prints what it sees. */
public class CuratorClient {
    static CuratorFramework connect(String server) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(server, 20000, 20000, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected(60, TimeUnit.SECONDS);
        return client;
    }

    static void say(Object words) {
        System.out.println(words);
        System.out.flush();
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework a = connect(args[0]), b = connect(args[0]);
        a.create().creatingParentContainersIfNeeded().forPath("/curator/node", "data".getBytes());
        say("get " + new String(b.getData().forPath("/curator/node")));
        say("list " + b.getChildren().forPath("/curator"));
        CountDownLatch changed = new CountDownLatch(1);
        b.getData().usingWatcher((org.apache.zookeeper.Watcher) event -> {
            say("event " + event.getType());
            changed.countDown();
        }).forPath("/curator/node");
        a.setData().forPath("/curator/node", "other".getBytes());
        changed.await(60, TimeUnit.SECONDS);

        InterProcessMutex first = new InterProcessMutex(a, "/curator/lock"), second = new InterProcessMutex(b, "/curator/lock");
        say("acquired " + first.acquire(60, TimeUnit.SECONDS));
        say("busy " + !second.acquire(100, TimeUnit.MILLISECONDS));
        Thread waiter = new Thread(() -> {
            try {
                say("granted " + second.acquire(60, TimeUnit.SECONDS));
                CountDownLatch lost = new CountDownLatch(1);
                b.getConnectionStateListenable().addListener((client, state) -> {
                    if (state == ConnectionState.LOST) {
                        lost.countDown();
                    }
                });
                say("expire " + b.getZookeeperClient().getZooKeeper().getSessionId());
                say("lost " + lost.await(60, TimeUnit.SECONDS));
            } catch (Exception e) {
                say(e);
            }
        });
        waiter.start();
        while (first.getParticipantNodes().size() < 2) {
            Thread.sleep(1);
        }
        first.release();
        waiter.join();
        say("again " + first.acquire(60, TimeUnit.SECONDS));
        first.release();
        System.exit(0);
    }
}
