"""Forged datagrams from the right addresses, by raw sockets on loopback: none of them moves the rig, ends the test or takes the session
over, with the sniffed session number, sequence numbers and ticks. Old HELLOs, repeated up to 5000 times a second, keep no loop out."""
from common_wire import *

try:
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
except (PermissionError, AttributeError):
    print("SKIPPED no privilege for raw sockets")
    sys.exit(0)
sniffer.bind(("lo", 0))


def spoof(source, to, data):
    udp = struct.pack("!HHHH", source, to, 8 + len(data), 0) + data
    here = socket.inet_aton("127.0.0.1")
    raw.sendto(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), random.randrange(65536), 0, 64, 17, 0, here, here) + udp, ("127.0.0.1", 0))


def sniff(port, wanted, seconds=60):
    """The first datagram to `port` that is wanted: its source, what it says, its bytes."""
    sniffer.settimeout(1.0)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            p = sniffer.recv(65536)
        except TimeoutError:
            continue
        if p[12:14] != b"\x08\x00" or p[23] != 17:
            continue
        u = p[14 + (p[14] & 15) * 4 :]
        source, to = struct.unpack("!HH", u[:4])
        if to == port and (found := T.decode(u[8:])) and wanted(found):
            return source, found, u[8:]
    finish(True, "nothing was heard on loopback")


def forged(kind, found, sequence, tick, values=ZEROS, state=0, trip=0):
    # Without the token a stranger has no better key than another one.
    return T.encode(kind, 1, found["session"], sequence, 0, tick, 0, state, trip, values, b"another token")


def stop(loop, port, d, old):
    spoof(loop, port, forged(T.STOP, d, d["sequence"] + 1000, d["tick"], state=1, trip=9))


def bye(loop, port, d, old):
    spoof(loop, port, forged(T.BYE, d, d["sequence"] + 1000, d["tick"]))


def sequence_jump(loop, port, d, old):
    spoof(loop, port, forged(T.MEASURED, d, 2**64 - 1, 0))


def takeover(loop, port, d, old):
    x = d["values"][0][0]
    for k in range(600):
        x = min(0.09, x + 0.00015)
        spoof(loop, port, forged(T.COMMAND, d, d["sequence"] + 10**6 + k, d["tick"] + 6 + k, [[x], [0.15], [0.0]]))
        time.sleep(0.001)


def stop_to_the_loop(loop, port, d, old):
    spoof(port, loop, forged(T.STOP, d, 10**6, d["tick"], state=1, trip=3))


def false_measurements(loop, port, d, old):
    for k in range(300):
        spoof(port, loop, forged(T.MEASURED, d, 10**6 + k, d["tick"] + 10 + k, [[0.0], [50e3], [0.0]]))
        time.sleep(0.001)


def replayed(loop, port, d, old):
    for _ in range(300):
        spoof(loop, port, old)
        spoof(port, loop, old)
        time.sleep(0.001)


def blind(loop, port, d, old):
    for _ in range(5000):
        spoof(loop, port, forged(T.STOP, dict(d, session=random.getrandbits(64)), d["sequence"] + 1000, d["tick"], state=1, trip=9))


f, bad = toml(EX07.replace('"20 s"', '"4 s"', 1).replace("bridge    = 10 ", "bridge    = 1000 ").replace('"200 ms"', '"5 s"') + RT), []
for attack in (stop, bye, sequence_jump, takeover, stop_to_the_loop, false_measurements, replayed, blind):
    name = attack.__name__
    p, port = rig(f, name + "r")
    q = spawn("run", f, "--realtime", "--rig", f"127.0.0.1:{port}", "--out", f"{D}/{name}", "--json", out=name)
    loop, d, old = sniff(port, lambda d: d["kind"] == T.COMMAND and d["tick"] > 800)
    attack(loop, port, d, old)
    codes = end(q), end(p)
    trips = [record(out).summary["trip_text"] for out in (name, name + "r")]
    furthest = max(abs(column(record(name + "r"), "command.1")))
    print(f"{name}: exit codes {codes}, trips {trips}, command up to {1e3 * furthest:.1f} mm", flush=True)
    if trips != [None, None] or furthest > 0.02:
        bad.append(name)

# What a loop said once, repeated.
g = toml(EX07.replace('"20 s"', '"0.3 s"', 1).replace("bridge    = 10 ", "bridge    = 1000 ") + RT, "h")
p, port = rig(g, "h", once=False)


def session(out):
    return spawn("run", g, "--rig", f"127.0.0.1:{port}", "--out", f"{D}/{out}", "--json", out=out)


first = session("first")
_, _, hello = sniff(port, lambda d: d["kind"] == T.HELLO)
kept_out = int(end(first) == 1)
for rate in (100, 5000):
    over = [False]

    def repeat():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(("127.0.0.1", port))
        s.setblocking(False)
        while not over[0]:
            try:
                s.send(hello)
                while True:
                    s.recv(2048)
            except OSError:
                pass
            time.sleep(1 / rate)

    thread = threading.Thread(target=repeat)
    thread.start()
    codes = [end(session(f"s{rate}{k}")) for k in range(3)]
    kept_out += codes.count(1)
    over[0] = True
    thread.join()
    print(f"an old HELLO {rate} times a second: exit codes {codes}")
sessions = len([name for name in os.listdir(D) if re.fullmatch(r"h(-\d+)?", name)])
print(f"{sessions} sessions were opened (7 loops, and a folder that waits for the next)")
finish(bad or kept_out or sessions > 8, f"forged and repeated datagrams: {len(bad)} of 8 attacks did something {bad or ''}, {kept_out} of 7 loops were kept out")
