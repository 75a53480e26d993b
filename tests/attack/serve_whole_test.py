"""A whole test from outside: arm, start, see curves, hold, resume, kill the host, find the test again, stop it without the control."""
from common_serve import *

host = Host()
wrong = []


def wants(what, found, expected):
    print(f"{what}: {found}")
    if found != expected:
        wrong.append(f"{what}: {found} instead of {expected}")


anna = Serve(host.operator)
anna.take("Anna")
seen = {"curves": 0, "kinds": set(), "phases": []}


def look():
    try:
        for news in Serve(host.viewer).live():
            if isinstance(news, dict):
                seen["kinds"].add(news["kind"])
                if news["kind"] == "event" and news["what"] == "phase":
                    seen["phases"].append(news["text"])
            else:
                seen["curves"] += 1
                seen["last"] = news
    except (OSError, struct_error):
        pass


import struct
struct_error = struct.error
threading.Thread(target=look, daemon=True).start()
wants("arm what was not prepared", refused(anna.ask, "POST", "/api/run/arm", {"prepared": "x"}), (409, "changed"))
run = anna.arm("frame.toml", clock="real")
wants("armed", (run["state"], run["can"]), ("armed", ["start", "stop"]))
time.sleep(0.5)
wants("the load waits", anna.run()["state"], "armed")
wants("one at a time", refused(anna.ask, "POST", "/api/run/arm", {"prepared": "x"}), (409, "busy"))
anna.control("start")
run = anna.wait("running", seconds=20)
time.sleep(1)
anna.control("hold")
run = anna.wait("held", seconds=20)
wants("held", (run["phase"], "resume" in run["can"]), (8, True))
time.sleep(0.5)
anna.control("resume")
anna.wait("running", seconds=20)
time.sleep(0.5)
print(f"messages of curves: {seen['curves']}, kinds {sorted(seen['kinds'])}, phases {seen['phases']}")
number, times, each = seen["last"]
if seen["curves"] < 20 or "use.command" not in each or not {"hello", "run", "event"} <= seen["kinds"]:
    wrong.append("the live stream lacks something")
host.kill()
time.sleep(1)
begun = time.time()
host = Host()
ben = Serve(host.operator)
again = ben.wait("running", seconds=20)
wants("found again", again["id"], run["id"])
print(f"found after {time.time() - begun:.2f} s, at {again['time_s']:.2f} s of the test")
begun = time.time()
pressed = [host.raw("POST", "/api/run/stop", ben.token, b"{}", Content_Type="application/json", X_Twinrig_Press="one")]
answered = time.time() - begun
# Sent again, as if the answer had been lost.
pressed.append(host.raw("POST", "/api/run/stop", ben.token, b"{}", Content_Type="application/json", X_Twinrig_Press="one"))
wants("pressed once, without the control", [(status, json.loads(answer)["presses"]) for status, _, answer in pressed], [(200, 1)] * 2)
over = ben.wait("over", seconds=60)
print(f"stop answered after {1e3 * answered:.1f} ms")
wants("trip", over["trip"]["text"], "stopped by the operator")
record = ben.ask("GET", f"/api/records/{over['record']}")
events = [event for event in record["events"] if event["what"] == "operator"]
print([event["text"] for event in events])
for text in ["the load is let begin, by Anna", "hold, by Anna", "the test goes on after a hold, by Anna", "stop, by an operator without the lease"]:
    if not any(text in event["text"] for event in events):
        wrong.append(f"the record does not say: {text}")
held = [reason for reason in over["verdict"]["reasons"] if reason["id"] == "held"]
wants("the verdict says that it was held", len(held), 1)
loaded = REC.load(f"{FOLDER}/runs/{over['record']}/record.arrow")
phase = loaded.table["phase"].to_numpy()
command = loaded.table["command.1"].to_numpy()
still = command[phase == 8]
wants("the command stood still", (len(still) > 50, float(np.ptp(still))), (True, 0.0))
steps = np.abs(np.diff(command[(phase == 0) | (phase == 8)]))
usual = np.abs(np.diff(command[phase == 0])).max()
wants("no step of the command by hold and resume", bool(steps.max() <= usual * 1.0000001), True)
reference, numerical = (loaded.table[name].to_numpy() for name in ("reference.interface.1", "desired.1"))
at = phase == 0
wants("the reference waits as well", bool(np.isnan(reference[phase == 8]).all() and np.isfinite(reference[at]).all()), True)
study = ben.ask("POST", "/api/studies", {"kind": "check", "path": "frame.toml"})
done = lambda: ben.ask("GET", f"/api/studies/{study['id']}")["state"] not in ("queued", "running")
wait_for(done, 120)
study = ben.ask("GET", f"/api/studies/{study['id']}")
wants("a study", (study["state"], study["result"]["stability"]), ("done", "stable"))
page = ben.ask("GET", f"/api/records/{over['record']}/page")["url"]
status, headers, body = host.raw("GET", page)
wants("the report", (status, b"<html" in body, "sandbox" in headers["Content-Security-Policy"]), (200, True, True))
wants("the report again", host.raw("GET", page)[0], 404)
host.kill()
finish(wrong, "; ".join(wrong) or "a whole test, held, found again and stopped")
