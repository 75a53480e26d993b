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
import hmac
import math
import random
import socket
import struct
import time

MAGIC, VERSION = b"TWRG", 2
HELLO, WELCOME, REFUSE, ARM, COMMAND, MEASURED, STOP, BYE = range(1, 9)
HANDSHAKES = (HELLO, WELCOME, REFUSE, ARM)
LOCK_STEP, PACED, KNOWS_ACHIEVED, VIRTUAL = 1, 2, 4, 8
BUSY, OTHER_VERSION, OTHER_RATE, OTHER_DOFS, WRONG_TOKEN, OTHER_MODE = range(1, 7)
RUNNING, HOLDING, RAMPING, SAFE = range(4)
FROZEN = 7
# Codes of trips, as in the channel `trip` of a record.
BEYOND_COMMAND, BEYOND_RATE, BEYOND_FORCE, NOT_FINITE = 1, 2, 3, 5
SILENT, PEER_TRIPPED, PEER_LEFT = 22, 23, 24

HEADER = struct.Struct("<4sHBBQQQQQBBBB4x")
HANDSHAKE = struct.Struct("<dQQQII")
CODE = 16
PRESET_TOKEN = "twinrig"


def session_keys(token, nonce, session):
    """The keys of a session: the loop's and the laboratory's."""
    numbers = struct.pack("<QQ", nonce, session)
    return [hmac.digest(token.encode(), sender + numbers, "sha256")
            for sender in (b"twinrig loop", b"twinrig laboratory")]


def code(key, data):
    """What ends a datagram: nobody makes it without the key."""
    return hmac.digest(key, data, "sha256")[:CODE]


def encode(kind, dofs, session, sequence, time_ns, tick, echo_ns, state, trip, values, key,
           handshake=None, validity=0, auxiliary=()):
    """A datagram. `auxiliary`: values of other channels; in WELCOME zeros, as many as will come. `values`: three lists; `key`: bytes, outside a session those of the token;
    `handshake`: rate, nonce, hash of the file, watchdog, modes, reason."""
    out = HEADER.pack(MAGIC, VERSION, kind, dofs, session, sequence, time_ns, tick, echo_ns,
                      state, trip, validity, len(auxiliary))
    if kind in HANDSHAKES:
        out += HANDSHAKE.pack(*handshake)
    if kind != REFUSE:
        out += struct.pack(f"<{3 * dofs}d", *(value for block in values for value in block))
    if kind not in HANDSHAKES:
        out += struct.pack(f"<{len(auxiliary)}d", *auxiliary)
    return out + code(key, out)


def decode(data):
    """What a datagram says as a dictionary, true only if `is_from`; None if it is not ours."""
    if len(data) < HEADER.size + CODE or data[:4] != MAGIC:
        return None
    names = ("magic", "version", "kind", "dofs", "session", "sequence", "time_ns", "tick",
             "echo_ns", "state", "trip", "validity", "auxiliary")
    found = dict(zip(names, HEADER.unpack(data[:HEADER.size])))
    if found["version"] != VERSION:
        return found
    signed, found["signed"], found["code"] = data[:-CODE], data[:-CODE], data[-CODE:]
    at, dofs = HEADER.size, found["dofs"]
    if found["kind"] in HANDSHAKES:
        if len(signed) < at + HANDSHAKE.size:
            return None
        names = ("rate_hz", "nonce", "file", "watchdog_ns", "modes", "reason")
        found.update(zip(names, HANDSHAKE.unpack(signed[at:at + HANDSHAKE.size])))
        at += HANDSHAKE.size
    blocks = 0 if found["kind"] == REFUSE else 24 * dofs
    if not 1 <= found["kind"] <= 8 or not 1 <= dofs <= 55:
        return None
    auxiliary = 0 if found["kind"] in HANDSHAKES else 8 * found["auxiliary"]
    if len(signed) != at + blocks + auxiliary:
        return None
    flat = struct.unpack(f"<{blocks // 8}d", signed[at:at + blocks])
    found["values"] = [list(flat[i * dofs:(i + 1) * dofs]) for i in range(3)]
    return found


def is_from(found, key):
    """Whether who has this key sent it."""
    return hmac.compare_digest(found["code"], code(key, found["signed"]))


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

    def __init__(self, rig, listen, rate_hz, dofs=1, token=PRESET_TOKEN, watchdog_s=0.2,
                 command_m=math.inf, rate_m_s=math.inf, force_n=math.inf, hold_s=0.5, ramp_m_s=0.01,
                 bridge=10):
        if not token or (token == PRESET_TOKEN and not listen[0].startswith("127.")):
            raise ValueError("choose a token that nobody else knows")
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
        # Everybody who has the token is offered the same session; the first to arm has it.
        self.session = random.SystemRandom().randrange(1, 2**64)
        self.peer, self.nonce, self.armed, self.keys = None, 0, False, None
        self.sequence, self.highest, self.tick = 0, 0, 0
        self.state, self.trip, self.gone = RUNNING, 0, False
        self.held, self.received = [0.0] * self.dofs, [0.0] * self.dofs
        self.fed = [0.0] * self.dofs
        self.limits_now = self.limits
        self.lock_step, self.patience_s = False, self.watchdog_s
        self.heard = self.tripped_at = time.monotonic()

    # Sending

    def send(self, kind, tick, echo_ns, values):
        self.sequence += 1
        data = encode(kind, self.dofs, self.session, self.sequence, time.monotonic_ns(), tick,
                      echo_ns, self.state, self.trip, values, self.keys[1])
        self.socket.sendto(data, self.peer)

    def report(self, tick, echo_ns):
        self.send(MEASURED, min(tick, 2**64 - 1), echo_ns, self.rig.measure())

    def greet(self, kind, to, length, found, watchdog_s=0.0, reason=0):
        """WELCOME or REFUSE; never more bytes than were sent."""
        handshake = (self.rate_hz, found.get("nonce", 0), 0, int(watchdog_s * 1e9),
                     LOCK_STEP | PACED | KNOWS_ACHIEVED | VIRTUAL, reason)
        data = encode(kind, self.dofs, 0 if kind == REFUSE else self.session, 0,
                      time.monotonic_ns(), 0, found["time_ns"], 0, 0, self.limits,
                      self.token.encode(), handshake)
        if len(data) <= length:
            self.socket.sendto(data, to)

    # Hearing

    def judge(self, found):
        """Why a loop does not fit, 0 if it does."""
        if found["dofs"] != self.dofs:
            return OTHER_DOFS
        if found["rate_hz"] != self.rate_hz:
            return OTHER_RATE
        return 0 if found["modes"] & 3 in (LOCK_STEP, PACED) else OTHER_MODE

    def watchdog(self, found):
        """A loop by the clock may ask for less, never for more."""
        asked_s = found["watchdog_ns"] * 1e-9
        if found["modes"] & LOCK_STEP:
            return min(max(self.watchdog_s, asked_s), 60.0)
        return min(self.watchdog_s, asked_s) if asked_s > 0.0 else self.watchdog_s

    def hello(self, found, sender, length):
        known = is_from(found, self.token.encode())
        if self.armed and known and found["nonce"] == self.nonce:
            return  # A copy of the loop's own.
        reason = WRONG_TOKEN if not known else BUSY if self.armed else self.judge(found)
        if reason:
            self.foreign += 1
            self.greet(REFUSE, sender, length, found, reason=reason)
        else:
            self.greet(WELCOME, sender, length, found, self.watchdog(found))

    def arm(self, found, sender):
        keys = session_keys(self.token, found["nonce"], self.session)
        if found["session"] != self.session or not is_from(found, keys[0]) or self.judge(found):
            return
        self.peer, self.nonce, self.keys, self.armed = sender, found["nonce"], keys, True
        self.lock_step = found["modes"] & LOCK_STEP != 0
        self.patience_s = self.watchdog(found)
        # The loop's limits count where they are stricter.
        self.limits_now = [[min(o, a) if a == a else o for o, a in zip(own, asked)]
                           for own, asked in zip(self.limits, found["values"])]

    def hear(self, data, sender):
        found = decode(data)
        if found is None:
            self.foreign += 1
        elif found["version"] != VERSION:
            self.foreign += 1
            self.greet(REFUSE, sender, len(data), found, reason=OTHER_VERSION)
        elif found["kind"] == HELLO:
            self.hello(found, sender, len(data))
        else:
            if found["kind"] == ARM and not self.armed:
                self.arm(found, sender)
            ours = (sender, found["session"], found["dofs"]) == (self.peer, self.session, self.dofs)
            if not ours or found["sequence"] == 0 or not is_from(found, self.keys[0]):
                self.foreign += 1
            elif found["sequence"] > self.highest:
                # Not a copy, nor overtaken by a later one, which has acted already.
                self.highest, self.heard = found["sequence"], time.monotonic()
                self.obey(found)

    def obey(self, found):
        kind = found["kind"]
        if kind == ARM:
            if self.tick == 0:
                self.report(0, found["time_ns"])
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
            stride = self.limits_now[1][0] / self.rate_hz
            self.held = [h + max(-stride, min(stride, n - h)) if abs(n - h) > stride else n
                         for h, n in zip(self.held, x)]
            self.received, self.fed = x, self.led(found["values"])
            self.rig.move(self.held, found["values"][1], found["values"][2])
        elif self.lock_step:
            self.lead(1.0 / self.rate_hz)
        self.tick = tick + 1
        self.report(self.tick, found["time_ns"])

    # Safety

    def led(self, values):
        """The velocities to which accelerations lead a rig that is fed forward by them."""
        return [v + 0.9375 * (fed + a / self.rate_hz - v)
                for fed, v, a in zip(self.fed, values[1], values[2])]

    def gate(self, values, steps):
        """The code of the limit that a command would break, 0 for none."""
        _, force, _ = self.rig.measure()
        if not all(math.isfinite(v) for block in values for v in block):
            return NOT_FINITE
        for x, before, v, fed, f, command, rate, most in zip(
                values[0], self.received, values[1], self.led(values), force, *self.limits_now):
            if abs(f) > most:
                return BEYOND_FORCE
            if abs(x) > command:
                return BEYOND_COMMAND
            fastest = max(abs(x - before) * self.rate_hz / steps, abs(v), abs(fed))
            if fastest > rate * (1 + 1e-12):
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
    parser.add_argument("--token", default=PRESET_TOKEN)
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
