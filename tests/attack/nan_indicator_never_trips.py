"""One wrong but finite force sample makes an indicator no number: it trips at its levels."""
from common_wire import *

text = EX07.replace('"20 s"', '"0.5 s"', 1).replace('stability_warning = { warn_at = "50 %", stop_at = "100 %" }', 'forecast = { hold_below = "1 s" }')
f = toml(text[: text.index("[limits]")])


class Glitch(T.Target):
    size = 0.0

    def report(self, tick, echo):
        x, force, achieved = self.rig.measure()
        self.send(T.MEASURED, tick, echo, (x, [self.size] if tick == 100 else force, achieved))


bad = 0
for k, size in enumerate([1e150, 1e165, 1e200]):
    t = serve(Glitch, bridge=1000)
    t.size = size
    code = run_against(t, f, f"o{k}", "--without-limits")
    if not os.path.exists(f"{D}/o{k}/record.arrow"):
        finish(True, "no record: " + err(f"o{k}"))
    print(f"a force of {size:.0e} N at tick 100: exit code {code}, trip {record(f'o{k}').summary['trip_text']}")
    bad += code == 0
finish(bad, f"indicator without a number: {bad} of 3 tests ended with exit code 0")
