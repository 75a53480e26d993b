"""A goodbye in the middle of the ramp (a: by hand; b: a true loop over a wire that loses the commands of the ramp and lets the goodbye
pass): the laboratory goes what is left of the way to zero."""
from common_wire import *

f, left = toml(EX07), []


def judge(name, code):
    r = record(name)
    c, phase = column(r, "command.1")[-1], column(r, "phase")[-1]
    print(f"{name}: exit code {code}, session over with the rig at {1e3 * c:.2f} mm, phase {phase:.0f} (3 is safe)")
    if phase != 3 or abs(c) > 1e-4:
        left.append(abs(c))


for k in range(2):
    p, port = rig(f, f"a{k}")
    l = Loop(port).arm()
    l.answer()
    l.walk(0, 0.04)
    l.walk(0.04, 0.039, rate=0.02, state=1)
    l.bye(1)
    judge(f"a{k}", end(p))
g = toml(EX07.replace("bridge    = 10 ", "bridge    = 1000 ").replace('"line"', '"hold"').replace('hold = "0.5 s", rate = "20 mm/s"', 'hold = "0 s", rate = "100 mm/s"').replace('peak = "0.25 g"', 'peak = "0.5 g"') + RT, "b")
for k in range(2):
    p, port = rig(g, f"b{k}")
    cut = [False]

    def passes(found, there):
        if found["kind"] == T.COMMAND and found["tick"] > 4000 and abs(found["values"][0][0]) > 0.006:
            cut[0] = True
        return not cut[0] or (there and found["kind"] != T.COMMAND)

    wire = Wire(port, passes)
    q = spawn("run", g, "--realtime", "--rig", f"127.0.0.1:{wire.port}", "--out", f"{D}/bl{k}", "--json", out=f"bl{k}")
    print(f"loop: exit code {end(q)}, {record(f'bl{k}').summary['trip_text']}, its ramp {'lost' if cut[0] else 'not cut: it tripped before'}")
    judge(f"b{k}", end(p))
    wire.close()
finish(left, f"goodbye after a trip: {len(left)} of 4 sessions end with the rig up to {1e3 * max(left, default=0):.1f} mm away from zero")
