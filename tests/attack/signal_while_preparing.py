"""Ctrl-C at any moment while a test is prepared, armed or begun ends it with exit code 8: with nothing left behind, or with everything written; the
laboratory that it had reached serves the next loop."""
from common_safety import *

wired = toml(EX07.replace('"20 s"', '"60 s"', 1) + RT, "wired")
q, port = rig(wired, once=False)
WHOLE = {"record.arrow", "report.html", "summary.json"}
bad = []
for kind, more in (("wire", ["--realtime", "--rig", f"127.0.0.1:{port}"]), ("here", ["--realtime", "--rig", "virtual"]), ("rehearsal", ["--rig", "virtual"])):
    ends = []
    for k in range(8):
        out = f"{kind}{k}"
        p = spawn("run", wired, *more, "--out", f"{D}/{out}", "--json", out=out)
        wait_for(lambda: takes_signals(p) or p.poll() is not None)
        time.sleep(0.01 * k)
        p.send_signal(signal.SIGINT)
        rc = end(p)
        left = set(os.listdir(f"{D}/{out}")) if os.path.isdir(f"{D}/{out}") else None
        ends.append("nothing" if left is None else "everything" if left == WHOLE else str(left))
        if rc != 8 or left not in (None, WHOLE):
            bad.append(out)
            print(f"{out}: exit code {rc}, left {left}: {err(out)[-200:]}")
    print(f"{kind}: left behind {', '.join(ends)}")
short = call("run", wired, "--realtime", "--rig", f"127.0.0.1:{port}", "--set", 'duration="1 s"', "--out", f"{D}/next")
served = os.path.isdir(f"{D}/next") and set(os.listdir(f"{D}/next")) == WHOLE
print(f"the laboratory serves the next loop: {served}, exit code {short.returncode} {'' if served else short.stderr[-300:]}")
q.send_signal(signal.SIGTERM)
end(q)
finish(bad or not served, f"signals while preparing: {len(bad)} of 24 ended otherwise")
