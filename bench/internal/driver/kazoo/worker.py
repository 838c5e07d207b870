"""kazoo's part of the benchmark.

Reads what to do from standard input and writes what it measured to standard
output, one line each, as the Go workers do. When standard input ends, it ends
at once.
"""

import logging
import os
import queue
import statistics
import sys
import threading
import time
from urllib.parse import quote_plus, unquote_plus

import kazoo.version
from kazoo.client import KazooClient

TIMEOUT_S = 30
ENOUGH, PATIENCE_S = 10, 30


class Sessions:
    """The clients, each a session of its own, kept until close."""

    def __init__(self):
        self.clients = {}

    @staticmethod
    def connect(server):
        client = KazooClient(hosts=server, timeout=TIMEOUT_S)
        client.start()
        return client

    def of(self, fields):
        servers, taken, chosen = fields["servers"].split(","), {}, []
        for i in range(max(1, int(fields.get("sessions", 1)))):
            server = servers[i % len(servers)]
            there = self.clients.setdefault(server, [])
            index = taken.get(server, 0)
            taken[server] = index + 1
            if index == len(there):
                there.append(self.connect(server))
            chosen.append(there[index])
        return chosen

    def close(self):
        for there in self.clients.values():
            for client in there:
                client.stop()
                client.close()
        self.clients.clear()


class Load:
    """Operations that run at the same time, each in a thread, measured in a
    window that opens when all are at work."""

    def __init__(self, fields):
        self.warm = int(fields["warm_ms"]) / 1000
        self.run = int(fields["run_ms"]) / 1000
        self.operations, self.counts = [], []
        self.failure, self.stop = None, threading.Event()

    def add(self, operation):
        self.operations.append(operation)
        self.counts.append(0)

    def _repeat(self, i):
        try:
            while not self.stop.is_set():
                self.operations[i]()
                self.counts[i] += 1
        except Exception as e:  # of any thread, for measure to raise
            self.failure = e
            self.stop.set()

    def measure(self):
        threads = [
            threading.Thread(target=self._repeat, args=(i,), daemon=True)
            for i in range(len(self.operations))
        ]
        for thread in threads:
            thread.start()
        self.stop.wait(self.warm)
        count, cpu, start = sum(self.counts), time.process_time_ns(), time.perf_counter_ns()
        self.stop.wait(self.run)
        while sum(self.counts) - count < ENOUGH and time.perf_counter_ns() - start < PATIENCE_S * 1e9:
            if self.stop.wait(0.005):
                break
        n = sum(self.counts) - count
        nanos, used = time.perf_counter_ns() - start, time.process_time_ns() - cpu
        self.stop.set()
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure
        if n == 0:
            raise RuntimeError("nothing done in %.1f s" % (nanos / 1e9))
        return {"ns": nanos / n, "cpu_ns": used / n, "total": sum(self.counts)}


class Queue:
    """A lock that is held, and threads of several sessions that wait for it, or
    an election. Once it is drained they pass it on until enough hand-overs were
    timed; the rest wait until their sessions are closed. kazoo's Election is
    its Lock, and calls a function while that is held."""

    def __init__(self, sessions, fields):
        clients, self.path = sessions.of(fields), fields["path"]
        self.begin, self.finished, self.closed = (threading.Event() for _ in range(3))
        self.mutex, self.operator, held = threading.Lock(), None, threading.Event()
        self.times, self.wanted, self.hold, self.last, self.released = [], 0, 0, 0, 0

        def lead():
            held.set()
            self.begin.wait()
            self._pass(0)

        self._start(clients[0], lead)
        held.wait()
        threading.stack_size(256 << 10)
        for i in range(1, int(fields["waiters"]) + 1):
            session = i % len(clients)
            self._start(clients[session], lambda session=session: self._serve(session))
        threading.stack_size(0)

    def _start(self, client, serve):
        election = client.Election(self.path)

        def run():
            try:
                election.run(serve)
            except Exception:
                pass  # the queue is closed, or drain says that nothing comes

        threading.Thread(target=run, daemon=True).start()

    def _serve(self, session):
        if not self._granted(session):
            self.closed.wait()
            raise RuntimeError("the queue is closed")
        time.sleep(self.hold)
        self._pass(session)

    def _pass(self, session):
        node = self._first() if self.operator else None
        with self.mutex:
            self.last, self.released = session, time.perf_counter_ns()
        if node:
            self.operator.delete(node)

    def _first(self):
        return self.path + "/" + min(self.operator.get_children(self.path), key=lambda name: name[-10:])

    def _granted(self, session):
        now = time.perf_counter_ns()
        with self.mutex:
            if len(self.times) == self.wanted:
                return False
            if session != self.last:
                self.times.append(now - self.released)
            if len(self.times) == self.wanted:
                self.finished.set()
                return False
            return True

    def drain(self, fields):
        self.wanted, self.hold = int(fields["count"]), int(fields["hold_us"]) / 1e6
        if "operator" in fields:
            self.operator = Sessions.connect(fields["operator"])
        self.begin.set()
        if not self.finished.wait(60):
            raise RuntimeError("the lock was not handed over so often within a minute")
        return {"ns": statistics.median(self.times)}

    def close(self):
        self.closed.set()
        if self.operator:
            self.operator.stop()
            self.operator.close()


class Worker:
    """The works, as the Go workers do them."""

    def __init__(self):
        self.sessions, self.queue = Sessions(), None

    def do_version(self, fields):
        return {"version": "%s, Python %s" % (kazoo.version.__version__, sys.version.split()[0])}

    def do_cycle(self, fields):
        clients, load, inside = self.sessions.of(fields), Load(fields), []
        for i in range(len(clients) * max(1, int(fields.get("workers", 1)))):
            lock = clients[i % len(clients)].Lock(fields["path"])

            def operation(lock=lock):
                lock.acquire()
                inside.append(1)
                if len(inside) != 1:
                    raise RuntimeError("two held the lock at the same time")
                inside.pop()
                lock.release()

            load.add(operation)
        return load.measure()

    def do_try(self, fields):
        lock, load = self.sessions.of(fields)[0].Lock(fields["path"]), Load(fields)

        def operation():
            if not lock.acquire(blocking=False):
                raise RuntimeError("a free lock was refused")
            lock.release()

        load.add(operation)
        return load.measure()

    def do_refused(self, fields):
        lock, load = self.sessions.of(fields)[0].Lock(fields["path"]), Load(fields)
        holder = Sessions.connect(fields["holder"])
        holder.Lock(fields["path"]).acquire()  # until the session ends

        def operation():
            if lock.acquire(blocking=False):
                raise RuntimeError("two held the lock at the same time")

        load.add(operation)
        try:
            return load.measure()
        finally:
            holder.stop()
            holder.close()

    def do_cold(self, fields):
        client, times = self.sessions.of(fields)[0], []
        for i in range(int(fields["count"])):
            lock = client.Lock("%s-%d" % (fields["path"], i))
            start = time.perf_counter_ns()
            lock.acquire()
            times.append(time.perf_counter_ns() - start)
            lock.release()
        return {"ns": statistics.median(times), "total": len(times)}

    def do_queue(self, fields):
        self.queue = Queue(self.sessions, fields)
        return {}

    do_campaign = do_queue

    def do_drain(self, fields):
        return self.queue.drain(fields)

    def do_close(self, fields):
        self.sessions.close()
        if self.queue:
            self.queue.close()
            self.queue = None
        return {}

    def answer(self, request):
        try:
            verb, *pairs = request.split()
            fields = dict(pair.split("=", 1) for pair in pairs)
            fields = {key: unquote_plus(value) for key, value in fields.items()}
            result = getattr(self, "do_" + verb)(fields)
            return " ".join(["ok"] + ["%s=%s" % (k, quote_plus(str(v))) for k, v in result.items()])
        except Exception as e:
            return "error text=" + quote_plus(repr(e))


def read(requests):
    for request in sys.stdin:
        requests.put(request)
    os._exit(0)


def main():
    logging.disable()
    requests = queue.Queue()
    threading.Thread(target=read, args=(requests,), daemon=True).start()
    worker = Worker()
    while True:
        print(worker.answer(requests.get()), flush=True)


main()
