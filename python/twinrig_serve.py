#!/usr/bin/env python3
"""A client of `twinrig serve`, without any package beyond Python itself.

    from twinrig_serve import Serve
    with Serve("http://127.0.0.1:7480/#token=...") as host:
        host.take("Anna")                      # the control
        run = host.arm("frame.toml", clock="real")
        host.control("start")
        print(host.wait("over")["verdict"])

As a program it does a whole test: twinrig_serve.py ADDRESS FILE [--real]
"""
import base64
import hashlib
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request


class Refused(Exception):
    """The host says no."""

    def __init__(self, status, error):
        super().__init__(error.get("message", status))
        self.status, self.code, self.error = status, error.get("code"), error


class Serve:
    """A connection to a host. `address` is what it printed; `fingerprint` the SHA-256 it printed, where it is encrypted."""

    def __init__(self, address, token=None, fingerprint=None):
        where = urllib.parse.urlsplit(address)
        self.base = f"{where.scheme}://{where.netloc}"
        self.token = token or urllib.parse.parse_qs(where.fragment).get("token", [None])[0]
        self.lease, self._ended, self._renewing = None, threading.Event(), None
        self.context = None
        if where.scheme == "https":
            self.context = ssl.create_default_context()
            if fingerprint:
                pem = ssl.get_server_certificate((where.hostname, where.port))
                digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().upper()
                if digest != fingerprint.replace(":", "").upper():
                    raise ValueError("the certificate has another fingerprint")
                self.context.load_verify_locations(cadata=pem)
                self.context.check_hostname = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ended.set()
        if self._renewing:
            self._renewing.join()
        if self.lease:
            try:
                self.ask("DELETE", "/api/lease")
            except (Refused, OSError):
                pass

    def ask(self, method, path, body=None):
        """One request; gives the document, or the bytes where it is none."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if self.lease:
            headers["X-Twinrig-Lease"] = self.lease
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60, context=self.context) as answer:
                whole = answer.read()
                is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        except urllib.error.HTTPError as error:
            try:
                reason = json.load(error)["error"]
            except (ValueError, KeyError):
                reason = {}
            raise Refused(error.code, reason) from None
        return json.loads(whole) if is_json and whole else whole

    def take(self, name):
        """Takes the control, and keeps it until this is closed."""
        self.lease = self.ask("POST", "/api/lease", {"name": name})["lease"]

        def renew():
            while not self._ended.wait(5):
                try:
                    self.ask("PUT", "/api/lease", {})
                except (Refused, OSError):
                    return

        self._renewing = threading.Thread(target=renew, daemon=True)
        self._renewing.start()

    def arm(self, path, clock="virtual", **more):
        """Prepares a test and arms it; gives the run once it stands ready."""
        prepared = self.ask("POST", "/api/run/prepare", {"path": path, "clock": clock, **more})
        self.ask("POST", "/api/run/arm", {"prepared": prepared["prepared"]})
        run = self.wait("armed", "over")
        if run["state"] == "over":
            raise RuntimeError(run["message"])
        return run

    def control(self, action):
        """`start`, `hold`, `resume` or `stop`."""
        return self.ask("POST", f"/api/run/{action}", {})

    def run(self):
        return self.ask("GET", "/api/run")["run"]

    def wait(self, *states, seconds=600):
        """Waits for one of these states; gives the run."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            run = self.run()
            if run and run["state"] in states:
                return run
            time.sleep(0.05)
        raise TimeoutError(f"the run is not {' or '.join(states)} after {seconds} s")

    def live(self):
        """What happens, as it does: documents, and curves as (number, times, {channel: [(least, greatest)]})."""
        where = urllib.parse.urlsplit(self.base)
        stream = socket.create_connection((where.hostname, where.port), 30)
        if self.context:
            stream = self.context.wrap_socket(stream, server_hostname=where.hostname)
        key = base64.b64encode(os.urandom(16)).decode()
        stream.sendall(
            f"GET /api/live HTTP/1.1\r\nHost: {where.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: twinrig.v1, bearer.{self.token}\r\n\r\n".encode()
        )
        stream = stream.makefile("rwb")
        status = stream.readline().split()
        while stream.readline().strip():
            pass
        if status[1:2] != [b"101"]:
            raise Refused(int(status[1]) if len(status) > 1 else 0, {})
        names = []
        with stream:
            while True:
                kind, body = _message(stream)
                if kind == 1:
                    told = json.loads(body)
                    if told["kind"] == "hello":
                        names = [channel["name"] for channel in told["channels"]]
                    yield told
                elif kind == 2:
                    yield curves(body, names)
                elif kind == 9:
                    _pong(stream, body)
                elif kind in (8, None):
                    return


def _message(stream):
    head = stream.read(2)
    if len(head) < 2:
        return None, b""
    length = head[1] & 127
    if length == 126:
        (length,) = struct.unpack(">H", stream.read(2))
    elif length == 127:
        (length,) = struct.unpack(">Q", stream.read(8))
    return head[0] & 15, stream.read(length)


def _pong(stream, body):
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(body))
    stream.write(bytes([0x8A, 0x80 | len(body)]) + mask + masked)
    stream.flush()


def curves(body, names):
    """A message of curves, taken apart."""
    _, layout, channels, stretches, number, _ = struct.unpack_from("<BBHIQQ", body)
    if layout != 1:
        raise ValueError(f"curves of layout {layout} are not known")
    times = struct.unpack_from(f"<{stretches}d", body, 24)
    values = struct.unpack_from(f"<{2 * stretches * channels}f", body, 24 + 8 * stretches)
    pairs = list(zip(values[::2], values[1::2]))
    each = {name: pairs[at * stretches:(at + 1) * stretches] for at, name in enumerate(names)}
    return number, times, each


def main(address, path, *more):
    with Serve(address) as host:
        host.take("a Python program")
        run = host.arm(path, clock="real" if "--real" in more else "virtual")
        print(f"{run['title']}: ready")
        host.control("start")
        run = host.wait("over")
        print(f"over after {run['time_s']:.3f} s, verdict {run['verdict']['level']}")
        record = host.ask("GET", f"/api/records/{run['record']}")
        print(f"{record['frames']} frames, {len(record['channels'])} channels, files {', '.join(record['files'])}")


if __name__ == "__main__":
    main(*sys.argv[1:])
