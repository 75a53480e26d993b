"""Ctrl-C at any moment while a test is prepared, armed or begun ends it with exit code 8: with nothing left behind, or with everything written; the
laboratory that it had reached serves the next loop."""
from common_wire import *

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

class Deaf(T.Target):
    """Welcomes a loop and never arms."""

    def arm(self, found, sender):
        self.asked = True


deaf = Deaf(T.Spring(1, 8e6), ("127.0.0.1", 0), 1000.0, 1, TOKEN)
deaf.asked = False
threading.Thread(target=lambda: deaf.serve(told=lambda line: None), daemon=True).start()
patient = toml(EX07.replace('"20 s"', '"60 s"', 1).replace("[rig]", '[rig]\nconnect   = "10 min"', 1) + RT, "patient")
for clock in ([], ["--realtime"]):
    deaf.asked, out = False, f"deaf{len(clock)}"
    p = spawn("run", patient, *clock, "--rig", f"127.0.0.1:{deaf.address[1]}", "--out", f"{D}/{out}", "--json", out=out)
    wait_for(lambda: deaf.asked or p.poll() is not None)
    begun = time.time()
    p.send_signal(signal.SIGINT)
    rc, left = end(p), os.path.isdir(f"{D}/{out}")
    print(f"while the laboratory does not arm{' in real time' if clock else ''}: exit code {rc} after {time.time() - begun:.2f} s, {'something' if left else 'nothing'} left behind")
    if rc != 8 or left:
        bad.append(out)
        print(err(out)[-300:])
short = call("run", wired, "--realtime", "--rig", f"127.0.0.1:{port}", "--set", 'duration="1 s"', "--out", f"{D}/next")
served = os.path.isdir(f"{D}/next") and set(os.listdir(f"{D}/next")) == WHOLE
print(f"the laboratory serves the next loop: {served}, exit code {short.returncode} {'' if served else short.stderr[-300:]}")
q.send_signal(signal.SIGTERM)
end(q)
finish(bad or not served, f"signals while preparing: {len(bad)} of 26 ended otherwise")
