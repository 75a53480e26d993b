"""Requests that mean harm: names outside of the folder, links, large and endless bodies, other sites, other names, garbage, slow heads, 500 connections."""
from common_serve import *

with open(D + "/secret.toml", "w") as file:
    file.write("secret")
os.symlink(D, FOLDER + "/out")
os.symlink(D + "/secret.toml", FOLDER + "/link.toml")
host = Host()
anna, t = Serve(host.operator), token(host.operator)
wrong = []


def wants(what, found, expected):
    print(f"{what}: {found}")
    if found not in expected:
        wrong.append(f"{what}: {found}")


for name in [
    "../secret.toml", "%2e%2e/secret.toml", "..%2fsecret.toml", "out/secret.toml", "link.toml", ".twinrig/operator.token",
    "/etc/passwd", "%2fetc%2fpasswd", "a%00b", "runs/../../secret.toml", "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
]:
    status, _, body = host.raw("GET", "/api/files/" + name, t)
    wants(f"read {name}", status, (403, 404, 400))
    wrong += [f"{name} was read"] if b"secret" in body and status == 200 else []
    save = json.dumps({"text": "x", "version": None})
    wants(f"save {name}", host.raw("PUT", "/api/files/" + name, t, save, Content_Type="application/json")[0], (403, 404, 400, 409))
wants("secret", open(D + "/secret.toml").read(), ("secret",))
for path, body in [("/api/validate", {"path": "x.toml", "text": 'include = ["../secret.toml"]'}), ("/api/judge", {"path": "x.toml", "text": 'include = ["/etc/passwd"]'})]:
    wants(f"{path} of others' files", "root:" in json.dumps(anna.ask("POST", path, body)), (False,))
for record in ["~~etc", "..~..~etc", "%2e%2e"]:
    wants(f"record {record}", host.raw("GET", f"/api/records/{record}", t)[0], (403, 404))
large = b'{"path": "x.toml", "text": "' + b"x" * (6 << 20) + b'"}'
try:
    wants("6 MiB", host.raw("POST", "/api/validate", t, large, Content_Type="application/json")[0], (413,))
except (BrokenPipeError, ConnectionResetError):
    print("6 MiB: closed before it was read")
for body in [b"", b"{", b"[]", b"null", b'{"path": 1}', b'{"path": "x", "text": "", "more": 1}', b"\xff\xfe"]:
    wants(f"body {body}", host.raw("POST", "/api/validate", t, body, Content_Type="application/json")[0], (400,))
wants("no JSON", host.raw("POST", "/api/run/stop", t, b"x", Content_Type="text/plain")[0], (409, 415, 503))
wants("another site", host.raw("GET", "/api/session", t, Origin="http://evil.example")[0], (403,))
wants("another name", host.raw("GET", "/api/session", t, Host="evil.example")[0], (403,))
status, headers, _ = host.raw("GET", "/")
wants("policy", "frame-ancestors 'none'" in headers["Content-Security-Policy"] and headers["X-Frame-Options"] == "DENY", (True,))
wants("no cookie", headers["Set-Cookie"], (None,))
for piece in [b"\x16\x03\x01\x02\x00" * 50, b"GET / HTTP/9.9\r\n\r\n", b"\0" * 4096, b"GET " + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"]:
    s = socket.create_connection(("127.0.0.1", host.port), 20)
    try:
        s.sendall(piece)
        s.recv(4096)
    except OSError:
        pass
    s.close()
# Frames of a WebSocket that are none.
for piece in [b"\xff" * 64, b"\x81\xff" + b"\xff" * 12, b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", b"\x81\x05hello"]:
    s = socket.create_connection(("127.0.0.1", host.port), 20)
    s.sendall(f"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: twinrig.v1, bearer.{t}\r\n\r\n".encode())
    wants("live", s.recv(4096).split()[1], (b"101",))
    s.sendall(piece)
    s.close()
slow = []
for _ in range(500):
    s = socket.create_connection(("127.0.0.1", host.port), 20)
    s.sendall(b"GET /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    slow.append(s)
begun = time.time()
wants("beside 500 slow heads", refused(anna.ask, "GET", "/api/session"), ((200, None),))
print(f"answered after {time.time() - begun:.3f} s")
try:
    for _ in range(5):
        slow[0].sendall(b"a")
        time.sleep(2.5)
except OSError:
    print("closed while it dripped")
slow[0].settimeout(20)
closed = b""
try:
    closed = slow[0].recv(4096)
except OSError:
    pass
wants("a slow head is let go", closed == b"" or b" 408 " in closed, (True,))
wants("the host lives", host.process.poll(), (None,))
wants("no panic", "panicked" in err("serve"), (False,))
host.kill()
finish(wrong, "; ".join(wrong) or "every harm was refused")
