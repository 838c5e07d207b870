#!/usr/bin/env bash
# Two of Apache's locks on one path: ZooKeeper's WriteLock (recipes, 3.8.0) waits for a holder
# with Curator's InterProcessMutex (5.4.0), and Curator's mutex does not wait for a holder with WriteLock.
# Expected: both wait, or neither does. As it is, whether there are two holders depends on who came first.
# Needs: Debian 12, a JDK from 17 on. Exits with 1 if this is no longer so. Seen:
#   mutex holds, WriteLock has it too: false
#   WriteLock holds, mutex has it too: true
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
apt-get -qq -o APT::Sandbox::User=root download libzookeeper-java=3.8.0-11+deb12u2 libslf4j-java=1.7.32-1 \
	libsnappy-java=1.1.8.3-1 libdropwizard-metrics-java=3.2.6-1 libguava-java=31.1-1 \
	libcurator-{client,framework,recipes}-java=5.4.0-3
for package in *.deb; do dpkg -x "$package" .; done
class_path=$(printf 'usr/share/java/%s.jar:' zookeeper-jute slf4j-api slf4j-nop snappy-java metrics-core zookeeper \
	zookeeper-recipes-lock guava curator-client curator-framework curator-recipes)

cat >Pair.java <<'JAVA'
import java.io.File;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.*;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.recipes.lock.WriteLock;
import org.apache.zookeeper.server.*;

public class Pair {
    public static void main(String[] args) throws Exception {
        File data = new File("data");
        ServerCnxnFactory port = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        port.startup(new ZooKeeperServer(data, data, 2000));
        CuratorFramework client = CuratorFrameworkFactory.newClient("127.0.0.1:" + port.getLocalPort(), new RetryOneTime(1000));
        client.start();
        client.blockUntilConnected();

        InterProcessMutex mutex = new InterProcessMutex(client, "/one");
        mutex.acquire();
        WriteLock second = new WriteLock(client.getZookeeperClient().getZooKeeper(), "/one", Ids.OPEN_ACL_UNSAFE);
        System.out.println("mutex holds, WriteLock has it too: " + second.lock());

        WriteLock first = new WriteLock(client.getZookeeperClient().getZooKeeper(), "/two", Ids.OPEN_ACL_UNSAFE);
        if (!first.lock()) {
            throw new IllegalStateException("a free lock was not granted");
        }
        boolean too = new InterProcessMutex(client, "/two").acquire(3, TimeUnit.SECONDS);
        System.out.println("WriteLock holds, mutex has it too: " + too);
        System.exit(0);
    }
}
JAVA
seen=$(java -cp "$class_path" Pair.java)
printf '%s\n' "$seen"
[ "$seen" = 'mutex holds, WriteLock has it too: false
WriteLock holds, mutex has it too: true' ]
