//! What is built in: licences, sources, doubles, and where memory is not guarded by the compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts in a list of `deny.toml`, of the first of each row.
fn policy(list: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let begin = text.find(&format!("\n{list} = [")).unwrap_or_else(|| panic!("no {list}"));
    let rows = text[begin..].lines().skip(2).take_while(|row| *row != "]");
    rows.filter_map(|row| row.split('"').nth(1)).map(str::to_owned).collect()
}

/// Every package with its version and licence, as they are built for this machine; `None` where
/// the registry cannot be read offline.
fn packages() -> Option<Vec<(String, String, String)>> {
    let platform = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let host = Command::new("rustc").arg("-vV").output().ok()?;
    let host = String::from_utf8(host.stdout).ok()?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: "))?.to_owned();
    let words = ["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform"];
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let found =
        Command::new(cargo).args(words).args([&host, "--manifest-path", platform]).output().ok()?;
    let document: Value = serde_json::from_slice(&found.stdout).ok()?;
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let packages = document["packages"].as_array()?.iter();
    Some(
        packages
            .map(|one| (text(one, "name"), text(one, "version"), text(one, "license")))
            .collect(),
    )
}

/// Whether one of the alternatives that a licence expression offers is allowed.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let one_of = |term: &str| {
        let term = term.trim().trim_matches(['(', ')']);
        term.split(" OR ").flat_map(|one| one.split('/')).any(|one| allowed.contains(one.trim()))
    };
    !expression.is_empty() && expression.split(" AND ").all(one_of)
}

#[test]
fn the_words_of_a_licence_are_read_as_they_are_meant() {
    let allowed: BTreeSet<String> = ["MIT", "ISC"].map(str::to_owned).into();
    for good in ["MIT", "GPL-3.0 OR MIT", "(MIT OR X) AND ISC", "Unlicense/MIT"] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR X) AND GPL-3.0"] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

#[test]
fn what_is_built_in_keeps_the_policy() {
    let Some(packages) = packages() else {
        println!("skipped: the registry cannot be read offline");
        return;
    };
    let (allowed, denied) = (policy("allow"), policy("deny"));
    assert!(packages.len() > 100 && allowed.len() > 8 && denied.len() > 2);
    let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (name, version, licence) in &packages {
        assert!(is_allowed(licence, &allowed), "{name} {version}: licence {licence:?}");
        assert!(!denied.contains(name), "{name} is denied");
        versions.entry(name).or_default().insert(version);
    }
    let twice = versions.iter().filter(|(_, versions)| versions.len() > 1);
    let twice: BTreeSet<String> = twice.map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(twice, policy("skip"), "crates that are there twice");
}

#[test]
fn everything_comes_from_the_registry() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let source = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let strange: Vec<&str> =
        lock.lines().filter(|line| line.starts_with("source = ") && *line != source).collect();
    assert!(strange.is_empty(), "{strange:?}");
    let unchecked = lock.matches(source).count() - lock.matches("\nchecksum = ").count();
    assert_eq!(unchecked, 0, "without a checksum");
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// A crate without unsafe code says so to the compiler; the others give a reason at each place.
#[test]
fn unsafe_code_is_forbidden_where_none_is_needed_and_argued_elsewhere() {
    let mut needing = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let mut files = Vec::new();
        rust_files(&folder.join("src"), &mut files);
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                if ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|word| code.contains(word)) {
                    needing.insert(name.clone());
                    let argued = lines[at.saturating_sub(8)..at].iter();
                    let argued = argued.into_iter().any(|line| line.contains("SAFETY:"));
                    assert!(argued, "{}:{}: no reason", path.display(), at + 1);
                }
            }
        }
        let begin = ["lib.rs", "main.rs"].map(|file| folder.join("src").join(file));
        let begin = begin.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap();
        let forbidden = begin.contains("#![forbid(unsafe_code)]");
        assert_eq!(forbidden, !needing.contains(&name), "{name}");
    }
    assert_eq!(needing, ["cli", "numerics", "runtime"].map(str::to_owned).into());
}
