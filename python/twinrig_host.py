"""A client of the host link of twinrig, without any package beyond Python itself.

Feed a test its load, watch its frames, stop it:

    from twinrig_host import Host

    with Host("127.0.0.1:7420", token=open("token").read()) as host:
        host.feed([0.1, 0.2], [0.3, 0.4])      # rows, one value per load signal
        host.end()                             # the test goes on to its completion

    with Host("127.0.0.1:7420", token) as host:
        for frame in host.watch(every=10):     # a dict: channel name -> value
            print(frame["time"], frame["measured.1"])

docs/host-link.md describes the protocol. Values are in SI units.
"""

import hashlib
import hmac
import ipaddress
import socket
import ssl
import struct

MAGIC = b"TWRG"
VERSION = 1
LONGEST = 1 << 18

HELLO, FEED, LOAD, END, WATCH, STOP, STATUS = range(1, 8)
WELCOME, GRANTED, REFUSED, STATUS_REPLY, FRAMES, OVER = range(0x81, 0x87)

PHASES = {
    0: "running",
    1: "holding after a trip",
    2: "ramping to safe",
    3: "safe",
    4: "initiating",
    5: "completing: ringing down",
    6: "completing: going home",
}


class HostError(Exception):
    """The link failed, or the other side is no test."""


class Refused(HostError):
    """The test refused a request."""

    def __init__(self, request, code, text):
        super().__init__(text)
        self.request, self.code = request, code


class Over(HostError):
    """The test is over."""

    def __init__(self, phase, trip, ticks, dropped):
        super().__init__(f"the test is over: phase {PHASES.get(phase, phase)}, trip {trip}")
        self.phase, self.trip, self.ticks, self.dropped = phase, trip, ticks, dropped


class Host:
    """A connection to a running test.

    A link between machines is encrypted: `fingerprint` is what the test showed, `ca` a file with
    the certificates of who vouches for the test's own. `plain` sends the token for all to read.
    """

    def __init__(self, address, token, timeout_s=60.0, fingerprint=None, ca=None, plain=False):
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        self._socket = socket.create_connection((host, int(port)), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if fingerprint or ca:
            self._socket = self._secured(host, fingerprint, ca)
        elif not plain and not ipaddress.ip_address(self._socket.getpeername()[0]).is_loopback:
            self._socket.close()
            raise HostError("another machine: give fingerprint or ca, or plain=True")
        self._bytes = b""
        self._next = None
        secret = token.strip().encode("ascii")
        self._send(HELLO, MAGIC + struct.pack("<HB", VERSION, len(secret)) + secret)
        self._welcome(self._receive(WELCOME))

    def _secured(self, host, fingerprint, ca):
        context = ssl.create_default_context(cafile=ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        if fingerprint:  # The certificate itself is known; nobody has to vouch for it.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        secured = context.wrap_socket(self._socket, server_hostname=host)
        if fingerprint:
            found = hashlib.sha256(secured.getpeercert(True)).hexdigest()
            if not hmac.compare_digest(found, fingerprint.replace(":", "").lower()):
                secured.close()
                raise HostError(f"the test has another fingerprint: {found}")
        return secured

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the connection. A load that was not ended then counts as broken off."""
        self._socket.close()

    def feed(self, *rows):
        """Sends rows of the load; waits while the test has no room for them."""
        if self._next is None:
            self._send(FEED, b"")
            self._next = self._granted(FEED)
        width = len(self.signals)
        most = max(1, 4096 // width)
        for start in range(0, len(rows), most):
            piece = rows[start : start + most]
            if any(len(row) != width for row in piece):
                raise ValueError(f"a row has one value for each of {width} signals")
            values = [value for row in piece for value in row]
            body = struct.pack(f"<Q{len(values)}d", self._next, *values)
            self._send(LOAD, body)
            self._next += len(piece)

    def end(self):
        """Ends the load: the test goes on to its completion."""
        if self._next is None:
            self.feed()
        self._send(END, struct.pack("<Q", self._next))
        return self._granted(END)

    def watch(self, every=1):
        """Yields frames as they come, until the test is over.

        `self.dropped` counts the frames this client was too slow for, and
        `self.over` holds the end of the test once it came.
        """
        self._send(WATCH, struct.pack("<I", every))
        self._granted(WATCH)
        names = [name for name, _ in self.channels]
        while True:
            try:
                body = self._receive(FRAMES)
            except Over as over:
                self.over, self.dropped = over, over.dropped
                return
            self.dropped, width = struct.unpack_from("<QH", body)
            for frame in struct.iter_unpack(f"<{width}d", body[10:]):
                yield dict(zip(names, frame))

    def stop(self):
        """Presses the operator's stop: the rig holds, then goes to zero."""
        self._send(STOP, b"")
        return self._granted(STOP)

    def status(self):
        """Where the test stands."""
        self._send(STATUS, b"")
        body = self._receive(STATUS_REPLY)
        ticks, phase, trip, feeding, fed, used, starved, dropped = struct.unpack("<QBBBQQQQ", body)
        return {
            "time_s": ticks / self.tick_hz,
            "ticks": ticks,
            "phase": PHASES.get(phase, phase),
            "trip": trip,
            "feeding": ("nobody feeds", "being fed", "ended")[min(feeding, 2)],
            "fed": fed,
            "used": used,
            "starved_ticks": starved,
            "feedback_dropped": dropped,
        }

    def _send(self, kind, body):
        try:
            self._socket.sendall(struct.pack("<IB", len(body) + 1, kind) + body)
        except OSError as error:
            # What the test said before it closed is the better reason.
            while True:
                try:
                    self._receive(None)
                except (Refused, Over):
                    raise
                except (OSError, HostError):
                    raise HostError(f"the link to the test failed: {error}") from error

    def _receive(self, wanted):
        while True:
            message = self._split()
            if message is None:
                piece = self._socket.recv(1 << 16)
                if not piece:
                    raise HostError("the test has closed the link")
                self._bytes += piece
                continue
            kind, body = message
            if kind == REFUSED:
                request, code = struct.unpack_from("<BH", body)
                raise Refused(request, code, body[3:].decode("utf-8", "replace"))
            if kind == OVER:
                raise Over(*struct.unpack("<BBQQ", body))
            if wanted is None or kind == wanted:
                return body
            raise HostError(f"a message of type {kind:#x} instead of {wanted:#x}")

    def _split(self):
        if len(self._bytes) < 4:
            return None
        (length,) = struct.unpack_from("<I", self._bytes)
        if not 1 <= length <= LONGEST:
            raise HostError(f"a message of {length} bytes: this is no test")
        if len(self._bytes) < 4 + length:
            return None
        kind, body = self._bytes[4], self._bytes[5 : 4 + length]
        self._bytes = self._bytes[4 + length :]
        return kind, body

    def _granted(self, request):
        of, value = struct.unpack("<BQ", self._receive(GRANTED))
        if of != request:
            raise HostError("the test answered another request")
        return value

    def _welcome(self, body):
        self.version, clock, self.tick_hz, self.load_hz, self.buffer = struct.unpack_from(
            "<HBddQ", body
        )
        self.real_time = clock == 1
        at = 27

        def short():
            nonlocal at
            end = at + 1 + body[at]
            text, at = body[at + 1 : end].decode("utf-8", "replace"), end
            return text

        def count():
            nonlocal at
            (number,) = struct.unpack_from("<H", body, at)
            at += 2
            return number

        self.title = short()
        self.signals = []
        for _ in range(count()):
            name, unit = short(), short()
            (bound,) = struct.unpack_from("<d", body, at)
            at += 8
            self.signals.append((name, unit, bound))
        self.channels = [(short(), short()) for _ in range(count())]
        self.dropped, self.over = 0, None
