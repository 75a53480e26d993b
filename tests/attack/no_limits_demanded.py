"""A rig in real time, or at the end of a wire, has limits of command, rate and force, or it is not moved: `check` names them, `run`, `rig`,
`identify` and `trace` refuse."""
from common_safety import *

text = EX07[: EX07.index("[limits]")] + RT
f = toml(text)
check = call("check", f)
named = all(f"`{key}`" in check.stdout + check.stderr for key in ("command", "rate", "force"))
print(f"check: exit code {check.returncode}, names what is missing: {named}")
allowed = 0
for words in (["run", "--realtime", "--rig", "virtual"], ["run", "--rig", "127.0.0.1:9"], ["rig", "--listen", "127.0.0.1:0", "--once"], ["identify", "--realtime"], ["trace", "--realtime"]):
    r = call(words[0], f, *words[1:], "--out", f"{D}/o")
    refused = r.returncode == 3 and "[limits] bounds no" in r.stderr and not os.path.exists(f"{D}/o")
    print(f"{' '.join(words)}: exit code {r.returncode}, {'refused' if refused else r.stderr[-200:]}")
    allowed += not refused
finish(allowed or not named, f"no [limits]: {allowed} of 5 ways to move a rig are open")
