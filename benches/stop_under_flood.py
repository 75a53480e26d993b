"""How long a stop from the host takes while strangers flood its link: from the connection to the answer that it is pressed.

    TWINRIG=target/release/twinrig TWINRIG_ROOT=. python3 benches/stop_under_flood.py [tests] [--tls]

Each test is stopped once, beside four processes that open as many connections with a wrong token as they can. A connection that
is pushed out by strangers is tried again, as `twinrig host stop` does."""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/attack"))
from common_tcp import *
import multiprocessing, ssl

TLS = "--tls" in sys.argv
COUNT = int(next((word for word in sys.argv[1:] if word.isdigit()), 100))
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE


def start(out):
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    p = spawn("run", f, "--realtime", f"--host=127.0.0.1:{port}", *(["--tls"] if TLS else []), "--token-file", D + "/tok", "--out", f"{D}/{out}", "--json", out=out)

    def listens():
        try:
            connected(port, 1).close()
            return True
        except OSError:
            return p.poll() is not None

    wait_for(listens)
    return p, port


def flood(port, over, opened):
    open_ones = []
    while not over.is_set():
        try:
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
            open_ones.append((s, time.time()))
            opened.value += 1
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


def greeted(port):
    s = connected(port)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s = context.wrap_socket(s) if TLS else s
    s.sendall(hello())
    receive(s)
    return s


def stop(port):
    for tries in range(1, 11):
        try:
            s = greeted(port)
            s.sendall(msg(6))
            kind, _ = receive(s)
            if kind == 0x82:
                return tries
        except (OSError, EOFError):
            pass
    return None


# Processes of their own: they must not keep the client that is measured waiting.
forked = multiprocessing.get_context("fork")
f, times, again = toml(LONG), [], 0
for k in range(COUNT):
    p, port = start(f"o{k}")
    # Whoever is let in speaks to a test that runs; before, nobody is answered.
    greeted(port).close()
    over, opened = forked.Event(), [forked.Value("q", 0) for _ in range(4)]
    strangers = [forked.Process(target=flood, args=(port, over, count), daemon=True) for count in opened]
    [one.start() for one in strangers]
    time.sleep(0.5)
    begun = time.perf_counter()
    tries = stop(port)
    times.append(1e3 * (time.perf_counter() - begun) if tries else math.inf)
    again += (tries or 10) - 1
    over.set()
    [one.join() for one in strangers]
    rate = sum(count.value for count in opened) / 0.5
    p.send_signal(signal.SIGINT)
    end(p)
    shutil.rmtree(f"{D}/o{k}", ignore_errors=True)
median, p99 = np.percentile(times, [50, 99])
finish(False, f"stop under flood{' through TLS' if TLS else ''}: {COUNT} stops, median {median:.1f} ms, 99th percentile {p99:.1f} ms, largest {max(times):.1f} ms, {again} connections tried again; {rate:.0f} strangers a second, load {os.getloadavg()[0]:.1f}")
