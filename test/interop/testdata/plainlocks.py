"""Locks with kazoo's Lock as it is, as tooz does: see peer_test.go for what it is told and what it says."""
import sys
import threading

from kazoo.client import KazooClient


def answer(name, do):
    try:
        do()
    except Exception as e:
        print(name, repr(e), flush=True)
    else:
        print(name, flush=True)


locks = {}
for line in sys.stdin:
    order = line.split()
    if order[0] == "lock":
        client = KazooClient(hosts=sys.argv[1], timeout=20)
        client.start()
        locks[order[1]] = client.Lock(order[2])
        do = locks[order[1]].acquire
    else:
        do = locks[order[1]].release
    threading.Thread(target=answer, args=(order[1], do), daemon=True).start()
