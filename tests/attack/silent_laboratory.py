"""In lock-step a laboratory that is killed, says senseless things or falls silent after a trip is waited for once, not at every tick of
the way to safe."""
from common_wire import *

f, bad = toml(EX07), []
p, port = rig(f, "r")
q = spawn("run", f, "--rig", f"127.0.0.1:{port}", "--out", f"{D}/killed", "--json", out="killed")
wait_for(lambda: frames("killed") > 100_000)
p.kill()
t0 = time.time()
code = end(q)
print(f"killed: exit code {code} {time.time() - t0:.1f} s later, {record('killed').summary['trip_text']}")
if code == "KILLED" or time.time() - t0 > 30:
    bad.append("killed")
g = toml(EX07.replace('"20 s"', '"0.3 s"', 1), "g")


class Rogue(T.Target):
    mode, done = None, False

    def send(self, kind, tick, echo, values):
        if self.mode != "stop" and kind == T.MEASURED and tick > 60:
            return
        if kind != T.MEASURED or tick != 50 or self.done:
            return super().send(kind, tick, echo, values)
        self.done = True
        if self.mode == "nan":
            return super().send(kind, tick, echo, [[math.nan]] * 3)
        state, self.state, self.trip = self.state, 2 if self.mode == "state" else 1, 3
        super().send(T.STOP if self.mode == "stop" else kind, tick, echo, values)
        self.state, self.trip = state, 0


for mode in ("nan", "state", "stop"):
    t = serve(Rogue)
    t.mode, t0 = mode, time.time()
    code = run_against(t, g, mode, patience=40)
    took = time.time() - t0
    trip = record(mode).summary["trip_text"] if code != "KILLED" else None
    print(f"{mode}: exit code {code} after {took:.1f} s, {trip}")
    if code != 4 or took > 35:
        bad.append(mode)
finish(bad, f"silent laboratory: {len(bad)} of 4 kept the loop waiting {bad or ''}")
