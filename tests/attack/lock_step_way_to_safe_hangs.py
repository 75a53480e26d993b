"""In lock-step a loop whose laboratory is killed on the way to safe does not wait for it tick by tick: `timeout` 1 s, 60 000 ticks of hold."""
from common_safety import *

text = EX07.replace('"20 s"', '"300 s"', 1).replace('hold = "0.5 s"', 'hold = "60 s"').replace("bridge    = 10 ", 'timeout = "1 s"\nbridge    = 10 ')
f = toml(text)
slow = 0
for k in range(2):
    p, port = rig(f, f"r{k}")
    q = spawn("run", f, "--rig", f"127.0.0.1:{port}", "--out", f"{D}/o{k}", "--json", out=f"o{k}")
    wait_for(lambda: frames(f"o{k}") > 200_000 or q.poll() is not None)
    p.send_signal(signal.SIGSTOP)
    time.sleep(0.05)
    q.send_signal(signal.SIGINT)            # the stop finds the loop waiting
    time.sleep(0.05)
    p.send_signal(signal.SIGCONT)
    time.sleep(0.005)
    p.kill()
    p.wait()
    rc = end(q)
    print(f"{k}: operator's stop, then the laboratory is killed: exit code {rc}")
    slow += rc == "KILLED"
finish(slow, f"way to safe in lock-step without a laboratory: {slow} of 2 loops hang")
