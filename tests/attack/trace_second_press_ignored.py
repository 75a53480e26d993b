"""A second stop ends the hold, in `trace --realtime` as in `run --realtime`: the hold is 30 s long, and ends with the second press."""
from common_safety import *

HOLD_S = 30.0
text = example("09-iterative-linear").replace("[limits]", f'[limits]\nsafe = {{ hold = "{HOLD_S} s", rate = "50 mm/s" }}') + RT
trace = toml(text.replace('rate   = "10 kHz"', 'rate   = "2 kHz"'), "trace")
run = toml(EX07.replace('hold = "0.5 s"', f'hold = "{HOLD_S} s"').replace('"20 s"', '"300 s"', 1) + RT, "run")
bad = []
for name, arguments, frames in (("run", ("run", run, "--rig", "virtual"), "record.arrow"), ("trace", ("trace", trace), "frames.arrow")):
    path = f"{D}/{name}/{frames}"
    p = spawn(*arguments, "--realtime", "--out", f"{D}/{name}", out=name)
    size = lambda: os.path.getsize(path) if os.path.exists(path) else 0
    wait_for(lambda: size() > 0 or p.poll() is not None)
    begun = size()
    wait_for(lambda: size() > begun or p.poll() is not None)    # the first flush: it ticks
    if p.poll() is not None:
        finish(True, f"{name} was over before: {err(name)}")
    p.send_signal(signal.SIGINT)
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    rc = end(p)
    r = REC.load(path)
    held = column(r, "time")[column(r, "phase") == 1]
    held_s = held[-1] - held[0] if len(held) else 0.0
    print(f"{name}: exit code {rc}, held for {held_s:.2f} s of {HOLD_S} s, last phase {column(r, 'phase')[-1]:.0f}")
    if rc != 8 or not held_s < HOLD_S - 1 or column(r, "phase")[-1] != 3:
        bad.append(name)
finish(bad, f"second press: {len(bad)} of 2 commands held on")
