//! The house rules that a machine can check.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The crates of this project, below the command line.
const CRATES: [&str; 9] = [
    "numerics",
    "keys",
    "keys-derive",
    "model",
    "analysis",
    "runtime",
    "experiment",
    "twinrig",
    "host",
];

/// The workspace crates that a manifest depends on outside its tests.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = read(&format!("crates/{name}/Cargo.toml"));
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
        } else if inside {
            let key = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if CRATES.contains(&key) {
                found.push(key.to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn dependencies_run_in_one_direction() {
    assert_eq!(dependencies("numerics"), Vec::<String>::new());
    assert_eq!(dependencies("keys-derive"), Vec::<String>::new());
    assert_eq!(dependencies("keys"), ["keys-derive"]);
    assert_eq!(dependencies("model"), ["keys", "numerics"]);
    assert_eq!(dependencies("analysis"), ["model", "numerics"]);
    assert_eq!(dependencies("runtime"), ["keys", "model", "numerics"]);
    assert_eq!(dependencies("experiment"), ["keys", "model", "numerics", "runtime"]);
    assert_eq!(dependencies("twinrig"), ["analysis", "experiment", "model", "numerics", "runtime"]);
    assert_eq!(
        dependencies("cli"),
        ["analysis", "experiment", "host", "model", "numerics", "runtime", "twinrig"]
    );
    assert_eq!(dependencies("host"), ["experiment", "model", "runtime", "twinrig"]);
}

/// Everything in backquotes or link targets that looks like a path of the project.
fn named_paths(text: &str) -> Vec<String> {
    let tops = [
        "crates",
        "docs",
        "examples",
        "golden",
        "benches",
        "python",
        ".ci",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "README.md",
    ];
    let mut paths = Vec::new();
    for piece in text.split(['`', '(', ')', ' ', '\n', '"']) {
        let piece = piece.split('#').next().unwrap_or_default();
        let piece = piece.trim_end_matches(['/', '.', ',', ':']);
        let first = piece.split('/').next().unwrap_or_default();
        if tops.contains(&first) && !piece.contains(['*', '…', '<']) {
            paths.push(piece.to_owned());
        }
    }
    paths
}

#[test]
fn every_path_named_in_the_documents_exists() {
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let paths = named_paths(&read(document));
        assert!(!paths.is_empty(), "{document} names no path: the search is broken");
        for path in paths {
            assert!(root().join(&path).exists(), "{document} names {path}, which does not exist");
        }
    }
}

/// The Markdown files in a folder and below.
fn pages(folder: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root().join(folder)).expect("the folder can be read") {
        let path = entry.expect("its entry can be read").path();
        let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            pages(&name, found);
        } else if name.ends_with(".md") {
            found.push(PathBuf::from(name));
        }
    }
}

/// A page without its blocks of code.
fn prose(text: &str) -> String {
    text.split("\n```").step_by(2).collect()
}

/// Targets of the links of a page that lead to other files of the project, or within it.
fn links(text: &str) -> Vec<String> {
    let targets = prose(text);
    let targets = targets.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.starts_with("http")).map(str::to_owned).collect()
}

/// What a code host calls the headings of a page.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let name = |line: &str| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    let kept = |c: &char| c.is_alphanumeric() || *c == '-' || *c == '_';
    headings.map(|line| name(line).chars().filter(kept).collect()).collect()
}

#[test]
fn no_link_is_dead_and_every_page_is_in_the_book() {
    let mut found = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(PathBuf::from).to_vec();
    pages("docs", &mut found);
    pages("examples", &mut found);
    assert!(found.len() > 40, "the search is broken");
    let mut in_the_book = vec![root().join("docs/README.md").canonicalize().unwrap()];
    for page in &found {
        let text = read(page.to_str().unwrap());
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = root().join(page.parent().unwrap());
            let target = if file.is_empty() { root().join(page) } else { folder.join(file) };
            let target = target.canonicalize();
            let target =
                target.unwrap_or_else(|error| panic!("{}: {link}: {error}", page.display()));
            let there = anchor.is_empty()
                || anchors(&fs::read_to_string(&target).unwrap()).contains(&anchor.to_owned());
            assert!(there, "{}: {link}: no such heading", page.display());
            if page.starts_with("docs") && page.ends_with("README.md") {
                in_the_book.push(target);
            }
        }
    }
    for page in found.iter().filter(|page| page.starts_with("docs")) {
        let path = root().join(page).canonicalize().unwrap();
        assert!(in_the_book.contains(&path), "docs/README.md does not list {}", page.display());
    }
}

/// What stands behind each mark of a test.
fn tests_of(code: &str) -> impl Iterator<Item = &str> {
    code.split("#[test]").skip(1).map(str::trim_start)
}

/// Every test that the page on safety names is there: a function, or an attack.
#[test]
fn every_branch_of_the_fault_tree_has_its_test() {
    let page = read("docs/safety.md");
    let rows = page.lines().skip_while(|line| *line != "## Fault tree");
    let rows: Vec<&str> = rows.filter(|line| line.starts_with("| ")).skip(1).collect();
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    let code: String = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(rows.len() > 20, "the search is broken");
    for row in rows {
        let tests: Vec<&str> =
            row.rsplit(" | ").next().unwrap().split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "{row}: no test");
        for test in tests {
            let named = format!("fn {test}(");
            let function = tests_of(&code).any(|body| body.starts_with(&named));
            let attack = root().join("tests/attack").join(test).with_extension("py").exists();
            assert!(function || attack, "{test} is no test");
        }
    }
}

/// The README's list of exit codes is tested against `--help`.
#[test]
fn the_exit_codes_of_the_book_are_those_of_the_readme() {
    let rows = |path: &str| -> Vec<String> {
        let text = read(path);
        let table = text.lines().skip_while(|line| !line.starts_with("| exit code |")).skip(2);
        let row = |line: &str| line.split('|').take(3).collect::<Vec<_>>().join("|");
        table.take_while(|line| line.starts_with('|')).map(row).collect()
    };
    let readme = rows("README.md");
    assert_eq!(readme.len(), 14);
    assert_eq!(rows("docs/command-line.md"), readme);
}

#[test]
fn every_example_is_listed_and_explains_itself() {
    let readme = read("README.md");
    let mut count = 0;
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(readme.contains(&format!("examples/{name}")), "README does not list {name}");
        assert!(read(&format!("examples/{name}/experiment.toml")).contains("title"));
        assert!(read(&format!("examples/{name}/README.md")).contains("```text"));
        count += 1;
    }
    assert!(count >= 3);
}

#[test]
fn every_example_reads_without_error() {
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path().join("experiment.toml");
        if let Err(found) = experiment::Experiment::from_path(&path) {
            panic!("{found}");
        }
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entry can be read").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn files_stay_readable_and_begin_with_what_they_are() {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    assert!(files.len() > 50);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} has no module documentation", path.display());
        let lines = text.lines().count();
        assert!(lines <= 650, "{} has {lines} lines: split it", path.display());
    }
}

/// The text of a file without comments and without its test modules; the names
/// of test modules that are files of their own are put into `tests`.
fn product_code(text: &str, tests: &mut Vec<String>) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            code.push_str(line.split("//").next().unwrap_or_default());
            code.push('\n');
            continue;
        }
        let item = lines.next().unwrap_or_default();
        if let Some(name) = item.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            tests.push(format!("{name}.rs"));
        } else if item.ends_with('{') {
            let indent = item.len() - item.trim_start().len();
            let end = format!("{:indent$}}}", "");
            lines.by_ref().find(|line| *line == end);
        }
    }
    code
}

/// The modules that a piece of code names behind `crate::`.
fn named_modules(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let word = |text: &str| -> String {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => found.push(word(rest)),
            Some(group) => {
                // One entry at each start of a path of the group's own level.
                let (mut depth, mut begins) = (0, true);
                for (at, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => begins = true,
                        c if begins && c.is_alphanumeric() => {
                            found.push(word(&group[at..]));
                            begins = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

/// Which modules in a folder name which others there, outside their tests: by `crate::` in the
/// folder of a crate, and by as many `super::` as lead there.
fn module_uses(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let source = root().join("crates").join(folder);
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let module = |path: &Path| {
        let first = path.strip_prefix(&source).unwrap().components().next().unwrap();
        first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
    };
    let modules: BTreeSet<String> = files.iter().map(|path| module(path)).collect();
    let mut tests = vec!["lib.rs".to_owned(), "main.rs".to_owned()];
    let parent = source.join("mod.rs");
    files.retain(|path| *path != parent);
    let way = |path: &Path| {
        let below = path.strip_prefix(&source).unwrap();
        let depth = below.components().count() - usize::from(below.ends_with("mod.rs"));
        "super::".repeat(depth)
    };
    let codes: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|path| {
            let code = product_code(&fs::read_to_string(&path).unwrap(), &mut tests);
            (path, code)
        })
        .collect();
    let mut uses = BTreeMap::new();
    for (path, code) in codes {
        if tests.contains(&path.file_name().unwrap().to_str().unwrap().to_owned()) {
            continue;
        }
        let own = module(&path);
        let named = named_modules(&code.replace(&way(&path), "crate::")).into_iter();
        let others = named.filter(|other| *other != own && modules.contains(other));
        uses.entry(own.clone()).or_insert_with(BTreeSet::new).extend(others);
    }
    uses
}

/// A way from a module back to itself, if there is one.
fn cycle(uses: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn search(
        uses: &BTreeMap<String, BTreeSet<String>>,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        let now = path.last().cloned().unwrap_or_default();
        if let Some(at) = path[..path.len() - 1].iter().position(|module| *module == now) {
            path.drain(..at);
            return true;
        }
        for next in uses.get(&now).into_iter().flatten() {
            if done.contains(next) {
                continue;
            }
            path.push(next.clone());
            if search(uses, path, done) {
                return true;
            }
            path.pop();
        }
        done.insert(now);
        false
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| {
        let mut path = vec![module.clone()];
        (!done.contains(module) && search(uses, &mut path, &mut done)).then_some(path)
    })
}

/// Folders whose modules form no cycle: all crates, but for the derive with its few modules.
const WITHOUT_CYCLES: [&str; 9] = [
    "numerics/src",
    "keys/src",
    "model/src",
    "analysis/src",
    "runtime/src",
    "experiment/src",
    "twinrig/src",
    "host/src",
    "cli/src/command",
];

#[test]
fn modules_of_a_crate_form_no_cycle() {
    for name in WITHOUT_CYCLES {
        let uses = module_uses(name);
        let named: usize = uses.values().map(BTreeSet::len).sum();
        assert!(uses.len() > 5 && named > 5, "{name}: the search is broken");
        if let Some(path) = cycle(&uses) {
            panic!("modules of {name} form a cycle: {}", path.join(" → "));
        }
    }
}

/// What runs inside the tick, beside the rig at the end of a wire.
const TICKING: [&str; 22] = [
    "tick.rs",
    "source.rs",
    "open_loop.rs",
    "gate.rs",
    "interlock.rs",
    "frame.rs",
    "measured.rs",
    "event.rs",
    "tap.rs",
    "load.rs",
    "numerical.rs",
    "hybrid_loop.rs",
    "hybrid_loop",
    "monitor",
    "periodic",
    "streamed_load.rs",
    "two_rate",
    "laboratory/mod.rs",
    "rig/virtual_rig.rs",
    "rig/shaken.rs",
    "rig/fault.rs",
    "rig/late_force.rs",
];

/// Whether code has a way to the system in its hands: a name of it, or the world.
fn reaches_the_system(code: &str) -> Option<String> {
    let names = ["thread", "time", "fs", "net", "io", "process", "env"];
    let mut ways: Vec<String> = names.iter().map(|name| format!("std::{name}")).collect();
    ways.extend(["std::{", "Mutex", "RwLock", "Condvar", "libc", "println!"].map(str::to_owned));
    let outside = named_modules(code).into_iter().find(|name| name == "world" || name == "system");
    outside.or_else(|| ways.into_iter().find(|way| code.contains(way)))
}

#[test]
fn what_ticks_has_no_way_to_the_system() {
    let (mut tests, mut files) = (Vec::new(), Vec::new());
    for name in TICKING {
        let path = root().join("crates/runtime/src").join(name);
        if path.is_dir() { rust_files(&path, &mut files) } else { files.push(path) }
    }
    let codes: Vec<_> = files
        .into_iter()
        .map(|path| (product_code(&fs::read_to_string(&path).unwrap(), &mut tests), path))
        .collect();
    for (code, path) in codes {
        if tests.iter().all(|test| !path.ends_with(test)) {
            assert_eq!(reaches_the_system(&code), None, "{}", path.display());
        }
    }
    for code in ["use std::time::Instant;", "use crate::{gate, world::Clock};", "Mutex<f64>"] {
        assert!(reaches_the_system(code).is_some(), "{code}");
    }
}

#[test]
fn the_search_for_cycles_finds_what_it_should() {
    let code = "use crate::a::b;\nuse crate::{c::{d, e}, f};\nlet x = crate::g::h(); // crate::i\n";
    let text = format!("{code}#[cfg(test)]\nmod tests {{\n    use crate::j::k;\n}}\n");
    let mut tests = Vec::new();
    assert_eq!(named_modules(&product_code(&text, &mut tests)), ["a", "c", "f", "g"]);
    let uses = |pairs: &[(&str, &str)]| {
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in pairs {
            uses.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        uses
    };
    assert_eq!(cycle(&uses(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    let found = cycle(&uses(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")])).unwrap();
    assert_eq!(found, ["b", "c", "d", "b"]);
}
