import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Operations that run at the same time, each in a thread, measured in a window that opens when all are at work. */
final class Load {
    private static final int ENOUGH = 10;
    private static final long PATIENCE_NS = 30_000_000_000L;
    static final int STACK_BYTES = 256 << 10;

    private final List<Callable<Integer>> operations = new ArrayList<>();
    private final long warmMillis;
    private final long runMillis;
    private final AtomicLong done = new AtomicLong();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private volatile boolean stop;

    Load(Fields f) {
        warmMillis = f.number("warm_ms");
        runMillis = f.number("run_ms");
    }

    /** Adds an operation, which returns how many times it did what is measured. */
    void add(Callable<Integer> operation) {
        operations.add(operation);
    }

    boolean stopped() {
        return stop;
    }

    void did(int n) {
        done.addAndGet(n);
    }

    Map<String, Double> measure() throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (Callable<Integer> operation : operations) {
            Thread thread = new Thread(null, () -> repeat(operation), "load", STACK_BYTES);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        pause(warmMillis);
        long count = done.get(), cpu = processorTime(), start = System.nanoTime();
        pause(runMillis);
        while (done.get() - count < ENOUGH && System.nanoTime() - start < PATIENCE_NS && failure.get() == null) {
            Thread.sleep(5);
        }
        double n = done.get() - count;
        double nanos = System.nanoTime() - start;
        double used = processorTime() - cpu;
        stop = true;
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw new Exception(failure.get());
        }
        if (n == 0) {
            throw new Exception("nothing done in " + nanos / 1e9 + " s");
        }
        Map<String, Double> result = new HashMap<>();
        result.put("ns", nanos / n);
        result.put("cpu_ns", used / n);
        result.put("total", (double) done.get());
        return result;
    }

    private void repeat(Callable<Integer> operation) {
        try {
            while (!stop) {
                did(operation.call());
            }
        } catch (Throwable e) {
            failure.compareAndSet(null, e);
            stop = true;
        }
    }

    private void pause(long millis) throws InterruptedException {
        long end = System.nanoTime() + millis * 1_000_000;
        while (failure.get() == null && System.nanoTime() < end) {
            Thread.sleep(Math.min(5, Math.max(1, (end - System.nanoTime()) / 1_000_000)));
        }
    }

    private static long processorTime() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }
}
