//! Files that are read as parts of an experiment.

use std::io;

use super::super::closed_loop::TransferKind;
use super::super::{Diagnostic, Diagnostics, Experiment, Source};
use super::{BASE, FILES};

/// A source with a few texts beside the usual files.
pub(super) struct Library(pub(super) Vec<(&'static str, String)>);

impl Source for Library {
    fn size(&self, name: &str) -> io::Result<u64> {
        self.read(name).map(|bytes| bytes.len() as u64)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match self.0.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Ok(text.clone().into_bytes()),
            None if FILES.contains(&name) => Ok(Vec::new()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

const FUNCTION: &str = "# identified\n[transfer_system]\nkind = \"transfer_function\"\n\
                        numerator = [5.163e6]\ndenominator = [1, 530.8, 8.899e4, 5.44e6]\n";

fn read(
    include: &str,
    old: &str,
    new: &str,
    library: &[(&'static str, &str)],
) -> Result<(Experiment, Diagnostics), Diagnostics> {
    assert!(BASE.contains(old));
    let text = format!("include = {include}\n{}", BASE.replacen(old, new, 1));
    let library = Library(library.iter().map(|(name, text)| (*name, (*text).to_owned())).collect());
    Experiment::from_text("test.toml", &text, &library)
}

const IDEAL: &str = "[transfer_system]\nkind = \"ideal\"\n";

#[test]
fn an_included_table_is_as_good_as_a_written_one() {
    let (found, _) = read("[\"a.toml\"]", IDEAL, "", &[("a.toml", FUNCTION)]).unwrap();
    let TransferKind::TransferFunction { numerator, .. } = &found.transfer_system.kind else {
        panic!("{:?}", found.transfer_system)
    };
    assert_eq!(numerator, &[5.163e6]);
    assert_eq!(found.files(), ["a.toml", "kobe.csv"], "the record must embed it");
    // Tables of the same name are joined, a mark at the beginning does no harm.
    let marked = "\u{feff}".to_owned() + FUNCTION;
    let kept = "[transfer_system]\nquantum = \"1 um\"\n";
    let (found, _) = read("[\"a.toml\"]", IDEAL, kept, &[("a.toml", &marked)]).unwrap();
    assert_eq!(found.transfer_system.quantum_m, Some(1e-6));
    // Findings of later checks are placed in the file they are about.
    let placed = found.place("transfer_system.numerator", Diagnostic::error("e"));
    let mut all = found.diagnostics();
    all.push(placed);
    let text = all.to_string();
    assert!(text.contains("--> a.toml:4:13\n   |  numerator = [5.163e6]\n"), "{text}");
    assert!(found.span("integrator.rate").is_some());
}

#[test]
fn a_file_may_include_a_file() {
    let (found, _) = read(
        "[\"a.toml\"]",
        IDEAL,
        "",
        &[("a.toml", "include = [\"b.toml\"]\nseed = 9\n"), ("b.toml", FUNCTION)],
    )
    .unwrap();
    assert_eq!(found.seed, 9);
    assert_eq!(found.files(), ["a.toml", "b.toml", "kobe.csv"]);
}

#[track_caller]
fn refused(include: &str, old: &str, new: &str, library: &[(&'static str, &str)], says: &[&str]) {
    let found = read(include, old, new, library).expect_err("an error");
    let text = found.to_string();
    for words in says {
        assert!(text.contains(words), "\"{words}\" is not said:\n{text}");
    }
    for item in found.to_json().as_array().unwrap() {
        assert!(item["line"].is_u64(), "{item}");
    }
}

#[test]
fn what_is_wrong_names_the_file_and_line() {
    let a = |text: &'static str| [("a.toml", text)];
    let include = "[\"a.toml\"]";
    refused(
        include,
        "",
        "",
        &a(FUNCTION),
        &["`transfer_system.kind` is given twice", "--> a.toml:3:1", "or at test.toml:19:1"],
    );
    refused(include, "", "", &a("title = \"x\""), &["`title` is given twice", "a.toml:1:1"]);
    refused(
        include,
        "",
        "",
        &a("[sensors]\nforce_noise = 3\n"),
        &["3 has no unit", "--> a.toml:2:15\n   |  force_noise = 3\n"],
    );
    refused(include, "", "", &a("\n[sensors\n"), &["not valid TOML", "--> a.toml:2:9"]);
    refused(include, "", "", &a("[sensorss]\n"), &["unknown key `sensorss`", "a.toml:1:"]);
    refused(include, "", "", &[], &["no file \"a.toml\"", "--> test.toml:1:12"]);
    refused("\"a.toml\"", "", "", &[], &["not a list of file names", "test.toml:1:11"]);
    refused("[3]", "", "", &[], &["not a list of file names"]);
    refused("[\"kobe.csv\"]", "", "", &[], &["include files that end in .toml"]);
    refused("[\"a.toml\", \"a.toml\"]", "", "", &a(""), &["\"a.toml\" is included twice"]);
}

#[test]
fn circles_and_floods_come_to_an_end() {
    let circle = "include = [\"a.toml\"]";
    refused("[\"a.toml\"]", "", "", &[("a.toml", circle)], &["included twice", "a.toml:1:12"]);
    let deep: Vec<(&'static str, String)> = ["a", "b", "c", "d", "e"]
        .windows(2)
        .map(|pair| (pair[0], format!("include = [\"{}.toml\"]", pair[1])))
        .collect();
    let library = [
        ("a.toml", deep[0].1.as_str()),
        ("b.toml", deep[1].1.as_str()),
        ("c.toml", deep[2].1.as_str()),
        ("d.toml", deep[3].1.as_str()),
        ("e.toml", ""),
    ];
    refused("[\"a.toml\"]", "", "", &library, &["4 deep", "d.toml:1:12"]);
    let many: Vec<String> = (0..20).map(|n| format!("\"{n}.toml\"")).collect();
    refused(&format!("[{}]", many.join(", ")), "", "", &[], &["16 is the most"]);
    let large = "#".repeat((1 << 20) + 1);
    refused("[\"a.toml\"]", "", "", &[("a.toml", &large)], &["more than 1048576"]);
}
