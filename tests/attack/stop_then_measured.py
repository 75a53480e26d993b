"""A STOP of the laboratory stays, whether MEASURED of state 0 comes before it or behind it."""
from common_wire import *

f, lost = toml(PATIENT.replace('"20 s"', '"0.3 s"', 1)), []


class Rogue(T.Target):
    order, done = None, False

    def send(self, kind, tick, echo, values):
        if kind != T.MEASURED or tick != 100 or self.done:
            return super().send(kind, tick, echo, values)
        self.done = True
        for what in self.order:
            self.state, self.trip = (1, 3) if what == T.STOP else (0, 0)
            super().send(what, tick, echo, values)
        self.state, self.trip = 0, 0


for order in ((T.STOP, T.MEASURED), (T.MEASURED, T.STOP)):
    for more in ([], ["--realtime"]):
        for k in range(3):
            t = serve(Rogue, bridge=100000)
            t.order = order
            out = f"o{order[0]}{len(more)}{k}"
            code = run_against(t, f, out, *more)
            trip = record(out).summary["trip_code"]
            print(f"{['STOP first', 'MEASURED first'][order[0] == T.MEASURED]} {more}: exit code {code}, trip {trip}")
            if (code, trip) != (4, 23):
                lost.append(out)
finish(lost, f"stop beside a measurement: lost in {len(lost)} of 12 runs")
