#!/usr/bin/env bash
# ZooKeeper 3.8.0: a session that watches the children of a path, and then adds a recursive watch on the
# same path, hears nothing more by the first one: a server keeps one mode of watch for a session and path.
# Expected: both are told, as from two sessions, and as from 3.9 on (ZOOKEEPER-4466).
# Needs: Debian 12, a JDK from 17 on. Exits with 1 if this is no longer so. Seen:
#   alone: children NodeChildrenChanged /p
#   with a recursive watch on /p: recursive NodeCreated /p/b
#   with one of another session: children NodeChildrenChanged /p, recursive NodeCreated /p/c
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
apt-get -qq -o APT::Sandbox::User=root download libzookeeper-java=3.8.0-11+deb12u2 libslf4j-java=1.7.32-1 \
	libsnappy-java=1.1.8.3-1 libdropwizard-metrics-java=3.2.6-1
for package in *.deb; do dpkg -x "$package" .; done
class_path=$(printf 'usr/share/java/%s.jar:' zookeeper-jute slf4j-api slf4j-nop snappy-java metrics-core zookeeper)

cat >Watches.java <<'JAVA'
import java.io.File;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.*;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.server.*;

public class Watches {
    static ServerCnxnFactory port;
    static Set<String> heard = new ConcurrentSkipListSet<>();

    public static void main(String[] args) throws Exception {
        File data = new File("data");
        port = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        port.startup(new ZooKeeperServer(data, data, 2000));
        ZooKeeper client = connect(), other = connect();

        create(client, "/p");
        client.getChildren("/p", told("children"));
        create(client, "/p/a");
        tell(client, other, "alone");
        client.getChildren("/p", told("children"));
        client.addWatch("/p", told("recursive"), AddWatchMode.PERSISTENT_RECURSIVE);
        create(client, "/p/b");
        tell(client, other, "with a recursive watch on /p");
        client.close();
        client = connect();
        client.getChildren("/p", told("children"));
        other.addWatch("/p", told("recursive"), AddWatchMode.PERSISTENT_RECURSIVE);
        create(client, "/p/c");
        tell(client, other, "with one of another session");
        System.exit(0);
    }

    static ZooKeeper connect() throws Exception {
        CountDownLatch up = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper("127.0.0.1:" + port.getLocalPort(), 20000, event -> up.countDown());
        up.await();
        return client;
    }

    static Watcher told(String who) {
        return event -> {
            if (event.getPath() != null) {
                heard.add(who + " " + event.getType() + " " + event.getPath());
            }
        };
    }

    static void create(ZooKeeper client, String path) throws Exception {
        client.create(path, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }

    /** What a server has to tell it tells ahead of the answer to a later read, and a client passes it on in that order. */
    static void tell(ZooKeeper client, ZooKeeper other, String when) throws Exception {
        for (ZooKeeper each : new ZooKeeper[] {client, other}) {
            CountDownLatch passed = new CountDownLatch(1);
            each.exists("/p", false, (rc, path, ctx, stat) -> passed.countDown(), null);
            passed.await();
        }
        System.out.println(when + ": " + String.join(", ", heard));
        heard.clear();
    }
}
JAVA
seen=$(java -cp "$class_path" Watches.java)
printf '%s\n' "$seen"
[ "$seen" = 'alone: children NodeChildrenChanged /p
with a recursive watch on /p: recursive NodeCreated /p/b
with one of another session: children NodeChildrenChanged /p, recursive NodeCreated /p/c' ]
