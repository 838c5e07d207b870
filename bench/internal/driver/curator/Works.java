import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** The works, as the Go workers do them. Each thread has a lock object of its own. */
final class Works {
    private static final int BATCH = 100_000;

    private Works() {}

    private static InterProcessMutex lock(Sessions sessions, Fields f) throws Exception {
        return new InterProcessMutex(sessions.of(f).get(0), f.text("path"));
    }

    static Map<String, Double> cycle(Sessions sessions, Fields f) throws Exception {
        List<CuratorFramework> clients = sessions.of(f);
        Load load = new Load(f);
        AtomicInteger inside = new AtomicInteger();
        for (int i = 0; i < clients.size() * Math.max(1, f.number("workers")); i++) {
            InterProcessMutex lock = new InterProcessMutex(clients.get(i % clients.size()), f.text("path"));
            load.add(() -> {
                lock.acquire();
                if (inside.incrementAndGet() != 1) {
                    throw new IllegalStateException("two held the lock at the same time");
                }
                inside.decrementAndGet();
                lock.release();
                return 1;
            });
        }
        return load.measure();
    }

    static Map<String, Double> attempt(Sessions sessions, Fields f) throws Exception {
        InterProcessMutex lock = lock(sessions, f);
        Load load = new Load(f);
        load.add(() -> {
            if (!lock.acquire(0, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("a free lock was refused");
            }
            lock.release();
            return 1;
        });
        return load.measure();
    }

    static Map<String, Double> refused(Sessions sessions, Fields f) throws Exception {
        InterProcessMutex lock = lock(sessions, f);
        try (CuratorFramework holder = Sessions.connect(f.text("holder"))) {
            new InterProcessMutex(holder, f.text("path")).acquire(); // until the session ends
            Load load = new Load(f);
            load.add(() -> {
                if (lock.acquire(0, TimeUnit.MILLISECONDS)) {
                    throw new IllegalStateException("two held the lock at the same time");
                }
                return 1;
            });
            return load.measure();
        }
    }

    static Map<String, Double> reenter(Sessions sessions, Fields f) throws Exception {
        InterProcessMutex lock = lock(sessions, f);
        Load load = new Load(f);
        load.add(() -> {
            lock.acquire();
            while (!load.stopped()) {
                for (int i = 0; i < BATCH; i++) {
                    lock.acquire();
                    lock.release();
                }
                load.did(BATCH);
            }
            lock.release();
            return 0;
        });
        return load.measure();
    }

    static Map<String, Double> readWrite(Sessions sessions, Fields f) throws Exception {
        List<CuratorFramework> clients = sessions.of(f);
        Load load = new Load(f);
        for (int i = 0; i < clients.size() * Math.max(1, f.number("workers")); i++) {
            InterProcessReadWriteLock both = new InterProcessReadWriteLock(clients.get(i % clients.size()), f.text("path"));
            Random dice = new Random(i);
            load.add(() -> {
                InterProcessLock lock = dice.nextInt(100) < f.number("writes") ? both.writeLock() : both.readLock();
                lock.acquire();
                lock.release();
                return 1;
            });
        }
        return load.measure();
    }

    static Map<String, Double> cold(Sessions sessions, Fields f) throws Exception {
        CuratorFramework client = sessions.of(f).get(0);
        double[] times = new double[f.number("count")];
        for (int i = 0; i < times.length; i++) {
            InterProcessMutex lock = new InterProcessMutex(client, f.text("path") + "-" + i);
            long start = System.nanoTime();
            lock.acquire();
            times[i] = System.nanoTime() - start;
            lock.release();
        }
        return Map.of("ns", median(times), "total", (double) times.length);
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
