"""Shared by the attacks on the host link: messages by hand, clients, a test with a link."""
import socket, struct

from common_safety import *

TOK = "0123456789abcdef0123"
with open(D + "/tok", "w") as file:
    file.write(TOK)
# A building under a load that is known, long enough to be stopped.
LONG = example("02-shear-building").replace('duration    = "30 s"', 'duration = "300 s"') + RT


def msg(kind, body=b""):
    return struct.pack("<IB", len(body) + 1, kind) + body


def hello(token=TOK):
    return msg(1, b"TWRG" + struct.pack("<HB", 1, len(token)) + token.encode())


def receive(s):
    def n(k):
        b = b""
        while len(b) < k:
            c = s.recv(k - len(b))
            if not c:
                raise EOFError
            b += c
        return b

    (length,) = struct.unpack("<I", n(4))
    b = n(length)
    return b[0], b[1:]


def connected(port, seconds=30):
    s = socket.create_connection(("127.0.0.1", port), seconds)
    return s


def client(port):
    """A client that knows the token."""
    s = connected(port)
    s.sendall(hello())
    receive(s)
    return s


def run(f, out):
    """A test in real time with a host link: the process and its port."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    p = spawn("run", f, "--realtime", f"--host=127.0.0.1:{port}", "--token-file", D + "/tok", "--out", f"{D}/{out}", "--json", out=out)

    def listens():
        try:
            connected(port, 1).close()
            return True
        except OSError:
            return p.poll() is not None

    if not wait_for(listens) or p.poll() is not None:
        finish(True, "no test: " + err(out))
    return p, port


def host(command, port):
    """The program's own client: exit code, seconds, what it says."""
    t0 = time.time()
    r = call("host", command, f"127.0.0.1:{port}", "--token-file", D + "/tok")
    return r.returncode, round(time.time() - t0, 2), (r.stdout + r.stderr).strip()[-110:]
