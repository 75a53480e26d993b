"""A way to safe that nobody would wait for is refused in the file, on both ends; it used to end at once with the rig called safe."""
from common_safety import *

taken = 0
for rate in ("1 um/s", "0.1 um/s", "1e-300 m/s"):
    f = toml(EX07.replace('rate = "20 mm/s"', f'rate = "{rate}"'))
    for words in (["check"], ["run", "--realtime", "--rig", "virtual"], ["rig", "--listen", "127.0.0.1:0", "--once"]):
        r = call(words[0], f, *words[1:], *([] if words == ["check"] else ["--out", f"{D}/o"]))
        why = [line for line in r.stderr.splitlines() if "safe" in line or "rate" in line]
        print(f"safe.rate {rate}, {words[0]}: exit code {r.returncode}, {why[0].strip() if why else r.stderr[-200:]}")
        taken += r.returncode != 3
finish(taken, f"slow safe rates: {taken} of 9 calls took one")
