"""`host status` and `host stop` with the right token, beside thousands of connections that do not know it."""
from common_tcp import *

p, port = run(toml(LONG), "o")
count, over = [0] * 4, threading.Event()


def flood(i):
    open_ones = []
    while not over.is_set():
        try:
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
            open_ones.append((s, time.time()))
            count[i] += 1
        except OSError:
            pass
        for one in list(open_ones):
            if time.time() - one[1] > 0.25:
                open_ones.remove(one)
                one[0].close()
                continue
            try:
                one[0].send(hello("x" * 20))
            except OSError:
                pass
        time.sleep(0.0005)


flooding = [threading.Thread(target=flood, args=(i,), daemon=True) for i in range(len(count))]
[thread.start() for thread in flooding]
time.sleep(1)
answers = [host("status", port) for _ in range(5)] + [host("stop", port)]
over.set()
rc = end(p)
print(f"{sum(count)} connections; answers {answers}; exit code {rc} (8 is stopped)")
failed = sum(a[0] != 0 for a in answers) + (rc != 8)
finish(failed, f"flood: {failed} of 6 calls of the token's holder failed")
