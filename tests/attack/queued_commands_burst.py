"""Commands that waited (a stalled laboratory, a wire that held them) do not act at once: the rate is limited in time, by the
laboratory's clock. (a) 100 commands of 0.9 mm sent at once; (b) a true loop, the laboratory's process stopped for 90 ms."""
from common_wire import *

LIMIT, worst = 1.0, 0.0


def fastest(seen):
    """Fastest motion over 4 ms and more by the laboratory's clock, from its answers: clock in ns, displacement."""
    t, x = np.array(seen).T if seen else (np.zeros(1), np.zeros(1))
    t, j = 1e-9 * (t - t[0]), np.searchsorted(1e-9 * (t - t[0]), 1e-9 * (t - t[0]) + 0.004)
    i = np.flatnonzero(j < len(t))
    return max(abs(x[j[i]] - x[i]) / (t[j[i]] - t[i]), default=0.0)


f = toml(EX07)
for k in range(3):
    p, port = rig(f, f"a{k}")
    l = Loop(port).arm()
    l.answer()
    for i in range(1, 100):
        l.command(0.0009 * i)
    got = l.answers(0.3)
    l.bye()
    end(p)
    v, r = fastest([(a["time_ns"], a["values"][0][0]) for a in got]), record(f"a{k}")
    steps = max(abs(np.diff(column(r, "command.1"))), default=0.0)
    worst = max(worst, v / LIMIT, steps / (1e-3 * LIMIT))
    print(f"a{k}: {len(got)} answers, {v:.2f} m/s by the clock, {1e3 * steps:.3f} mm a tick, against {LIMIT} m/s; trip {r.summary['trip_text']}")
LIMIT_B = 0.4
text = EX07.replace("bridge    = 10 ", "bridge    = 100 ").replace('"20 s"', '"8 s"', 1).replace('peak = "0.25 g"', 'peak = "0.5 g"').replace('"1 m/s"', '"0.4 m/s"').replace('"line"', '"hold"')
g = toml(text + RT, "b")
for k in range(2):
    p, port = rig(g, f"b{k}")
    last, seen = [0, 0.0], []

    def passes(found, there):
        if found["kind"] == T.COMMAND:
            last[:] = found["tick"], found["values"][1][0]
        if found["kind"] == T.MEASURED:
            seen.append((found["time_ns"], found["values"][0][0]))
        return True

    wire = Wire(port, passes)
    q = spawn("run", g, "--realtime", "--accept-unstable", "--rig", f"127.0.0.1:{wire.port}", "--out", f"{D}/bl{k}", "--json", out=f"bl{k}")
    wait_for(lambda: q.poll() is not None or (last[0] > 2500 and abs(last[1]) > (0.15 if last[0] < 6000 else 0.05)))
    p.send_signal(signal.SIGSTOP)
    time.sleep(0.09)
    p.send_signal(signal.SIGCONT)
    codes = end(q), end(p)
    wire.close()
    v, steps = fastest(seen), max(abs(np.diff(column(record(f"b{k}"), "command.1"))))
    worst = max(worst, v / LIMIT_B, steps / (1e-3 * LIMIT_B))
    print(f"b{k}: stalled at tick {last[0]}, {v:.3f} m/s by the clock, {1e3 * steps:.3f} mm a tick, against {LIMIT_B} m/s; exit codes {codes}, {record(f'b{k}').summary['trip_text']}")
finish(worst > 1.5, f"queued commands: up to {worst:.3f} of limits.rate by the laboratory's clock")
