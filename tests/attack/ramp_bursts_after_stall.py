"""The laboratory's process is stopped for 2 s on its way to safe: the missed part of the ramp must not follow at once. Position by the
laboratory's own clock, from its answers."""
from common_wire import *

f, worst = toml(EX07), 0.0
for k in range(3):
    p, port = rig(f, f"r{k}")
    l = Loop(port).arm()
    l.answer()
    l.walk(0, 0.045)
    l.send(T.STOP, l.tick)
    seen = []

    def watch(seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            l.command(0.045, state=1)
            seen.extend((a["time_ns"] * 1e-9, a["values"][0][0]) for a in l.answers(0.002))

    watch(1.0)
    p.send_signal(signal.SIGSTOP)
    for _ in range(20):
        time.sleep(0.1)
        l.command(0.045, state=1)
    p.send_signal(signal.SIGCONT)
    watch(1.0)
    l.bye(1)
    code = end(p)
    t, x = np.array(seen).T
    i = int(np.argmax(np.diff(t)))  # the stall
    j = min(np.searchsorted(t, t[i + 1] + 0.05), len(t) - 1)
    speed = (x[i] - x[j]) / (t[j] - t[i + 1])
    worst = max(worst, speed)
    print(f"{k}: stalled {t[i + 1] - t[i]:.2f} s; {1e3 * x[i]:.1f} mm before, {1e3 * x[j]:.1f} mm {1e3 * (t[j] - t[i + 1]):.0f} ms after it went on: {speed:.3f} m/s; exit code {code}")
finish(worst > 0.1, f"ramp after a stall of 2 s: {worst:.3f} m/s (safe.rate 0.020 m/s, limits.rate 1 m/s)")
