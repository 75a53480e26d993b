"""A laboratory for twinrig in plain Python: the protocol of docs/protocol.md, nothing else.

A reference to read beside the document, and a start for targets in other languages. Python is
no real-time language: use it to try a network, not to drive an actuator.

    python3 twinrig_target.py --rate 1024 --stiffness 0.5e6 --listen 127.0.0.1:47071

plays a spring behind an actuator that does at the next tick what it is told. Replace `Spring`
by something that moves and measures:

    class MyRig:
        def move(self, displacement, velocity, acceleration): ...   # lists, one entry per DOF
        def measure(self): return displacement, force, achieved      # achieved: NaN if unknown
"""

import argparse
import math
import random
import socket
import struct
import time
import zlib

MAGIC, VERSION = b"TWRG", 1
HELLO, WELCOME, REFUSE, ARM, COMMAND, MEASURED, STOP, BYE = range(1, 9)
HANDSHAKES = (HELLO, WELCOME, REFUSE, ARM)
LOCK_STEP, PACED, KNOWS_ACHIEVED, VIRTUAL = 1, 2, 4, 8
BUSY, OTHER_VERSION, OTHER_RATE, OTHER_DOFS, WRONG_TOKEN, OTHER_MODE = range(1, 7)
RUNNING, HOLDING, RAMPING, SAFE = range(4)
FROZEN = 7
# Codes of trips, as in the channel `trip` of a record.
BEYOND_COMMAND, BEYOND_RATE, BEYOND_FORCE, NOT_FINITE = 1, 2, 3, 5
SILENT, PEER_TRIPPED, PEER_LEFT = 22, 23, 24

HEADER = struct.Struct("<4sHBBQQQQQBB6x")
HANDSHAKE = struct.Struct("<dQQQII")


def siphash(key, message):
    """SipHash-2-4 with a key of 16 bytes."""
    mask = (1 << 64) - 1
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D,
         k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rotate(x, by):
        return (x << by | x >> 64 - by) & mask

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & mask
            v[2] = (v[2] + v[3]) & mask
            v[1] = rotate(v[1], 13) ^ v[0]
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[1]) & mask
            v[0] = (v[0] + v[3]) & mask
            v[1] = rotate(v[1], 17) ^ v[2]
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = rotate(v[2], 32)

    whole = len(message) // 8 * 8
    words = [w for (w,) in struct.iter_unpack("<Q", message[:whole])]
    last = message[whole:].ljust(7, b"\0") + bytes([len(message) & 0xFF])
    for word in words + list(struct.unpack("<Q", last)):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def tag(token, kind, nonce, session):
    """Proof of knowing the token."""
    key = token.encode().ljust(16, b"\0")
    return siphash(key, struct.pack("<BQQ", kind, nonce, session))


def encode(kind, dofs, session, sequence, time_ns, tick, echo_ns, state, trip, values,
           handshake=None):
    """A datagram. `values`: three lists; `handshake`: rate, nonce, tag, watchdog, modes, reason."""
    out = HEADER.pack(MAGIC, VERSION, kind, dofs, session, sequence, time_ns, tick, echo_ns,
                      state, trip)
    if kind in HANDSHAKES:
        out += HANDSHAKE.pack(*handshake)
    flat = [value for block in values for value in block]
    out += struct.pack(f"<{3 * dofs}d", *flat)
    return out + struct.pack("<I", zlib.crc32(out))


def decode(data):
    """Fields of a datagram as a dictionary; None if it is damaged or not ours."""
    if len(data) < 60 or data[:4] != MAGIC:
        return None
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        return None
    names = ("magic", "version", "kind", "dofs", "session", "sequence", "time_ns", "tick",
             "echo_ns", "state", "trip")
    found = dict(zip(names, HEADER.unpack(data[:HEADER.size])))
    if found["version"] != VERSION:
        return found
    at, dofs = HEADER.size, found["dofs"]
    if found["kind"] in HANDSHAKES:
        if len(data) < at + HANDSHAKE.size + 4:
            return None
        names = ("rate_hz", "nonce", "tag", "watchdog_ns", "modes", "reason")
        found.update(zip(names, HANDSHAKE.unpack(data[at:at + HANDSHAKE.size])))
        at += HANDSHAKE.size
    if not 1 <= found["kind"] <= 8 or dofs == 0 or len(data) != at + 24 * dofs + 4:
        return None
    flat = struct.unpack(f"<{3 * dofs}d", data[at:-4])
    found["values"] = [list(flat[i * dofs:(i + 1) * dofs]) for i in range(3)]
    return found


class Spring:
    """Does at the next tick what it was told, against a linear spring."""

    def __init__(self, dofs, stiffness):
        self.position, self.stiffness = [0.0] * dofs, stiffness

    def move(self, displacement, velocity, acceleration):
        self.position = list(displacement)

    def measure(self):
        force = [self.stiffness * x for x in self.position]
        return self.position, force, self.position


class Target:
    """One laboratory, one session after another."""

    def __init__(self, rig, listen, rate_hz, dofs=1, token="", watchdog_s=0.2, command_m=math.inf,
                 rate_m_s=math.inf, force_n=math.inf, hold_s=0.5, ramp_m_s=0.01, bridge=10):
        self.rig, self.rate_hz, self.dofs, self.token = rig, rate_hz, dofs, token
        self.watchdog_s, self.bridge = watchdog_s, bridge
        self.limits = [[command_m] * dofs, [rate_m_s] * dofs, [force_n] * dofs]
        self.hold_s, self.ramp_m_s = hold_s, ramp_m_s
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(listen)
        self.address = self.socket.getsockname()
        self.foreign = 0
        self.reset()

    def reset(self):
        self.peer, self.session, self.nonce, self.armed = None, 0, 0, False
        self.sequence, self.highest, self.tick = 0, 0, 0
        self.state, self.trip, self.gone = RUNNING, 0, False
        self.held, self.received = [0.0] * self.dofs, [0.0] * self.dofs
        self.lock_step, self.patience_s = False, self.watchdog_s
        self.heard = self.tripped_at = time.monotonic()

    # Sending

    def send(self, kind, tick, echo_ns, values, handshake=None, to=None, session=None):
        numbered = session is None
        if numbered:
            self.sequence += 1
        data = encode(kind, len(values[0]), self.session if numbered else session,
                      self.sequence if numbered else 0, time.monotonic_ns(), tick, echo_ns,
                      self.state, self.trip, values, handshake)
        self.socket.sendto(data, to or self.peer)

    def report(self, tick, echo_ns):
        self.send(MEASURED, min(tick, 2**64 - 1), echo_ns, self.rig.measure())

    def refuse(self, to, hello, reason):
        self.foreign += 1
        dofs = max(1, min(hello["dofs"], 56))
        handshake = (0.0, hello.get("nonce", 0), 0, 0, 0, reason)
        self.send(REFUSE, 0, hello["time_ns"], [[0.0] * dofs] * 3, handshake, to, 0)

    # Hearing

    def hello(self, found, sender):
        busy = self.armed or (self.peer not in (None, sender))
        if found["tag"] != tag(self.token, HELLO, found["nonce"], 0):
            return self.refuse(sender, found, WRONG_TOKEN)
        if busy and (sender, found["nonce"]) != (self.peer, self.nonce):
            # Who was welcomed and never armed does not block the door for long.
            if self.armed or time.monotonic() - self.heard < 2.0:
                return self.refuse(sender, found, BUSY)
        if found["dofs"] != self.dofs:
            return self.refuse(sender, found, OTHER_DOFS)
        if found["rate_hz"] != self.rate_hz:
            return self.refuse(sender, found, OTHER_RATE)
        if found["modes"] & 3 not in (LOCK_STEP, PACED):
            return self.refuse(sender, found, OTHER_MODE)
        if (sender, found["nonce"]) != (self.peer, self.nonce):
            self.reset()
            self.peer, self.nonce = sender, found["nonce"]
            self.session = random.SystemRandom().randrange(1, 2**64)
            self.lock_step = found["modes"] & LOCK_STEP != 0
            asked = min(found["watchdog_ns"] * 1e-9, 60.0) if self.lock_step else 0.0
            self.patience_s = max(self.watchdog_s, asked)
        handshake = (self.rate_hz, self.nonce, tag(self.token, WELCOME, self.nonce, self.session),
                     int(self.patience_s * 1e9), LOCK_STEP | PACED | KNOWS_ACHIEVED | VIRTUAL, 0)
        self.send(WELCOME, 0, found["time_ns"], self.limits, handshake, sender, self.session)

    def hear(self, data, sender):
        found = decode(data)
        if found is None:
            self.foreign += 1
        elif found["version"] != VERSION:
            self.refuse(sender, found, OTHER_VERSION)
        elif found["kind"] == HELLO:
            self.hello(found, sender)
        elif (sender, found["session"], found["dofs"]) != (self.peer, self.session, self.dofs) \
                or found["sequence"] == 0:
            self.foreign += 1
        elif found["sequence"] <= self.highest:
            pass  # A copy, or overtaken by a later one, which has acted already.
        else:
            self.highest, self.heard = found["sequence"], time.monotonic()
            self.obey(found)

    def obey(self, found):
        kind = found["kind"]
        if kind == ARM:
            if found["tag"] == tag(self.token, ARM, self.nonce, self.session) and self.tick == 0:
                self.armed = True
                self.report(0, found["time_ns"])
        elif not self.armed:
            self.foreign += 1
        elif kind == COMMAND:
            self.command(found)
        elif kind == STOP:
            self.stop(PEER_TRIPPED)
        elif kind == BYE:
            self.gone = True
            if found["state"] == FROZEN or self.tick == 0:
                self.state = SAFE  # It stays where it stands.
            self.stop(PEER_LEFT)

    def command(self, found):
        tick, x = found["tick"], found["values"][0]
        if tick < self.tick:
            if self.lock_step and tick + 1 == self.tick:
                self.report(self.tick, found["time_ns"])  # Asked again: the answer was lost.
            return
        if self.trip == 0:
            steps = tick - self.tick + 1
            self.stop(self.gate(found["values"], steps) or (SILENT if steps - 1 > self.bridge else 0))
        if self.trip == 0:
            # After missing commands no faster than the limit: a jump would be violent.
            stride = self.limits[1][0] / self.rate_hz
            self.held = [h + max(-stride, min(stride, n - h)) if abs(n - h) > stride else n
                         for h, n in zip(self.held, x)]
            self.received = x
            self.rig.move(self.held, found["values"][1], found["values"][2])
        elif self.lock_step:
            self.lead(1.0 / self.rate_hz)
        self.tick = tick + 1
        self.report(self.tick, found["time_ns"])

    # Safety

    def gate(self, values, steps):
        """The code of the limit that a command would break, 0 for none."""
        _, force, _ = self.rig.measure()
        if not all(math.isfinite(v) for block in values for v in block):
            return NOT_FINITE
        for x, before, f, command, rate, most in zip(values[0], self.received, force, *self.limits):
            if abs(f) > most:
                return BEYOND_FORCE
            if abs(x) > command:
                return BEYOND_COMMAND
            if abs(x - before) * self.rate_hz > rate * steps * (1 + 1e-12):
                return BEYOND_RATE
        return 0

    def stop(self, code):
        if code and self.trip == 0:
            self.trip, self.tripped_at, self.way_s = code, time.monotonic(), 0.0
            self.state = SAFE if self.state == SAFE else HOLDING
            self.rig.move(self.held, [0.0] * self.dofs, [0.0] * self.dofs)

    def lead(self, step_s):
        """Hold, then ramp to zero."""
        self.way_s += step_s
        if self.state == HOLDING and self.way_s > self.hold_s:
            self.state = RAMPING
        if self.state == RAMPING:
            stride = self.ramp_m_s * step_s
            self.held = [0.0 if abs(x) <= stride else x - math.copysign(stride, x)
                         for x in self.held]
            self.rig.move(self.held, [0.0] * self.dofs, [0.0] * self.dofs)
            if not any(self.held):
                self.state = SAFE

    # Running

    def serve(self, once=False, told=print):
        """Serves loops; with `once` returns the trip's code after the first session."""
        before = time.monotonic()
        while True:
            alone = self.trip != 0 and (self.gone or not self.lock_step)
            self.socket.settimeout(1e-3 if alone else 0.02)
            try:
                self.hear(*self.socket.recvfrom(2048))
            except (TimeoutError, socket.timeout, ConnectionError):
                pass
            now = time.monotonic()
            if alone:
                self.lead(now - before)
            before = now
            if self.armed and not self.gone and now - self.heard > self.patience_s:
                self.gone = True
                self.stop(SILENT)
            if self.armed and self.gone and self.state == SAFE:
                told(f"session over after {self.tick} ticks, trip {self.trip}, "
                     f"command {self.held}, {self.foreign} foreign")
                if once:
                    return self.trip
                self.reset()


def main():
    parser = argparse.ArgumentParser(description="A spring in a laboratory, for twinrig.")
    parser.add_argument("--listen", default="127.0.0.1:47071")
    parser.add_argument("--rate", type=float, required=True, help="ticks per second")
    parser.add_argument("--dofs", type=int, default=1)
    parser.add_argument("--stiffness", type=float, required=True, help="N/m")
    parser.add_argument("--token", default="")
    parser.add_argument("--watchdog", type=float, default=0.2, help="s")
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    host, port = options.listen.rsplit(":", 1)
    target = Target(Spring(options.dofs, options.stiffness), (host, int(port)), options.rate,
                    options.dofs, options.token, options.watchdog)
    print(f"listening at {target.address[0]}:{target.address[1]}", flush=True)
    target.serve(options.once, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
