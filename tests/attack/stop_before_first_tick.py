"""A stop, or a stall, before tick 0 moves nothing: the rig stands at 3 mm and is not sent to zero in one tick.
(a) a virtual rig in the process; (b) a laboratory in another process; (c) the program stalled for 100 ms there."""
from common_safety import *

text = re.sub(r'duration = "8 s"', 'duration = "2 s"', EX12, count=1)
text = re.sub(r'\n(command +=)', r'\nrate = "0.5 m/s"\n\1', re.sub(r"\nrate +=[^\n]*m/s\"", "", text))
f, wired = toml(text + RT), toml(text + RT + '[rig]\ntoken = "bench 3"\n', "wired")
jumps = []


def steps(out):
    """The steps of the commands from where the rig stood, m."""
    r = record(out)
    c, m = column(r, "command.1"), column(r, "measured.1")
    return np.abs(np.diff(np.concatenate([m[:1], c]))) if len(c) else np.zeros(1)


def look(name, out, rc):
    largest = max(steps(out), default=0.0) if frames(out) else 0.0
    print(f"{name}: exit code {rc}, largest step in one tick {1e3 * largest:.3f} mm")
    if rc not in (0, 8, 10, 11) or largest > 1e-3:
        jumps.append(largest)


for k in range(3):
    p = spawn("run", f, "--realtime", "--out", f"{D}/a{k}", "--json", out=f"a{k}")
    wait_for(lambda: takes_signals(p) or p.poll() is not None)
    p.send_signal(signal.SIGINT)
    look(f"a{k}", f"a{k}", end(p))
for k in range(2):
    q, port = rig(wired, f"brig{k}")
    p = spawn("run", wired, "--realtime", "--rig", f"127.0.0.1:{port}", "--out", f"{D}/b{k}", "--json", out=f"b{k}")
    wait_for(lambda: takes_signals(p) or p.poll() is not None)
    time.sleep(0.1 * k)
    p.send_signal(signal.SIGINT)
    rc = end(p)
    q.send_signal(signal.SIGTERM)           # a session that was never armed leaves it listening
    end(q)
    look(f"b{k}, laboratory", f"brig{k}", rc)
for k in range(4):
    p = spawn("run", f, "--realtime", "--out", f"{D}/c{k}", "--json", out=f"c{k}")
    wait_for(lambda: takes_signals(p) or p.poll() is not None)
    time.sleep(k * 1e-3)
    p.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    p.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    look(f"c{k}, stalled", f"c{k}", end(p))
finish(jumps, f"stop before tick 0: {len(jumps)} runs with a step, largest {1e3 * max(jumps, default=0):.2f} mm in one tick")
