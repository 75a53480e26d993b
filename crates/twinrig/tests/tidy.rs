//! The house rules that a machine can check.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

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
            if ["numerics", "model", "analysis", "runtime", "twinrig"].contains(&key) {
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
    assert_eq!(dependencies("model"), ["numerics"]);
    assert_eq!(dependencies("analysis"), ["model", "numerics"]);
    assert_eq!(dependencies("runtime"), ["model", "numerics"]);
    assert_eq!(dependencies("twinrig"), ["analysis", "model", "numerics", "runtime"]);
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
        if let Err(found) = twinrig::experiment::Experiment::from_path(&path) {
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
