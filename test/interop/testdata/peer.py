"""A worker of the mixed fleet: see work_test.go for what it does and says."""
import os
import sys
import threading

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock


class CuratorNamedLock(Lock):
    """kazoo's lock with the node names of the others, whom Curator does not see otherwise."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-", "__lock__"]


def increment(directory):
    file = os.path.join(directory, "number")
    with open(file) as f:
        n = int(f.read()) + 1
    with open(file, "w") as f:
        f.write(str(n))
    return n


def exit_with_the_test():
    sys.stdin.readline()
    os._exit(3)


def main(kind, server, path, directory, sections, size, name):
    client = KazooClient(hosts=server, timeout=20)
    client.start()
    if kind == "curator-named":
        lock = CuratorNamedLock(client, path, name)
    else:
        lock = Lock(client, path, name, extra_lock_patterns=["-lock-"])
    print("ready", flush=True)
    sys.stdin.readline()
    threading.Thread(target=exit_with_the_test, daemon=True).start()
    for _ in range(int(sections)):
        lock.acquire()
        n = increment(directory)
        lock.release()
        print("did", n, flush=True)
    client.stop()


main(*sys.argv[1:])
