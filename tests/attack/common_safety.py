"""Shared by the attacks: the program, its records, and the last line.
Each script attacks running programs on loopback and ends with `OK …`, or with `DEFECT …` and exit code 1.
TWINRIG is the program, TWINRIG_ROOT the project."""
import json, math, os, re, shutil, signal, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("TWINRIG_ROOT", os.path.join(HERE, "../.."))
BIN = os.environ.get("TWINRIG", ROOT + "/target/debug/twinrig")
sys.path.insert(0, ROOT + "/python")
import numpy as np
import twinrig_record as REC

D = tempfile.mkdtemp(prefix="attack-")


def example(name):
    """The experiment file of an example."""
    return open(f"{ROOT}/examples/{name}/experiment.toml").read()


EX07, EX12 = example("07-two-processes"), example("12-phases-and-host")
# A busy machine shall not end a test: overruns are not what is attacked.
RT = "\n[realtime]\noverrun_limit = 1000000\n"
STARTED = []


def toml(text, name="e"):
    f = f"{D}/{name}.toml"
    with open(f, "w") as file:
        file.write(text)
    return f


def spawn(*arguments, out="p"):
    with open(f"{D}/{out}.out", "w") as o, open(f"{D}/{out}.err", "w") as e:
        p = subprocess.Popen([BIN, *arguments], stdout=o, stderr=e)
    STARTED.append(p)
    return p


def call(*arguments, patience=120):
    return subprocess.run([BIN, *arguments], capture_output=True, text=True, timeout=patience)


def err(out):
    return open(f"{D}/{out}.err").read()


def wait_for(what, seconds=60):
    """Until something is there; whether it came."""
    until = time.time() + seconds
    while time.time() < until:
        if what():
            return True
        time.sleep(0.01)
    return False


def rig(f, out="rig", once=True, patience=60):
    """A laboratory: the process and its port."""
    shutil.rmtree(f"{D}/{out}", ignore_errors=True)
    p = spawn("rig", f, "--listen", "127.0.0.1:0", "--out", f"{D}/{out}", "--json", *(["--once"] if once else []), out=out)
    listening = lambda: re.search(r"listening at \S+:(\d+)", err(out))
    if not wait_for(lambda: listening() or p.poll() is not None, patience) or not listening():
        finish(True, "no laboratory: " + err(out))
    return p, int(listening().group(1))


def takes_signals(p):
    """Whether a signal is the operator's stop already."""
    try:
        caught = re.search(r"SigCgt:\s*(\w+)", open(f"/proc/{p.pid}/status").read())
        return int(caught.group(1), 16) & (1 << (signal.SIGINT - 1)) != 0
    except (OSError, AttributeError):
        return False


def frames(out):
    """Bytes of a record so far."""
    path = f"{D}/{out}/record.arrow"
    return os.path.getsize(path) if os.path.exists(path) else 0


def record(out):
    return REC.load(f"{D}/{out}/record.arrow")


def column(r, name):
    return r.table[name].to_numpy()


def end(p, patience=120):
    try:
        return p.wait(patience)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        return "KILLED"


def finish(defect, text):
    for p in STARTED:
        if p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(D, ignore_errors=True)
    print(("DEFECT " if defect else "OK ") + text, flush=True)
    os._exit(1 if defect else 0)
