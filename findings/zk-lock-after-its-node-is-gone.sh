#!/usr/bin/env bash
# go-zookeeper 1.0.4: when an operator deletes the node of a holder of zk.Lock, the next one gets the lock
# and the holder is not told. Its Unlock fails, now and each time after, and its Lock says that it has the
# lock already, so that this zk.Lock is of no use any more, also when the path is free again.
# Expected: after an Unlock that finds no node, the same zk.Lock can lock again.
# Needs: Debian 12, Go, a JDK from 17 on. Exits with 1 if this is no longer so. Seen:
#   the second gets the lock: <nil>
#   the first unlocks: zk: node does not exist
#   the second unlocks: <nil>
#   the first unlocks again: zk: node does not exist
#   the first locks the free lock: zk: trying to acquire a lock twice
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
apt-get -qq -o APT::Sandbox::User=root download libzookeeper-java=3.8.0-11+deb12u2 libslf4j-java=1.7.32-1 \
	libsnappy-java=1.1.8.3-1 libdropwizard-metrics-java=3.2.6-1
for package in *.deb; do dpkg -x "$package" .; done
class_path=$(printf 'usr/share/java/%s.jar:' zookeeper-jute slf4j-api slf4j-nop snappy-java metrics-core zookeeper)

cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	conn := connect()
	first, second := zk.NewLock(conn, "/lock", zk.WorldACL(zk.PermAll)), zk.NewLock(connect(), "/lock", zk.WorldACL(zk.PermAll))
	must(first.Lock())
	children, _, err := conn.Children("/lock")
	must(err)
	must(conn.Delete("/lock/"+children[0], -1))
	fmt.Println("the second gets the lock:", second.Lock())
	fmt.Println("the first unlocks:", first.Unlock())
	fmt.Println("the second unlocks:", second.Unlock())
	fmt.Println("the first unlocks again:", first.Unlock())
	fmt.Println("the first locks the free lock:", first.Lock())
}

func connect() *zk.Conn {
	conn, _, err := zk.Connect([]string{os.Args[1]}, 20*time.Second, zk.WithLogInfo(false))
	must(err)
	return conn
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
GO
cat >Serve.java <<'JAVA'
import java.io.File;
import java.net.InetSocketAddress;
import org.apache.zookeeper.server.*;

public class Serve {
    public static void main(String[] args) throws Exception {
        File data = new File("data");
        ServerCnxnFactory port = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        port.startup(new ZooKeeperServer(data, data, 2000));
        System.exit(new ProcessBuilder("./zk-lock", "127.0.0.1:" + port.getLocalPort()).inheritIO().start().waitFor());
    }
}
JAVA
export GOWORK=off
go mod init example.com/gone 2>/dev/null
go get github.com/go-zookeeper/zk@v1.0.4 2>/dev/null
go build -o zk-lock .
seen=$(java -cp "$class_path" Serve.java)
printf '%s\n' "$seen"
[ "$seen" = 'the second gets the lock: <nil>
the first unlocks: zk: node does not exist
the second unlocks: <nil>
the first unlocks again: zk: node does not exist
the first locks the free lock: zk: trying to acquire a lock twice' ]
