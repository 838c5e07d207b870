#!/usr/bin/env bash
# go-zookeeper 1.0.4: zk.Lock fails on a path that ZooKeeper's own WriteLock (3.8.0) uses, since it cannot
# read the number of a node called x-SESSION-N. The node that it has made for itself stays, so that nobody
# gets the lock after the holder has given it back, until the session of the failed call ends.
# Expected: it waits its turn; or it fails and takes its node away.
# Needs: Debian 12, Go, a JDK from 17 on. Exits with 1 if this is no longer so. Seen:
#   zk.Lock: invalid syntax
#   nodes: 2
#   after the holder's unlock, nodes: 1
#   the next WriteLock has the lock: false
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
apt-get -qq -o APT::Sandbox::User=root download libzookeeper-java=3.8.0-11+deb12u2 libslf4j-java=1.7.32-1 \
	libsnappy-java=1.1.8.3-1 libdropwizard-metrics-java=3.2.6-1
for package in *.deb; do dpkg -x "$package" .; done
class_path=$(printf 'usr/share/java/%s.jar:' zookeeper-jute slf4j-api slf4j-nop snappy-java metrics-core zookeeper zookeeper-recipes-lock)

cat >main.go <<'GO'
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	conn, _, err := zk.Connect([]string{os.Args[1]}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	err = zk.NewLock(conn, "/lock", zk.WorldACL(zk.PermAll)).Lock()
	if errors.Is(err, strconv.ErrSyntax) {
		err = strconv.ErrSyntax // without the number of a session
	}
	fmt.Println("zk.Lock:", err)
	io.Copy(io.Discard, os.Stdin) // the session goes on
}
GO
cat >Beside.java <<'JAVA'
import java.io.File;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.WriteLock;
import org.apache.zookeeper.server.*;

public class Beside {
    public static void main(String[] args) throws Exception {
        File data = new File("data");
        ServerCnxnFactory port = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        port.startup(new ZooKeeperServer(data, data, 2000));
        String server = "127.0.0.1:" + port.getLocalPort();
        ZooKeeper client = connect(server);
        WriteLock holder = new WriteLock(client, "/lock", Ids.OPEN_ACL_UNSAFE);
        if (!holder.lock()) {
            throw new IllegalStateException("a free lock was not granted");
        }
        Process go = new ProcessBuilder("./zk-lock", server).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        System.out.println(go.inputReader().readLine());
        System.out.println("nodes: " + client.getAllChildrenNumber("/lock"));
        holder.unlock();
        System.out.println("after the holder's unlock, nodes: " + client.getAllChildrenNumber("/lock"));
        System.out.println("the next WriteLock has the lock: " + new WriteLock(connect(server), "/lock", Ids.OPEN_ACL_UNSAFE).lock());
        go.destroy();
        System.exit(0);
    }

    static ZooKeeper connect(String server) throws Exception {
        CountDownLatch up = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper(server, 20000, event -> up.countDown());
        up.await();
        return client;
    }
}
JAVA
export GOWORK=off
go mod init example.com/beside 2>/dev/null
go get github.com/go-zookeeper/zk@v1.0.4 2>/dev/null
go build -o zk-lock .
seen=$(java -cp "$class_path" Beside.java)
printf '%s\n' "$seen"
[ "$seen" = "zk.Lock: invalid syntax
nodes: 2
after the holder's unlock, nodes: 1
the next WriteLock has the lock: false" ]
