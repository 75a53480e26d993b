"""A target that stands at 3 mm answers the arming with MEASURED of tick 1: a loop must not take it for tick 0, as zeros, and command
a step of 3 mm."""
from common_wire import *

text = EX12.replace('duration = "8 s"', 'duration = "0.5 s"').replace('reach = "5 mm", settle = "1 s"', 'reach = "5 mm", settle = "0.2 s"')
text = text.replace("[limits]", '[rig]\ntoken = "bench 3"\nconnect = "1 s"\n\n[limits]\nrate = "0.5 m/s"') + RT
f = toml(text)


class Rogue(T.Target):
    late, moves = True, None

    def reset(self):
        super().reset()
        self.held, self.received, self.rig.position = [0.003], [0.003], [0.003]

    def report(self, tick, echo):
        super().report(1 if self.late and self.tick == 0 else tick, echo)

    def command(self, found):
        before = self.rig.position[0]
        super().command(found)
        self.moves = self.moves or (before, self.rig.position[0])


bad = []
for late in (True, False):
    for more in (["--realtime"], []):
        t = Rogue(T.Spring(1, 5e5), ("127.0.0.1", 0), 1024.0, 1, TOKEN, bridge=1000)
        t.late = late
        threading.Thread(target=lambda: t.serve(once=True, told=lambda line: None), daemon=True).start()
        code = run_against(t, f, f"o{late}{len(more)}", *more)
        step = abs(t.moves[1] - t.moves[0]) if t.moves else 0.0
        print(f"arming answered with tick {int(late)} {more}: exit code {code}, first move {1e3 * step:.2f} mm")
        if step > 1e-3 or (late and t.moves):
            bad.append(step)
finish(bad, f"armed without a measurement: {len(bad)} of 4 runs moved, by up to {1e3 * max(bad, default=0):.2f} mm")
