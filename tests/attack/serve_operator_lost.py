"""The host is killed while a test runs whose file says that it stops without its operator; then one whose file says that it is held."""
import glob

from common_serve import *

wrong = []
for then, expected in [("stop", "stopped"), ("hold", "held")]:
    with open(f"{FOLDER}/{then}.toml", "w") as file:
        file.write(TEXT + f'\n[host]\noperator_lost = "{then}"\nafter = "1 s"\n')
    host = Host()
    anna = Serve(host.operator)
    anna.take("Anna")
    anna.arm(f"{then}.toml", clock="real")
    anna.control("start")
    anna.wait("running", seconds=20)
    time.sleep(2)
    if anna.run()["state"] != "running":
        wrong.append("an operator who is there was lost")
    host.kill()
    begun = time.time()
    if then == "stop":
        there = wait_for(lambda: glob.glob(f"{FOLDER}/runs/stop-*/summary.json"), 30)
        print(f"{then}: over {time.time() - begun:.1f} s after the host")
        path = glob.glob(f"{FOLDER}/runs/stop-*/record.arrow")[0]
        summary = REC.load(path).summary
        lost = [event["text"] for event in summary["events"] if event["what"] == "operator"]
        print(lost)
        if not there or not any("no word of an operator" in text for text in lost):
            wrong.append("the test was not stopped, or does not say why")
    else:
        time.sleep(3)
        host = Host()
        ben = Serve(host.operator)
        state = ben.wait("held", "running", "over", seconds=20)["state"]
        if state != "held":
            state = ben.wait("held", seconds=5)["state"]
        print(f"{then}: {state} when a host comes back")
        ben.control("stop")
        ben.wait("over", seconds=60)
        host.kill()
finish(wrong, "; ".join(wrong) or "a test without its operator does what its file says")
