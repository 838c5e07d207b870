"""Talks to the server given through kazoo, and prints what it sees."""
import sys
import threading

from kazoo.client import KazooClient, KazooState

def connect():
    client = KazooClient(hosts=sys.argv[1], timeout=20.0)
    client.start(timeout=60)
    return client

def say(*words):
    print(*words, flush=True)

a, b = connect(), connect()
a.create("/kazoo/node", b"data", makepath=True)
say("get", b.get("/kazoo/node")[0].decode())
say("list", b.get_children("/kazoo"))

seen = threading.Event()
b.get("/kazoo/node", watch=lambda event: (say("event", event.type, event.path), seen.set()))
a.set("/kazoo/node", b"other")
seen.wait(60)

lock = a.Lock("/kazoo/lock", "a")
lock.acquire(timeout=60)
other = b.Lock("/kazoo/lock", "b")
say("contenders", other.contenders())
say("busy", other.acquire(blocking=False))
granted = threading.Thread(target=lambda: say("granted", other.acquire(timeout=60)))
granted.start()
lock.release()
granted.join()

with a.transaction() as t:
    t.create("/kazoo/in-transaction", b"")
    t.delete("/kazoo/node")
say("list", sorted(b.get_children("/kazoo")))

lost = threading.Event()
b.add_listener(lambda state: lost.set() if state == KazooState.LOST else None)
a.get("/kazoo/lock")
gone = threading.Event()
name = a.get_children("/kazoo/lock")[0]
a.exists("/kazoo/lock/" + name, watch=lambda event: gone.set())
say("expire", b.client_id[0])
say("lost", lost.wait(60), "gone", gone.wait(60))
a.stop()
b.stop()
