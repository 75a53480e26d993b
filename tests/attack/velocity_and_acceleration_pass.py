"""Commands that stand still, with a velocity or an acceleration that drives a rig on which is fed forward by them: they
are held to limits.rate (1 m/s) as displacements are."""
from common_wire import *

f = toml(re.sub(r"\[transfer_system\](?:.*\n)*?\n", '[transfer_system]\nkind = "delay"\nsamples = 2\n\n', EX07, count=1))
bad = []
for k, (v, a) in enumerate([(0, 0), (20, 0), (0, 1000)] * 2):
    p, port = rig(f, f"r{k}")
    loop = Loop(port).arm()
    loop.answer()
    for _ in range(200):
        loop.command(0.0, v=v, a=a)
        time.sleep(0.001)
    got = loop.answers(0.1)
    loop.bye()
    end(p)
    r = record(f"r{k}")
    force = max(abs(column(r, "force.1")), default=0) / 1e3
    trip = r.summary["trip_text"]
    print(f"200 commands of 0 mm, {v} m/s, {a} m/s2: states {sorted(set(x['state'] for x in got))}, force up to {force:.1f} kN, trip {trip}")
    if bool(v or a) != (trip is not None):
        bad.append((v, a, force))
finish(bad, f"velocity and acceleration: {len(bad)} of 4 sessions passed, 20 m/s where limits.rate is 1 m/s, force up to {max([b[2] for b in bad], default=0):.0f} kN at 0 mm")
