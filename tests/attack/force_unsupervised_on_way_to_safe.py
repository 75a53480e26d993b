"""The load cell climbs by 1 MN/s (limits.force 400 kN) while the rig is on its way to safe: (a) in the laboratory, told to stop; (b) in
the loop of one process, tripped by its own gate. A force beyond its limit freezes the ramp."""
from common_wire import *

FAULT = '\n[[fault]]\nkind = "load_cell_drift"\nat = "0.3 s"\ndrift = "1000 kN"\n'
f = toml(EX07 + FAULT)
bad = []
for k in range(2):
    p, port = rig(f, f"a{k}")
    l = Loop(port).arm()
    l.answer()
    l.walk(0, 0.04, rate=0.4)
    l.send(T.STOP, l.tick)
    t0 = time.time()
    while time.time() - t0 < 4:
        l.command(0.04, state=1)
        l.answers(0.005)
    l.bye(1)
    code, r = end(p), record(f"a{k}")
    over = (abs(column(r, "force.1")) > 4e5) & (column(r, "phase") == 2)
    print(f"a{k}: exit code {code}, {over.sum()} ticks of the ramp beyond 400 kN, last command {1e3 * column(r, 'command.1')[-1]:.1f} mm")
    if over.sum() > 5:
        bad.append(over.sum())
text = EX07.replace('"20 s"', '"3 s"', 1).replace('peak = "0.25 g"', 'peak = "2 g"').replace('"100 mm"', '"4 mm"').replace('rate = "20 mm/s"', 'rate = "2 mm/s"')
p = spawn("run", toml(text + RT + FAULT.replace("0.3 s", "0.1 s"), "b"), "--realtime", "--accept-unstable", "--rig", "virtual", "--out", f"{D}/b", "--json", out="b")
code, r = end(p), record("b")
over = (abs(column(r, "force.1")) > 4e5) & (column(r, "phase") == 2)
print(f"b: exit code {code}, {r.summary['trip_text']}, {over.sum()} ticks of the ramp beyond 400 kN")
if over.sum() > 5:
    bad.append(over.sum())
finish(bad, f"force on the way to safe: {len(bad)} of 3 went on moving beyond limits.force 400 kN")
