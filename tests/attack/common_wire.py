"""Shared by the attacks that speak the wire: a loop by hand, a laboratory gone mad, a wire that misbehaves."""
import random, select, socket, struct
from common_safety import *
import twinrig_target as T

TOKEN = "bench 3"
ZEROS = [[0.0]] * 3
# Neither end gives the other up because the machine is busy.
PATIENT = EX07.replace("bridge    = 10 ", "bridge    = 100000 ").replace('"200 ms"', '"20 s"') + RT


class Loop:
    """The loop's end of the wire, by hand. It welcomes itself; `arm` takes the session."""

    def __init__(self, port, rate=1000.0, token=TOKEN, modes=T.PACED, patience_s=0.0, limits=[[math.inf]] * 3):
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.connect(("127.0.0.1", port))
        self.s.settimeout(10.0)
        self.nonce, self.limits, self.seq, self.tick = random.getrandbits(64), limits, 0, 0
        self.handshake = (rate, self.nonce, 0, int(patience_s * 1e9), modes, 0)
        self.rate, key = rate, token.encode()
        self.s.send(T.encode(T.HELLO, 1, 0, 0, 1, 0, 0, 0, 0, limits, key, self.handshake))
        self.welcome = T.decode(self.s.recv(2048))
        if not T.is_from(self.welcome, key) or self.welcome["kind"] != T.WELCOME:
            finish(True, f"no welcome: {self.welcome}")
        self.session = self.welcome["session"]
        self.keys = T.session_keys(token, self.nonce, self.session)

    def bytes(self, kind, tick=0, state=0, trip=0, values=ZEROS, handshake=None):
        self.seq += 1
        return T.encode(kind, 1, self.session, self.seq, time.monotonic_ns(), tick, 0, state, trip, values, self.keys[0], handshake)

    def send(self, *arguments, **others):
        try:
            self.s.send(self.bytes(*arguments, **others))
        except ConnectionError:
            pass

    def arm(self):
        self.send(T.ARM, values=self.limits, handshake=self.handshake)
        return self

    def answer(self, wait=1.0):
        self.s.settimeout(wait)
        try:
            found = T.decode(self.s.recv(2048))
            return found if found and T.is_from(found, self.keys[1]) else None
        except (TimeoutError, ConnectionError, BlockingIOError):
            return None

    def answers(self, wait=0.0):
        got = []
        while found := self.answer(wait or 1e-4):
            got.append(found)
        return got

    def command(self, x, v=0.0, a=0.0, state=0, trip=0):
        self.send(T.COMMAND, self.tick, state, trip, [[x], [v], [a]])
        self.tick += 1

    def walk(self, x0, x1, rate=0.1, state=0):
        """At the pace of the clock from x0 to x1; the answers."""
        n, t0, got = max(1, round(abs(x1 - x0) / rate * self.rate)), time.monotonic(), []
        for k in range(1, n + 1):
            self.command(x0 + (x1 - x0) * k / n, state=state)
            while time.monotonic() < t0 + k / self.rate:
                got += self.answers()
        return got

    def bye(self, state=0):
        for _ in range(3):
            self.send(T.BYE, self.tick, state)


def serve(target, spring=8e6, **others):
    """A target of this class in a thread of its own."""
    t = target(T.Spring(1, spring), ("127.0.0.1", 0), 1000.0, 1, TOKEN, watchdog_s=20.0, **others)
    threading.Thread(target=lambda: t.serve(once=True, told=lambda line: None), daemon=True).start()
    return t


def run_against(t, f, out, *more, patience=60):
    """A loop against a target; its exit code."""
    return end(spawn("run", f, "--rig", f"127.0.0.1:{t.address[1]}", "--out", f"{D}/{out}", "--json", *more, out=out), patience)


class Wire:
    """Between a loop and a laboratory: `passes(datagram, to_the_laboratory)` says what gets through."""

    def __init__(self, port, passes=lambda found, there: True):
        self.front, self.back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.front.bind(("127.0.0.1", 0))
        self.back.connect(("127.0.0.1", port))
        # What a select announced may be an error that a send has taken meanwhile.
        self.front.setblocking(False)
        self.back.setblocking(False)
        self.port, self.over, self.passes = self.front.getsockname()[1], False, passes
        self.thread = threading.Thread(target=self.pipe)
        self.thread.start()

    def pipe(self):
        client = None
        while not self.over:
            for s in select.select([self.front, self.back], [], [], 0.05)[0]:
                try:
                    there = s is self.front
                    data, client = s.recvfrom(4096) if there else (s.recv(4096), client)
                    if not self.passes(T.decode(data), there):
                        continue
                    self.back.send(data) if there else self.front.sendto(data, client)
                except OSError:
                    pass

    def close(self):
        self.over = True
        self.thread.join()
