"""A sensor runs away to 1 m (limits.command 100 mm): the measured displacement has a limit, also without tracking_error."""
from common_wire import *


class Runaway(T.Target):
    def report(self, tick, echo):
        x, force, achieved = self.rig.measure()
        self.send(T.MEASURED, tick, echo, ([x[0] + 1e-3 * tick], force, achieved))


bad = []
f = toml(EX07.replace('"20 s"', '"1 s"', 1).replace('"adaptive_inverse"', '"none"'))
for k in range(2):
    code = run_against(serve(Runaway, bridge=1000), f, f"o{k}")
    r = record(f"o{k}")
    furthest = max(abs(column(r, "measured.1")[column(r, "phase") == 0]), default=0)
    print(f"exit code {code}, measured up to {1e3 * furthest:.0f} mm while the loop was closed, trip {r.summary['trip_text']}")
    if code == 0 or furthest > 0.15:
        bad.append(furthest)
finish(bad, f"measured displacement: {len(bad)} of 2 tests went on beyond limits.command")
