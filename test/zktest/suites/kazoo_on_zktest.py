"""A pytest plugin: kazoo's suite meets servers of zktest where it starts Java. ZKTEST is the command that runs them."""

import os
import subprocess
import sys
import threading
import types


class Server:
    def __init__(self, cluster, number, address):
        self.cluster, self.number, self.address = cluster, number, address
        self.client_port = int(address.rpartition(":")[2])
        self.running = True

    def run(self):
        self.cluster.tell("start %d" % self.number)
        self.running = True

    def stop(self):
        self.cluster.tell("stop %d" % self.number)
        self.running = False


class Cluster:
    def __init__(self, **unused):
        self.talking = threading.Lock()
        self.process = None
        self.start()

    def start(self):
        self.terminate()
        self.process = subprocess.Popen([os.environ["ZKTEST"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        addresses = self.process.stdout.readline().split()
        self.servers = [Server(self, number, address) for number, address in enumerate(addresses)]

    def tell(self, line):
        with self.talking:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "ok\n"

    def terminate(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None
            for server in self.servers:
                server.running = False

    def __iter__(self):
        return iter(self.servers)

    def __getitem__(self, number):
        return self.servers[number]

    def get_ssl_client_configuration(self):
        raise NotImplementedError("zktest has no TLS")

    def get_logs(self):
        return []


# In the place of what starts Java, and needs pyOpenSSL for it.
common = types.ModuleType("kazoo.testing.common")
common.ZookeeperCluster = Cluster
sys.modules["kazoo.testing.common"] = common
