#!/usr/bin/env bash
# ZooKeeper 3.8.0: the number of a sequential node counts every child that its parent ever had, those
# with names of their own too. A create that is refused and a delete do not move it.
# Expected: 0, 1, 2 here, since only sequential nodes need a number. As it is, the difference of two
# numbers says nothing of how many stood in line between them.
# Needs: Debian 12, a JDK from 17 on. Exits with 1 if this is no longer so. Seen:
#   first 0000000000
#   after two named children 0000000003
#   after a refused create and two deletes 0000000004
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
apt-get -qq -o APT::Sandbox::User=root download libzookeeper-java=3.8.0-11+deb12u2 libslf4j-java=1.7.32-1 \
	libsnappy-java=1.1.8.3-1 libdropwizard-metrics-java=3.2.6-1
for package in *.deb; do dpkg -x "$package" .; done
class_path=$(printf 'usr/share/java/%s.jar:' zookeeper-jute slf4j-api slf4j-nop snappy-java metrics-core zookeeper)

cat >Numbers.java <<'JAVA'
import java.io.File;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.*;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.server.*;

public class Numbers {
    static ZooKeeper client;

    public static void main(String[] args) throws Exception {
        File data = new File("data");
        ServerCnxnFactory port = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        port.startup(new ZooKeeperServer(data, data, 2000));
        CountDownLatch up = new CountDownLatch(1);
        client = new ZooKeeper("127.0.0.1:" + port.getLocalPort(), 20000, event -> up.countDown());
        up.await();

        create("/queue", CreateMode.PERSISTENT);
        number("first");
        create("/queue/settings", CreateMode.PERSISTENT);
        create("/queue/members", CreateMode.PERSISTENT);
        number("after two named children");
        try {
            create("/queue/members", CreateMode.PERSISTENT);
            throw new IllegalStateException("a node was made twice");
        } catch (KeeperException.NodeExistsException e) {
            client.delete("/queue/settings", -1);
            client.delete("/queue/members", -1);
        }
        number("after a refused create and two deletes");
        System.exit(0);
    }

    static void number(String when) throws Exception {
        System.out.println(when + " " + create("/queue/", CreateMode.EPHEMERAL_SEQUENTIAL).substring("/queue/".length()));
    }

    static String create(String path, CreateMode mode) throws Exception {
        return client.create(path, null, Ids.OPEN_ACL_UNSAFE, mode);
    }
}
JAVA
seen=$(java -cp "$class_path" Numbers.java)
printf '%s\n' "$seen"
[ "$seen" = 'first 0000000000
after two named children 0000000003
after a refused create and two deletes 0000000004' ]
