"""Shared by the attacks on `twinrig serve`: a folder with an experiment, a host, requests by hand."""
import http.client, json, socket

from common_safety import *
from twinrig_serve import Refused, Serve

FOLDER = D + "/served"
os.makedirs(FOLDER, exist_ok=True)
TEXT = example("02-shear-building").replace('duration    = "30 s"', 'duration = "120 s"') + RT
with open(FOLDER + "/frame.toml", "w") as file:
    file.write(TEXT)


class Host:
    """A host of this folder, and its two addresses."""

    def __init__(self, *more):
        self.process = spawn("--json", "serve", FOLDER, "--listen", "127.0.0.1:0", *more, out="serve")
        said = lambda: open(f"{D}/serve.out").read()
        if not wait_for(lambda: said().endswith("\n") or self.process.poll() is not None) or not said():
            finish(True, "no host: " + err("serve"))
        told = json.loads(said())
        self.operator, self.viewer = told["operator"], told["viewer"]
        self.fingerprint = told["fingerprint"]
        self.port = int(told["address"].rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def raw(self, method, path, token=None, body=None, patience=20, **headers):
        """Status, headers and bytes of a request as it stands."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            given["Authorization"] = "Bearer " + token
        try:
            link.request(method, path, body, given)
            answer = link.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            link.close()


def token(address):
    return address.rsplit("#token=", 1)[1]


def refused(call, *arguments, **more):
    """Status and code of a refusal; (200, None) where there is none."""
    try:
        call(*arguments, **more)
    except Refused as refusal:
        return refusal.status, refusal.code
    return 200, None
