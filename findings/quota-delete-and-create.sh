#!/usr/bin/env bash
# ZooKeeper 3.8.0 with enforceQuota=true: at its quota of nodes, a path takes a delete and a create one
# after the other, and refuses the same two in one transaction, which would not make it larger.
# Expected: the transaction is judged by what it leaves behind, so it passes as the two do.
# Needs: Debian 12, a JDK from 17 on. Exits with 1 if this is no longer so. Seen:
#   quota 2, nodes 2
#   delete, then create: OK
#   the same in one transaction: QUOTAEXCEEDED
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
apt-get -qq -o APT::Sandbox::User=root download libzookeeper-java=3.8.0-11+deb12u2 libslf4j-java=1.7.32-1 \
	libsnappy-java=1.1.8.3-1 libdropwizard-metrics-java=3.2.6-1
for package in *.deb; do dpkg -x "$package" .; done
class_path=$(printf 'usr/share/java/%s.jar:' zookeeper-jute slf4j-api slf4j-nop snappy-java metrics-core zookeeper)

cat >Quota.java <<'JAVA'
import java.io.File;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.*;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.cli.SetQuotaCommand;
import org.apache.zookeeper.server.*;

public class Quota {
    static ZooKeeper client;

    public static void main(String[] args) throws Exception {
        System.setProperty("zookeeper.enforceQuota", "true");
        File data = new File("data");
        ServerCnxnFactory port = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        port.startup(new ZooKeeperServer(data, data, 2000));
        CountDownLatch up = new CountDownLatch(1);
        client = new ZooKeeper("127.0.0.1:" + port.getLocalPort(), 20000, event -> up.countDown());
        up.await();

        create("/box");
        StatsTrack two = new StatsTrack();
        two.setCountHardLimit(2); // the path itself is one
        SetQuotaCommand.createQuota(client, "/box", two);
        create("/box/a");
        System.out.println("quota 2, nodes " + (1 + client.getAllChildrenNumber("/box")));
        client.delete("/box/a", -1);
        create("/box/b");
        System.out.println("delete, then create: OK");
        try {
            client.multi(List.of(Op.delete("/box/b", -1), Op.create("/box/c", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)));
            System.out.println("the same in one transaction: OK");
        } catch (KeeperException e) {
            System.out.println("the same in one transaction: " + e.code());
        }
        System.exit(0);
    }

    static void create(String path) throws Exception {
        client.create(path, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }
}
JAVA
seen=$(java -cp "$class_path" Quota.java)
printf '%s\n' "$seen"
[ "$seen" = 'quota 2, nodes 2
delete, then create: OK
the same in one transaction: QUOTAEXCEEDED' ]
