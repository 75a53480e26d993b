#!/usr/bin/env python3
"""Do the tests notice? A sample of mutants, all in one build (docs/mutants.md).

    cargo install cargo-mutants                        # for its list of mutants only
    .ci/mutants.py build FOLDER --seed 1 [--take 1.1]  # a copy with all of them, built once
    .ci/mutants.py run FOLDER [--jobs 2]               # each by its tests; goes on where it stopped
    .ci/mutants.py table FOLDER                        # what was noticed

A function with sampled mutants is written as `match mutant_number() { 17 => its body with
mutant 17, _ => its body }`, the number being read from the environment. Mutants that do not
compile are taken out by the compiler's errors. Functions that are `const` or give an
`impl Trait` cannot be written like this and are left out of the sample.
"""

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# What is mutated (package, files, names), how many of them, and the tests that are run, nearest
# first: (program, filters of its tests; `-name` leaves tests out).
ANALYSIS = [
    ("analysis lib", ["loop_stability"]),
    ("analysis all", ["oracle"]),
    ("analysis all", ["-oracle"]),
    ("cli all", ["random_loops"]),
]
FORMS = [
    ("numerics lib", ["linear_system"]),
    ("runtime all", ["linear_forms"]),
    ("model lib", []),
    ("analysis all", ["oracle"]),
]
TICK = [
    ("runtime lib", ["gate", "interlock", "tick", "clock", "driver", "operator", "stop"]),
    ("runtime all", ["gate_limits", "way_to_safe", "driver_limits", "operator", "phases"]),
    ("runtime all", ["two_rates", "driver::", "scenarios", "planned_change", "indicators", "world"]),
    ("runtime lib", ["-gate", "-interlock", "-clock"]),
    ("runtime all", ["-gate_limits", "-way_to_safe", "-driver_limits", "-two_rates", "-python", "-killed"]),
]
FORM = "linear_form|predicted_forms|feedback_form"
PLACES = [f"{name}.rs" for name in "gate interlock tick clock realtime/driver stop operator".split()]
AREAS = {
    "loop": ("analysis", ["loop_stability/*.rs"], "", 80, ANALYSIS),
    "systems": ("numerics", ["linear_system/*.rs"], "", 25, FORMS),
    "forms": ("model", ["**/*.rs"], FORM, 25, FORMS),
    "tick": ("runtime", PLACES, "", 70, TICK),
}
NUMBER = """
#[doc(hidden)]
#[inline]
pub fn mutant_number() -> u32 {
    static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *NUMBER.get_or_init(|| std::env::var("MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0))
}
"""


def sample(tree, seed, take):
    """Every k-th mutant in the order of files and lines, from a drawn start."""
    found, left_out = [], Counter()
    for area, (package, files, name, count, _) in AREAS.items():
        command = ["cargo", "mutants", "--list", "--json", "-p", f"twinrig-{package}"]
        command += [word for file in files for word in ("-f", f"crates/{package}/src/{file}")]
        listed = json.loads(subprocess.run(command, cwd=tree, check=True, stdout=subprocess.PIPE).stdout)
        listed = [mutant for mutant in listed if mutant["function"] and re.search(name, mutant["name"])]
        listed.sort(key=lambda m: (m["file"], m["span"]["start"]["line"], m["span"]["start"]["column"], m["replacement"]))
        stride = len(listed) / min(len(listed), take * count)
        at = random.Random(f"{seed} {area}").uniform(0, stride)
        while at < len(listed):
            mutant = listed[int(at)]
            at += stride
            text = (tree / mutant["file"]).read_text()
            start = offset(text, mutant["function"]["span"]["start"])
            body = opening(text, start)
            if re.search(r"\bconst fn\b", text[start:body]) or "impl" in mutant["function"]["return_type"]:
                left_out[mutant["file"]] += 1
            else:
                found.append({**mutant, "area": area, "number": len(found) + 1})
    print(f"{len(found)} sampled; left out, const or impl: {dict(left_out)}")
    return found


def offset(text, place):
    """Of a line and a column, both from 1."""
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: place["line"] - 1]) + place["column"] - 1


def opening(text, start):
    """The brace that opens the body of the function that begins at `start`."""
    skipped = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.S)
    at, depth = start, 0
    while True:
        if match := skipped.match(text, at):
            at = match.end()
            continue
        if text[at] in "([":
            depth += 1
        elif text[at] in ")]":
            depth -= 1
        elif text[at] == "{" and depth == 0:
            return at
        at += 1


def rewrite(tree, mutants):
    """Writes the switches of all mutants; gives the lines of each: file -> [(first, last, number)],
    with number 0 for a whole function."""
    lines = defaultdict(list)
    files = defaultdict(lambda: defaultdict(list))
    for mutant in mutants:
        span = mutant["function"]["span"]
        files[mutant["file"]][json.dumps(span)].append(mutant)
    for file, functions in files.items():
        subprocess.run(["git", "checkout", "-q", "--", file], cwd=tree, check=True)
        text = (tree / file).read_text()
        place = lambda span: (offset(text, span["start"]), offset(text, span["end"]))
        pieces, copied = [], 0
        for span, own in sorted(functions.items(), key=lambda item: place(json.loads(item[0]))):
            start, end = place(json.loads(span))
            body = opening(text, start)
            if body < copied:
                continue  # within a function that is written already
            pieces.append(text[copied:body] + "{ match crate::mutant_number() {\n")
            line = lambda: 1 + sum(piece.count("\n") for piece in pieces)
            whole = line()
            for mutant in own:
                first, last = place(mutant["span"])
                first_line = line()
                changed = mutant["replacement"] + " " if mutant["genre"] != "FnValue" else f"{{ {mutant['replacement']} }}"
                pieces.append(f"{mutant['number']}u32 => {text[body:first]}{changed}{text[last:end]}\n")
                lines[file].append((first_line, line() - 1, mutant["number"]))
            pieces.append(f"_ => {text[body:end]}\n}} }}")
            lines[file].append((whole, line(), 0))
            copied = end
        (tree / file).write_text("".join(pieces) + text[copied:])
    for package in {AREAS[mutant["area"]][0] for mutant in mutants}:
        library = f"crates/{package}/src/lib.rs"
        subprocess.run(["git", "checkout", "-q", "--", library], cwd=tree, check=True)
        with (tree / library).open("a") as out:
            out.write(NUMBER)
    return lines


def cargo(tree, *arguments):
    """Messages of cargo, and whether it went well."""
    command = ["cargo", *arguments, "--message-format", "json"]
    done = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.returncode == 0


def refused(messages, lines):
    """Numbers of the mutants in which the compiler finds errors."""
    numbers = set()
    for message in messages:
        if message["reason"] != "compiler-message" or message["message"]["level"] != "error":
            continue
        spans = [span for span in message["message"]["spans"] if span["is_primary"]]
        for span in spans:
            file, line = span["file_name"], span["line_start"]
            hit = [n for first, last, n in lines.get(file, []) if first <= line <= last and n]
            if not hit:
                sys.exit(f"not in a mutant: {message['message']['rendered']}")
            numbers.update(hit)
    return numbers


def build(folder, seed, take):
    tree = folder / "tree"
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", ".", tree], check=True)
    mutants = sample(tree, seed, take)
    sampled = Counter(mutant["area"] for mutant in mutants)
    name = lambda packages: [word for package in sorted(packages) for word in ("-p", f"twinrig-{package}")]
    mutated = name({package for package, *_ in AREAS.values()})
    tested = name({program.split()[0] for *_, stages in AREAS.values() for program, _ in stages})
    lines = rewrite(tree, mutants)
    written = {number for own in lines.values() for *_, number in own}
    mutants = [mutant for mutant in mutants if mutant["number"] in written]
    while True:
        messages, well = cargo(tree, "check", "--keep-going", *mutated)
        if well:
            messages, well = cargo(tree, "test", "--no-run", *tested)
        if well:
            break
        unviable = refused(messages, lines)
        if not unviable:
            sys.exit("cargo fails without an error in a mutant")
        print(f"{len(unviable)} do not compile")
        mutants = [mutant for mutant in mutants if mutant["number"] not in unviable]
        lines = rewrite(tree, mutants)
    programs = {}
    for message in messages:
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            package = Path(message["manifest_path"]).parent.name
            target = "lib" if "lib" in message["target"]["kind"] else message["target"]["name"]
            programs[f"{package} {target}"] = message["executable"]
    viable = Counter(mutant["area"] for mutant in mutants)
    print("viable of sampled:", {area: f"{viable[area]}/{n}" for area, n in sampled.items()})
    (folder / "plan.json").write_text(json.dumps({"seed": seed, "mutants": mutants, "programs": programs}, indent=1))


def tests(tree, program, filters, number, limit_s):
    """Runs tests until the first failure: what failed, or None. `limit_s` is for the whole run."""
    only, skipped = [f for f in filters if f[0] != "-"], [f[1:] for f in filters if f[0] == "-"]
    command = ["nice", "-n", "5", program, "--test-threads", "1", *only]
    command += [word for name in skipped for word in ("--skip", name)]
    memory = lambda: resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    run = subprocess.Popen(
        command, cwd=tree, env={**os.environ, "MUTANT": str(number)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace",
        start_new_session=True, preexec_fn=memory,
    )
    late = threading.Event()
    end = lambda: os.killpg(run.pid, signal.SIGKILL)
    timer = threading.Timer(limit_s, lambda: (late.set(), end()))
    timer.start()
    failed, last = None, ""
    for line in run.stdout:
        if line.startswith("test ") and "..." in line:
            last = line.split()[1]
        if failed is None and re.search(r"^test .*FAILED$|^test result: FAILED|\.\.\. FAILED|^FAILED$", line.rstrip()):
            failed = last
            end()
    code = run.wait()
    timer.cancel()
    return f"time: {last}" if late.is_set() else failed or (f"code {code}: {last}" if code else None)


def run(folder, jobs):
    tree, plan = folder / "tree", json.loads((folder / "plan.json").read_text())
    results = folder / "results.jsonl"
    done = {json.loads(line)["number"] for line in results.read_text().splitlines()} if results.exists() else set()
    limits = {}
    for *_, stages in AREAS.values():
        for program, filters in stages:
            began = time.monotonic()
            package, key = program.split()[0], f"{program} {filters}"
            if key not in limits:
                failed = tests(tree / "crates" / package, plan["programs"][program], filters, 0, 1800)
                if failed:
                    sys.exit(f"{key} fails without a mutant: {failed}")
                limits[key] = 60 + 5 * (time.monotonic() - began)
                print(f"{key}: {time.monotonic() - began:.1f} s")

    def one(mutant):
        began = time.monotonic()
        for program, filters in AREAS[mutant["area"]][-1]:
            package, key = program.split()[0], f"{program} {filters}"
            noticed = tests(tree / "crates" / package, plan["programs"][program], filters, mutant["number"], limits[key])
            if noticed:
                break
        spent = round(time.monotonic() - began, 1)
        with results.open("a") as out:
            by = f"{program}: {noticed}" if noticed else None
            out.write(json.dumps({"number": mutant["number"], "by": by, "s": spent}) + "\n")
        print(f"{mutant['number']:4} {spent:6.1f} s  {mutant['name']}: {by or 'NOT NOTICED'}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, [mutant for mutant in plan["mutants"] if mutant["number"] not in done]))


def table(folder):
    plan = json.loads((folder / "plan.json").read_text())
    by = {r["number"]: r["by"] for r in map(json.loads, (folder / "results.jsonl").read_text().splitlines())}
    files = defaultdict(list)
    for mutant in plan["mutants"]:
        if mutant["number"] in by:
            files[mutant["file"]].append(by[mutant["number"]])
            files["all"].append(by[mutant["number"]])
    print("| file | viable | noticed | of them by time |\n|---|---|---|---|")
    for file, found in sorted(files.items()):
        noticed = [b for b in found if b]
        print(f"| {file} | {len(found)} | {len(noticed)} | {sum(' time:' in b for b in noticed)} |")
    for mutant in plan["mutants"]:
        if mutant["number"] in by and not by[mutant["number"]]:
            print(f"- {mutant['number']}: {mutant['name']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "run", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--take", type=float, default=1.15, help="of the numbers in AREAS")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if given.what == "build":
        build(folder, given.seed, given.take)
    elif given.what == "run":
        run(folder, given.jobs)
    else:
        table(folder)


if __name__ == "__main__":
    main()
