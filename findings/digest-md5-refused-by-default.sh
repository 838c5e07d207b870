#!/usr/bin/env bash
# ZooKeeper 3.9.6: a server whose JAAS file has DigestLoginModule lets nobody log in by it, and neither does
# its Java client, unless the system property zookeeper.fips-mode is false; it is true by default. The same
# file worked with 3.8.0. The server starts, logs a warning for each connection that comes, and refuses those
# that log in.
# Expected: the login that the file asks for, or an error when the server starts.
# Needs: Debian 12, a JDK from 17 on, and 3.9.6 in Debian's suite sid. Exits with 1 if this is no longer so. Seen:
#   as it is: KeeperErrorCode = AuthFailed for /mine
#   fips-mode=false: sasl,'bob
set -euo pipefail
home=$("$(dirname "$0")/../scripts/zookeeper-home.sh" sid)
ls "$home"/lib/zookeeper-3.9.6.jar >/dev/null
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

cat >jaas.conf <<'JAAS'
Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_bob="secret"; };
Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="bob" password="secret"; };
JAAS
cat >Login.java <<'JAVA'
import java.io.File;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.*;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.data.*;
import org.apache.zookeeper.server.*;

public class Login {
    public static void main(String[] args) throws Exception {
        File data = new File(args[0]);
        ServerCnxnFactory port = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        port.startup(new ZooKeeperServer(data, data, 2000));
        CountDownLatch up = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper("127.0.0.1:" + port.getLocalPort(), 20000, event -> up.countDown());
        up.await();
        try {
            client.create("/mine", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
            Id who = client.getACL("/mine", new Stat()).get(0).getId();
            System.out.println(who.getScheme() + ",'" + who.getId());
        } catch (KeeperException e) {
            System.out.println(e.getMessage());
        }
        System.exit(0);
    }
}
JAVA
login() {
	java -Djava.security.auth.login.config=jaas.conf \
		-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider "${@:2}" \
		-cp "$home/lib/*" Login.java "$1" 2>>log
}
seen="as it is: $(login one)
fips-mode=false: $(login two -Dzookeeper.fips-mode=false)"
printf '%s\n' "$seen"
[ "$seen" = "as it is: KeeperErrorCode = AuthFailed for /mine
fips-mode=false: sasl,'bob" ]
