"""In virtual time, too, patience ends the wait for the first sample of a streamed load: with a virtual rig, with a laboratory, and by the clock."""
from common_tcp import *

streamed = '[excitation]\nground = { streamed = { bound = "0.5 g" } }\nstream = { rate = "256 Hz", buffer = "2 s", prefill = "0.5 s", bridge = "50 ms", patience = "2 s" }\n\n'
text = re.sub(r"\[excitation\]\n(?:.*\n)*?\n", streamed, EX12, count=1)
text = text.replace('stop_at = "100 %"', 'stop_at = "100 %", constant = "10 J"').replace("[limits]", '[rig]\ntoken = "bench 3"\ntimeout = "1 s"\n\n[limits]')
f = toml(text + RT)
waiting = []
for kind, wired, more in (("rehearsal", False, []), ("laboratory", True, []), ("by the clock", False, ["--realtime"])):
    out = kind.replace(" ", "")
    address = "virtual"
    if wired:
        q, port = rig(f, out + "rig")
        address = f"127.0.0.1:{port}"
    p = spawn("run", f, "--rig", address, *more, "--host=127.0.0.1:0", "--token-file", D + "/tok", "--out", f"{D}/{out}", "--json", out=out)
    rc = end(p)
    print(f"{kind}: exit code {rc}; {record(out).summary['trip_text'] if rc == 4 else err(out)}")
    if rc != 4:
        waiting.append(kind)
    if wired:
        print("   the laboratory:", end(q), record(out + "rig").summary["trip_text"])
finish(waiting, f"wait for the first load: {len(waiting)} of 3 still wait behind a patience of 2 s {waiting or ''}")
