"""`host stop` (a) with every place taken by clients that hold the token, (b) behind load that finds the ring full, and (c) on a connection that watches."""
from common_tcp import *

f = toml(LONG, "a")
p, port = run(f, "a")
kept = [client(port) for _ in range(20)]
tries = [host("stop", port)]
rc = end(p)
print(f"a: 20 clients with the token say nothing more; host stop: {tries}; exit code {rc} (8 is stopped)")
refused = sum(t[0] != 0 for t in tries) + (rc != 8)
streamed = '[excitation]\nground = { streamed = { bound = "0.5 g" } }\nstream = { rate = "256 Hz", buffer = "2 s", prefill = "0.5 s", bridge = "50 ms", patience = "600 s" }\n\n'
text = re.sub(r"\[excitation\]\n(?:.*\n)*?\n", streamed, EX12, count=1)
text = text.replace('stop_at = "100 %"', 'stop_at = "100 %", constant = "10 J"').replace('duration = "8 s"', 'duration = "300 s"') + RT
p, port = run(toml(text, "b"), "b")
s = client(port)
s.sendall(msg(2))
receive(s)
n = 256 * 200
s.settimeout(100)
for k in range(0, n, 4096):
    try:
        s.sendall(msg(3, struct.pack("<Q", k) + struct.pack("<4096d", *([0.0] * 4096))))
    except OSError:
        break
    if k >= 8192:
        break
s.sendall(msg(6))
rc = end(p)
print(f"b: STOP behind 32 s of load (ring: 2 s): exit code {rc}")
refused += rc != 8
p, port = run(f, "c")
s = client(port)
s.sendall(msg(5, struct.pack("<I", 1)) + msg(6))


def drain():
    try:
        while s.recv(65536):
            pass
    except OSError:
        pass


threading.Thread(target=drain, daemon=True).start()
rc = end(p)
print(f"c: STOP on a watching connection: exit code {rc}")
refused += rc != 8
finish(refused, f"host stop: refused {refused} times beside 20 idle token holders, behind a full ring or on a watching connection")
