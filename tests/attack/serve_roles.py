"""Who may do what: without a token, with a wrong or an old one, as a viewer, without the control, as a second operator."""
from common_serve import *

host = Host()
base = host.operator.split("/#")[0]
anna, ben, viewer = Serve(host.operator), Serve(host.operator), Serve(host.viewer)
wrong = []


def wants(what, found, expected):
    print(f"{what}: {found}")
    if found != expected:
        wrong.append(f"{what}: {found} instead of {expected}")


READ = ["/api/session", "/api/experiments", "/api/files", "/api/run", "/api/studies", "/api/records", "/api/schema", "/api/files/frame.toml"]
for path in READ:
    wants(f"no token, {path}", host.raw("GET", path)[0], 401)
    wants(f"viewer, {path}", refused(viewer.ask, "GET", path), (200, None))
wants("no token, live", host.raw("GET", "/api/live")[0], 401)
wants("wrong token", refused(Serve(base, "0" * 32).ask, "GET", "/api/session"), (401, "wrong_token"))
for method, path, body in [
    ("POST", "/api/lease", {"name": "x"}), ("PUT", "/api/files/new.toml", {"text": "", "version": None}),
    ("POST", "/api/studies", {"kind": "check", "path": "frame.toml"}), ("POST", "/api/run/stop", {}),
    ("POST", "/api/run/prepare", {"path": "frame.toml", "clock": "real"}), ("POST", "/api/run/hold", {}),
]:
    wants(f"viewer, {method} {path}", refused(viewer.ask, method, path, body), (403, "viewer"))
for path in ["prepare", "arm", "start", "hold", "resume", "clear"]:
    wants(f"without control, {path}", refused(anna.ask, "POST", f"/api/run/{path}", {}), (403, "lease_needed"))
anna.take("Anna")
wants("Ben while Anna has control", refused(ben.ask, "POST", "/api/lease", {"name": "Ben"}), (409, "lease_held"))
wants("asked by", anna.ask("GET", "/api/session")["lease"]["asked_by"], "Ben")
anna.ask("POST", "/api/lease/give")
wants("Anna after giving", refused(anna.ask, "POST", "/api/run/prepare", {"path": "frame.toml", "clock": "virtual"}), (403, "lease_needed"))
ben.take("Ben")
wants("Ben's", ben.ask("GET", "/api/session")["lease"]["holder"], "Ben")
wants("start of nothing", refused(ben.control, "start"), (409, "wrong_state"))
host.kill()
host = Host("--fresh-tokens")
wants("an old token", refused(Serve(host.operator.split("/#")[0], ben.token).ask, "GET", "/api/session"), (401, "wrong_token"))
host.kill()
finish(wrong, "; ".join(wrong) or "every role may what it may")
