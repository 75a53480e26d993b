"""Ctrl-C at the laboratory right behind the arming: the rig must not go on obeying."""
from common_wire import *

f, lost, N = toml(EX07), 0, 10
for k in range(N):
    p, port = rig(f, f"r{k}")
    l = Loop(port).arm()
    time.sleep(0.0002 * k)
    p.send_signal(signal.SIGINT)
    got = l.walk(0, 0.02) if l.answer(2) else []
    states = sorted({a["state"] for a in got})
    moved = max([abs(a["values"][0][0]) for a in got], default=0)
    l.bye()
    lost += states == [0] or moved > 0.01
    print(f"{k}: {len(got)} answers, states {states}, moved {1e3 * moved:.1f} mm afterwards, exit code {end(p)}")
finish(lost, f"stop of the laboratory: lost in {lost} of {N} sessions")
