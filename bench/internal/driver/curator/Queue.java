import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/**
 * A lock that is held, and threads of several sessions that wait for it, or an election. Once it is drained they pass
 * it on until enough hand-overs were timed; the rest wait until their sessions are closed.
 */
final class Queue {
    private final List<Thread> members = new ArrayList<>();
    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch begin = new CountDownLatch(1);
    private final CountDownLatch finished = new CountDownLatch(1);
    private final List<Double> times = new ArrayList<>();
    private final String path;
    private final double empty;
    private volatile long holdMicros;
    private CuratorFramework operator; // deletes the nodes of those whose turn it is, if not null
    private int wanted;
    private int last;
    private long released;

    Queue(Sessions sessions, Fields f, Recipe recipe) throws Exception {
        List<CuratorFramework> clients = sessions.of(f);
        path = f.text("path");
        start(recipe.stand(clients.get(0), path), () -> {
            held.countDown();
            begin.await();
            pass(0);
        });
        held.await();
        empty = heap();
        for (int i = 1; i <= f.number("waiters"); i++) {
            int session = i % clients.size();
            start(recipe.stand(clients.get(session), path), () -> {
                if (!granted(session)) {
                    new CountDownLatch(1).await(); // until close
                }
                TimeUnit.MICROSECONDS.sleep(holdMicros);
                pass(session);
            });
        }
    }

    interface Step {
        void run() throws Exception;
    }

    /** A place in the queue. It takes the step when its turn has come, and gives the turn back after it. */
    interface Stand {
        void await(Step step) throws Exception;
    }

    interface Recipe {
        Stand stand(CuratorFramework client, String path);
    }

    static Stand mutex(CuratorFramework client, String path) {
        InterProcessMutex lock = new InterProcessMutex(client, path);
        return step -> {
            lock.acquire();
            step.run();
            lock.release();
        };
    }

    static Stand latch(CuratorFramework client, String path) {
        LeaderLatch latch = new LeaderLatch(client, path);
        return step -> {
            latch.start();
            latch.await();
            step.run();
            latch.close();
        };
    }

    /** The step is taken in the selector's own thread. */
    static Stand selector(CuratorFramework client, String path) {
        CountDownLatch led = new CountDownLatch(1);
        return step -> {
            LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) throws Exception {
                    step.run();
                    led.countDown();
                }
            });
            selector.start();
            try {
                led.await();
            } finally {
                selector.close();
            }
        };
    }

    private void start(Stand stand, Step step) {
        Thread thread = new Thread(null, () -> {
            try {
                stand.await(step);
            } catch (Exception e) {
                // The queue is closed, or drain will tell that nothing comes.
            }
        }, "member", Load.STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        members.add(thread);
    }

    Map<String, Double> drain(Fields f) throws Exception {
        holdMicros = f.number("hold_us");
        synchronized (this) {
            wanted = f.number("count");
        }
        if (!f.text("operator").isEmpty()) {
            operator = Sessions.connect(f.text("operator"));
        }
        begin.countDown();
        if (!finished.await(1, TimeUnit.MINUTES)) {
            throw new Exception("the lock was not handed over so often within a minute");
        }
        synchronized (this) {
            return Map.of("ns", Works.median(times.stream().mapToDouble(Double::doubleValue).toArray()));
        }
    }

    /** What the waiters take up on the heap. Their stacks are outside and are not counted. */
    Map<String, Double> weigh() throws InterruptedException {
        return Map.of("heap", heap() - empty);
    }

    private static double heap() throws InterruptedException {
        System.gc();
        Thread.sleep(100);
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private void pass(int session) throws Exception {
        String leader = operator == null ? null : first();
        synchronized (this) {
            last = session;
            released = System.nanoTime();
        }
        if (leader != null) {
            operator.delete().forPath(leader);
        }
    }

    private String first() throws Exception {
        Comparator<String> bySequence = Comparator.comparing(name -> name.substring(name.length() - 10));
        return path + "/" + Collections.min(operator.getChildren().forPath(path), bySequence);
    }

    private synchronized boolean granted(int session) {
        double took = System.nanoTime() - released;
        if (times.size() == wanted) {
            return false;
        }
        if (session != last) {
            times.add(took);
        }
        if (times.size() == wanted) {
            finished.countDown();
            return false;
        }
        return true;
    }

    /** Ends the waiters, whose sessions are closed already, so that none of them deletes its node one by one. */
    void close() throws InterruptedException {
        for (Thread member : members) {
            member.interrupt();
        }
        for (Thread member : members) {
            member.join();
        }
        if (operator != null) {
            operator.close();
        }
    }
}
