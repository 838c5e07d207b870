import java.io.File;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** A ZooKeeper server with a node /end whose sequence counter starts at the number given. Prints its port. */
public class EndOfCounter {
    public static void main(String[] args) throws Exception {
        File dir = Files.createTempDirectory("zk").toFile();
        ZooKeeperServer server = new ZooKeeperServer(dir, dir, 200);
        ServerCnxnFactory factory = NIOServerCnxnFactory.createFactory();
        factory.configure(new InetSocketAddress("127.0.0.1", 0), 0);
        factory.startup(server);
        DataTree tree = server.getZKDatabase().getDataTree();
        tree.createNode("/end", new byte[0], org.apache.zookeeper.ZooDefs.Ids.OPEN_ACL_UNSAFE, 0, 0, 0, 0);
        tree.getNode("/end").stat.setCversion(Integer.parseInt(args[0]));
        System.out.println("PORT " + factory.getLocalPort());
        System.in.read(); // until the test is gone
        System.exit(0);
    }
}
