"""The description of the API and the routes are the same; a public validator accepts it, where Python has one."""
from common_serve import *

host = Host()
wrong = []
status, _, body = host.raw("GET", "/api/openapi.json")
described = json.loads(body)
METHODS = ("get", "put", "post", "delete")
count = 0
for path, item in described["paths"].items():
    real = re.sub(r"\{(\w+)\}", lambda name: {"action": "start"}.get(name.group(1), "x"), path)
    for method in METHODS:
        found = host.raw(method.upper(), real)[0]
        count += method in item
        # Whoever has no token learns that there is something, and nothing of it. A word in a path may
        # be an action of its own, which takes no other method.
        expected = (401,) if method in item else (405, 401, 404)
        if found not in expected:
            wrong.append(f"{method} {path}: {found}")
        if method not in item and found == 401:
            others = [other for other in described["paths"] if re.fullmatch(re.sub(r"\{\w+\}", ".+", other), real) and method in described["paths"][other]]
            if not others:
                wrong.append(f"{method} {path} is not described")
for path in ["/api/nothing", "/api/run/x/y", "/api"]:
    found = host.raw("GET", path)[0]
    if found != 404:
        wrong.append(f"{path}: {found}")
names = {name.rsplit("/", 1)[1] for name in re.findall(r'"\$ref": "([^"]+)"', json.dumps(described))}
missing = names - set(described["components"]["schemas"])
if missing:
    wrong.append(f"schemas that are named and not there: {sorted(missing)}")
print(f"{count} requests under {len(described['paths'])} paths")
try:
    from openapi_spec_validator import validate
    validate(described)
    print("a public validator accepts the description")
except ImportError:
    print("skipped: python3 has no openapi_spec_validator")
host.kill()
finish(wrong, "; ".join(wrong) or "every request is described and every description is a request")
