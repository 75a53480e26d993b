//! Files that were once judged wrongly, and what is said of them now: `docs/known-cases.md`.
//! `TWINRIG_BLESS=1` writes the page again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::Lab;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/known-cases.md");
const FOLDERS: [&str; 2] = ["random_loops/cases", "known_cases"];
const HEAD: &str = "# Known cases

Files that twinrig once judged wrongly, and what `check` and `run` say of them now. The files are in
`crates/cli/tests/all/random_loops/cases` and `crates/cli/tests/all/known_cases`; a test compares this page with the program.
A tick that is too slow for the machine at hand is left out. The second table has the files that show their defect in
another study, from `crates/cli/tests/all/known_studies`; their first lines name it.

| file | what it is | `check` | `run` |
|---|---|---|---|
";

/// Studies whose answer is right now, and called so; no other may be.
const RIGHT: [&str; 11] = [
    "id-auto-order-with-delay",
    "id-fractional-delay",
    "id-margin",
    "id-pi-lead",
    "reduce-34-alike",
    "reduce-cb-zero-mass",
    "reduce-five-alike",
    "reduce-floating-bar",
    "reduce-six-alike",
    "reduce-worst-below-held",
    "sweep-two-rates",
];
const STUDIES: &str = "known_studies";
const HEAD_OF_STUDIES: &str = "
| file | what it is | study | what is said |
|---|---|---|---|
";

fn files(folders: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all");
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

/// Rows of the studies that are neither `check` nor `run`.
fn studies(page: &mut String) {
    page.push_str(HEAD_OF_STUDIES);
    let lab = Lab::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all").join(STUDIES);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        lab.write(&path.file_name().unwrap().to_string_lossy(), std::fs::read(&path).unwrap());
    }
    for path in files(&[STUDIES]) {
        let text = std::fs::read_to_string(&path).unwrap();
        let (call, title) = text[2..].lines().next().unwrap().split_once(": ").unwrap();
        let file = path.file_name().unwrap().to_string_lossy();
        let name = path.file_stem().unwrap().to_string_lossy();
        let mut words: Vec<&str> = call.split(' ').collect();
        words.push(&file);
        if words[0] != "reduce" {
            words.extend(["--out", &name]);
        }
        let (level, said) = said(&lab, &words);
        assert_eq!(level == "sound", RIGHT.contains(&name.as_ref()), "{name}: {said}");
        let _ = writeln!(page, "| {name} | {title} | `{call}` | {} |", bare(&said));
    }
}

/// Level and findings in a few words.
fn said(lab: &Lab, call: &[&str]) -> (String, String) {
    let found = lab.twinrig([&["--json"], call].concat()).json();
    let refused = |why: &str| ("refused".to_owned(), format!("refused: {why}"));
    if let Some(error) = found["error"].as_str() {
        return refused(error);
    }
    if found["verdict"].is_null() {
        let error =
            found["diagnostics"].as_array().unwrap().iter().find(|d| d["severity"] == "error");
        return refused(error.unwrap()["message"].as_str().unwrap());
    }
    let verdict = &found["verdict"];
    let of_machine =
        |reason: &&Value| reason["id"] != "does_not_fit" && reason["id"] != "late_ticks";
    let reasons = verdict["reasons"].as_array().unwrap().iter().filter(of_machine);
    let ids: Vec<&str> = reasons.map(|reason| reason["id"].as_str().unwrap()).collect();
    let level = if ids.is_empty() { "sound" } else { verdict["level"].as_str().unwrap() };
    let words =
        if ids.is_empty() { level.to_owned() } else { format!("{level}: {}", ids.join(", ")) };
    (level.to_owned(), words)
}

#[test]
fn known_cases_are_judged_as_the_page_says() {
    let (lab, mut page) = (Lab::new(), HEAD.to_owned());
    for path in files(&FOLDERS) {
        let text = std::fs::read_to_string(&path).unwrap();
        lab.write("case.toml", &text);
        let (checked, check) = said(&lab, &["check", "case.toml"]);
        let (ran, run) = said(&lab, &["run", "case.toml", "--out", "out"]);
        // What is predicted is in the record: a run is never better than its forecast, but for a
        // forecast that cannot be borne out.
        assert!(checked != "unsafe" || ran == "unsafe", "{}: {check} | {run}", path.display());
        let title = text.lines().find(|line| line.starts_with("title")).unwrap_or_default();
        let title = title.split('"').nth(1).unwrap_or_default();
        let name = path.file_stem().unwrap().to_string_lossy();
        let _ = writeln!(page, "| {name} | {title} | {} | {} |", bare(&check), bare(&run));
    }
    studies(&mut page);
    if std::env::var_os("TWINRIG_BLESS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap();
    assert_eq!(written, page, "TWINRIG_BLESS=1 writes the page again");
}

/// Without what would end a cell.
fn bare(text: &str) -> String {
    text.replace('|', "\\|")
}
