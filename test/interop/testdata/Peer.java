import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.data.ACL;

/** A worker of the mixed fleet: see work_test.go for what it does and says. */
public class Peer {
    public static void main(String[] args) throws Exception {
        String kind = args[0], server = args[1], path = args[2];
        Path dir = Path.of(args[3]);
        int sections = Integer.parseInt(args[4]), size = Integer.parseInt(args[5]);
        String name = args[6];
        CuratorFramework client = client(server, kind.equals("creator"));
        System.out.println("ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        orders.readLine();
        Thread watchdog = new Thread(() -> {
            try {
                orders.readLine();
            } catch (java.io.IOException e) {
                // the test is gone, as after an end of the orders
            }
            Runtime.getRuntime().halt(3);
        });
        watchdog.setDaemon(true);
        watchdog.start();
        switch (kind) {
            case "mutex", "creator" -> {
                InterProcessMutex lock = new InterProcessMutex(client, path);
                for (int i = 0; i < sections; i++) {
                    lock.acquire();
                    int n = increment(dir);
                    lock.release();
                    System.out.println("did " + n);
                }
            }
            case "rw" -> {
                InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
                for (int i = 0; i < sections; i++) {
                    readOrWrite(lock, dir, i);
                }
            }
            case "semaphore" -> {
                InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, size);
                for (int i = 0; i < sections; i++) {
                    Lease lease = semaphore.acquire();
                    int seats = sit(dir, name);
                    semaphore.returnLease(lease);
                    System.out.println("did " + seats);
                }
            }
            case "herd" -> herd(server, path, sections);
            default -> throw new IllegalArgumentException(kind);
        }
        client.close();
    }

    /** If its nodes are for their creator alone, that is who the JAAS file says. */
    static CuratorFramework client(String server, boolean creator) throws Exception {
        CuratorFrameworkFactory.Builder of = CuratorFrameworkFactory.builder().connectString(server)
            .sessionTimeoutMs(20000).connectionTimeoutMs(20000).retryPolicy(new RetryOneTime(100));
        if (creator) {
            of.aclProvider(new ACLProvider() {
                public List<ACL> getDefaultAcl() {
                    return Ids.CREATOR_ALL_ACL;
                }

                public List<ACL> getAclForPath(String path) {
                    return Ids.CREATOR_ALL_ACL;
                }
            });
        }
        CuratorFramework client = of.build();
        client.start();
        client.blockUntilConnected();
        return client;
    }

    static int increment(Path dir) throws Exception {
        Path file = dir.resolve("number");
        int n = Integer.parseInt(Files.readString(file)) + 1;
        Files.writeString(file, Integer.toString(n));
        return n;
    }

    /**
     * Every fourth section writes. None reads on after that, as ours do: in Curator 5.4 a writer
     * that queues gets in when its predecessor stops writing and goes on reading (CURATOR-621).
     */
    static void readOrWrite(InterProcessReadWriteLock lock, Path dir, int i) throws Exception {
        if (i % 4 == 0) {
            lock.writeLock().acquire();
            int n = increment(dir);
            lock.writeLock().release();
            System.out.println("wrote " + n);
        } else {
            lock.readLock().acquire();
            int n = steady(dir);
            lock.readLock().release();
            System.out.println("did " + n);
        }
    }

    /** Reads the number twice: no writer may be at it. */
    static int steady(Path dir) throws Exception {
        int n = Integer.parseInt(Files.readString(dir.resolve("number")));
        Thread.sleep(0, 200_000);
        if (Integer.parseInt(Files.readString(dir.resolve("number"))) != n) {
            System.out.println("a writer was at it");
        }
        return n;
    }

    /** Takes a seat for a moment, and returns how many are taken. */
    static int sit(Path dir, String name) throws Exception {
        Path seat = dir.resolve("seats").resolve(name);
        Files.createFile(seat);
        int taken = seat.getParent().toFile().list().length;
        Thread.sleep(0, 200_000);
        Files.delete(seat);
        return taken;
    }

    /** Has that many readers, in eight sessions, hold the lock at the same time. */
    static void herd(String server, String path, int readers) throws Exception {
        CuratorFramework[] clients = new CuratorFramework[8];
        for (int i = 0; i < clients.length; i++) {
            clients[i] = client(server, false);
        }
        CountDownLatch together = new CountDownLatch(readers);
        Thread[] threads = new Thread[readers];
        for (int i = 0; i < readers; i++) {
            InterProcessReadWriteLock lock = new InterProcessReadWriteLock(clients[i % clients.length], path);
            threads[i] = new Thread(() -> {
                try {
                    lock.readLock().acquire();
                    together.countDown();
                    together.await();
                    lock.readLock().release();
                } catch (Exception e) {
                    System.out.println("a reader fails: " + e);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("did " + readers);
        for (CuratorFramework client : clients) {
            client.close();
        }
    }
}
