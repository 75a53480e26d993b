"""A peer asks for lock-step and a watchdog of an hour, or for one of an hour by the clock: the laboratory's own file decides
(`watchdog` 0.2 s, `patience` 5 s), and only what is stricter is granted."""
from common_wire import *

# A slow loop shall not trip the laboratory before it falls silent.
f, bad = toml(EX07.replace("bridge    = 10 ", "bridge    = 100000 ")), []
for name, modes, asked, most in (("lock-step", T.LOCK_STEP, 3600.0, 5.0), ("clock", T.PACED, 3600.0, 0.2), ("strict", T.PACED, 0.05, 0.05)):
    p, port = rig(f, name)
    l = Loop(port, modes=modes, patience_s=asked)
    told = l.welcome["watchdog_ns"] * 1e-9
    l.arm().answer()
    l.walk(0, 0.04)
    code = end(p)
    silent = json.load(open(f"{D}/{name}.out"))["sessions"][0]["silent_s"]
    print(f"{name}: asked for {asked} s, WELCOME says {told} s; the laboratory took over after {silent} s, exit code {code}")
    if told > most or silent is None or silent < 0.9 * most or silent > 60:
        bad.append(name)
finish(bad, f"watchdog: {len(bad)} of 3 peers got a laxer one than the laboratory's file allows {bad or ''}")
