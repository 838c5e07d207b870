import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/**
 * A lock that is held, and threads of several sessions that wait for it. Once it is drained they pass it on until
 * enough hand-overs were timed; the rest wait until their sessions are closed.
 */
final class Queue {
    private final List<Thread> members = new ArrayList<>();
    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch begin = new CountDownLatch(1);
    private final CountDownLatch finished = new CountDownLatch(1);
    private final List<Double> times = new ArrayList<>();
    private final double empty;
    private volatile long holdMicros;
    private int wanted;
    private int last;
    private long released;

    Queue(Sessions sessions, Fields f) throws Exception {
        List<CuratorFramework> clients = sessions.of(f);
        String path = f.text("path");
        InterProcessMutex first = new InterProcessMutex(clients.get(0), path);
        start(() -> {
            first.acquire();
            held.countDown();
            begin.await();
            pass(first, 0);
        });
        held.await();
        empty = heap();
        for (int i = 1; i <= f.number("waiters"); i++) {
            int session = i % clients.size();
            InterProcessMutex lock = new InterProcessMutex(clients.get(session), path);
            start(() -> {
                lock.acquire();
                if (granted(session)) {
                    TimeUnit.MICROSECONDS.sleep(holdMicros);
                    pass(lock, session);
                }
            });
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private void start(Step step) {
        Thread thread = new Thread(null, () -> {
            try {
                step.run();
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

    private void pass(InterProcessMutex lock, int session) throws Exception {
        synchronized (this) {
            last = session;
            released = System.nanoTime();
        }
        lock.release();
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
    }
}
