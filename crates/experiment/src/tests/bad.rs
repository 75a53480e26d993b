//! Bad files: each is answered with its line, what is wrong and what to do.

mod parts;

use super::super::{Diagnostic, Diagnostics, Severity};
use super::{BASE, changed, read};

/// A change to the base file and the one error that must come of it.
struct Case {
    old: &'static str,
    new: &'static str,
    /// The error must point at this text.
    at: &'static str,
    message: &'static str,
    remedy: &'static str,
}

const fn case(
    old: &'static str,
    new: &'static str,
    at: &'static str,
    message: &'static str,
    remedy: &'static str,
) -> Case {
    Case { old, new, at, message, remedy }
}

const MASS: &str = "mass = [\"1000 kg\", \"1000 kg\", \"1000 kg\"]";
const ROWS: &str = "rows = [[3, -1, 0], [-1, 2, -1], [0, -1, 1]]";
const MATRICES: &str = "names = [\"a\", \"b\", \"c\"]\nmass = [\"1000 kg\", \"1000 kg\", \"1000 kg\"]\nstiffness = { unit = \"N/m\", rows = [[3, -1, 0], [-1, 2, -1], [0, -1, 1]] }";
const DAMPING: &str = "damping = { modal = \"3 %\" }";
const GROUND: &str = "{ file = \"kobe.csv\", scale = 0.4 }";
const SPECIMEN: &str = "mass = [\"29.1 kg\"]";

const CASES: &[Case] = &[
    // Quantities.
    case("\"40 s\"", "40", "40", "40 has no unit", "write \"40 s\"; a time is written like"),
    case("\"40 s\"", "\"40\"", "\"40\"", "\"40\" has no unit", "(ns, us, ms, s, min, h)"),
    case("\"40 s\"", "\"40 kg\"", "\"40 kg\"", "is a mass, not a time", "\"20 ms\""),
    case("\"40 s\"", "\"40 sec\"", "\"40 sec\"", "unknown unit \"sec\"", "did you mean \"s\"?"),
    case(
        "\"40 s\"",
        "\"-40 s\"",
        "\"-40 s\"",
        "is -40 s; it must be greater than zero",
        "greater than zero",
    ),
    case("\"40 s\"", "\"nan s\"", "\"nan s\"", "not a finite number", "a time is written like"),
    case("\"40 s\"", "\"1e400 s\"", "\"1e400 s\"", "not a finite number", "a time"),
    case("\"40 s\"", "\"1,5 s\"", "\"1,5 s\"", "comma", "\"1.5 s\""),
    case("\"40 s\"", "true", "true", "is true or false, not a time", "write it like \"20 ms\""),
    case(
        "[\"29.1 kg\"]",
        "[\"-29.1 kg\"]",
        "\"-29.1 kg\"",
        "entry 1 of `mass` is -29.1 kg",
        "zero or more",
    ),
    case("[\"29.1 kg\"]", "[29.1]", "29.1", "29.1 has no unit", "\"29.1 kg\""),
    case("[\"29.1 kg\"]", "[\"133 %\"]", "\"133 %\"", "it must be from 0 to 1", "from 0 to 1"),
    case("\"3 %\"", "3", "3", "`modal` is 3; it must be from 0 to 1", "write \"3 %\""),
    case(
        "\"4096 Hz\"",
        "\"4096 hz\"",
        "\"4096 hz\"",
        "unknown unit \"hz\"",
        "did you mean \"Hz\"?",
    ),
    // Keys.
    case(
        "damping = {",
        "dampping = {",
        "dampping",
        "unknown key `dampping` in [structure]",
        "did you mean `damping`?",
    ),
    case(
        "title =",
        "rate = \"1 Hz\"\ntitle =",
        "rate",
        "unknown key `rate` in the file",
        "belongs in [integrator]",
    ),
    case(
        "command =",
        "colour = 1\ncommand =",
        "colour",
        "unknown key `colour` in [limits]",
        "`command`, `rate`",
    ),
    case("title = \"Base\"\n", "", "", "the file lacks `title`", "what the test is about"),
    case(
        "[integrator]\nmethod = \"rk4\"\nrate = \"4096 Hz\"\n",
        "",
        "",
        "the file lacks `integrator`",
        "add [integrator]",
    ),
    case(
        "interface = [1]\n",
        "",
        "[partition]",
        "[partition] lacks `interface`",
        "add `interface = [1]`",
    ),
    case("method = \"rk4\"\n", "", "[integrator]", "[integrator] lacks `method`", "`rk4`"),
    case("\"rk4\"", "\"rk5\"", "\"rk5\"", "`method` cannot be \"rk5\"", "did you mean \"rk4\"?"),
    case("\"rk4\"", "4", "4", "`method` is not a text", "`rk4`"),
    case(
        "\"ideal\"",
        "\"ideal\"\ndelay = \"4 ms\"",
        "delay",
        "`delay` does not go with kind = \"ideal\"",
        "choose kind = \"delay\" or \"transfer_function\"",
    ),
    case(
        "\"rk4\"",
        "\"rk4\"\niterations = 3",
        "iterations",
        "does not go with method = \"rk4\"",
        "\"newmark\" or \"implicit_euler\"",
    ),
    case("title = \"Base\"", "title = \"\"", "\"\"", "`title` is empty", "write a text"),
    // Choices.
    case(
        "rate = \"4096 Hz\"",
        "",
        "[integrator]",
        "needs exactly one of `rate`, `step`",
        "add `rate` or `step`",
    ),
    case(
        "rate = \"4096 Hz\"",
        "rate = \"4096 Hz\"\nstep = \"1 ms\"",
        "step",
        "`rate` and `step` exclude one another",
        "keep one of",
    ),
    case(
        MATRICES,
        "",
        "[structure]",
        "needs exactly one of `stiffness` with `mass`, `shear_building`",
        "add",
    ),
    case(
        "mass = [\"1000 kg\", \"1000 kg\", \"1000 kg\"]\n",
        "",
        "stiffness",
        "`stiffness` needs `mass` beside it",
        "add `mass`",
    ),
    case(
        ROWS,
        "file = \"k.npy\", rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
        "file",
        "exclude one another",
        "`rows` or `file`",
    ),
    case(
        "{ unit = \"N/m\", rows",
        "{ rows",
        "{ rows = [[3, -1, 0], [-1, 2, -1], [0, -1, 1]] }",
        "lacks `unit`",
        "\"N/m\"",
    ),
    case(
        DAMPING,
        "damping = { modal = \"3 %\", unit = \"N s/m\" }",
        "unit",
        "`unit` does not go with `modal`",
        "it goes with `rows` or `file`",
    ),
    case(
        GROUND,
        "{ harmonic = { amplitude = \"1 g\", frequency = \"1 Hz\" }, scale = 2 }",
        "scale",
        "`scale` does not go with `harmonic`",
        "`file`",
    ),
    case(
        GROUND,
        "{ file = \"kobe.csv\", scale = 2, peak = \"1 g\" }",
        "peak",
        "`scale` and `peak` exclude",
        "keep one",
    ),
    case(
        "ground = { file = \"kobe.csv\", scale = 0.4 }",
        "",
        "[excitation]",
        "needs at least one of `ground`, `force`",
        "add",
    ),
    case(
        "\"ideal\"",
        "\"delay\"",
        "[transfer_system]",
        "needs exactly one of `delay`, `samples`",
        "`samples`",
    ),
    // Lists and matrices.
    case(SPECIMEN, "mass = []", "[]", "`mass` is empty", "at least 1 entry"),
    case(
        SPECIMEN,
        "mass = [\"1 kg\", \"2 kg\"]",
        "[\"1 kg\", \"2 kg\"]",
        "`mass` has 2 entries, not 1",
        "one per interface DOF",
    ),
    case(
        MASS,
        "mass = [\"1000 kg\"]",
        "[\"1000 kg\"]",
        "`mass` has 1 entry, not 3",
        "stiffness has 3",
    ),
    case(
        ROWS,
        "rows = [[3, -1], [-1, 2, -1], [0, -1, 1]]",
        "[3, -1]",
        "row 1 has 2 numbers, the matrix has 3 rows",
        "square",
    ),
    case(
        ROWS,
        "rows = [[3, -1, 0], [-1, nan, -1], [0, -1, 1]]",
        "nan",
        "an entry of row 2 is not a number",
        "bare finite numbers",
    ),
    case(
        ROWS,
        "rows = [[3, -1, 0], \"x\", [0, -1, 1]]",
        "\"x\"",
        "row 2 is not a list",
        "rows of numbers",
    ),
    case(
        "unit = \"N/m\"",
        "unit = \"kg\"",
        "\"kg\"",
        "is a mass, not a stiffness",
        "use a unit of stiffness",
    ),
    case(
        "[\"a\", \"b\", \"c\"]",
        "[\"a\", \"b\"]",
        "[\"a\", \"b\"]",
        "`names` has 2 entries, not 3",
        "one per DOF",
    ),
    case(
        "[\"a\", \"b\", \"c\"]",
        "[\"a\", \"b\", \"a\"]",
        "\"a\"",
        "the name of DOF 1 and of DOF 3",
        "its own name",
    ),
    case(
        "[\"a\", \"b\", \"c\"]",
        "[\"a\", \"b\", \"ground\"]",
        "\"ground\"",
        "not a name for a DOF",
        "the ground itself",
    ),
    case(DAMPING, "influence = [1, 1]", "[1, 1]", "`influence` has 2 entries", "one per DOF"),
    case(
        DAMPING,
        "damping = { modal = [0.1, 0.1, 0.1, 0.1] }",
        "[0.1, 0.1, 0.1, 0.1]",
        "4 modal ratios, but 3 modes",
        "last",
    ),
    case(
        DAMPING,
        "damping = { rayleigh = { ratios = [0.1, 0.1], modes = [2, 2] } }",
        "[2, 2]",
        "mode 2 is given twice",
        "different",
    ),
    case(
        DAMPING,
        "damping = { rayleigh = { ratios = [0.1, 0.1], modes = [1, 7] } }",
        "7",
        "there is no mode 7",
        "3 modes",
    ),
    case(
        DAMPING,
        "damping = { rayleigh = { ratios = [0.1], modes = [1, 2] } }",
        "[0.1]",
        "has 1 entry",
        "exactly 2",
    ),
];

fn errors(found: &Diagnostics) -> Vec<&Diagnostic> {
    found.items().iter().filter(|item| item.severity == Severity::Error).collect()
}

#[test]
fn every_mistake_is_answered_with_its_place_and_its_remedy() {
    assert!(CASES.len() + parts::CASES.len() >= 40);
    let mut failures = String::new();
    for case in CASES.iter().chain(parts::CASES) {
        let text = changed(case.old, case.new);
        let found = match read(&text) {
            Ok(_) => {
                failures += &format!("accepted: {}\n\n", case.new);
                continue;
            }
            Err(found) => found,
        };
        let all = errors(&found);
        let [error] = all.as_slice() else {
            failures += &format!("not one error for {}:\n{found}\n\n", case.new);
            continue;
        };
        let remedy = error.remedy.as_deref().unwrap_or_default();
        let at = error.span.clone().map_or("", |span| &text[span]);
        let from = error.span.clone().map_or("", |span| &text[span.start..]);
        let line = error.span.clone().map(|span| text[..span.start].matches('\n').count() + 1);
        let counted = line == found.position(error).map(|place| place.line);
        let placed = at == case.at || from.starts_with(case.at);
        if !error.message.contains(case.message)
            || !remedy.contains(case.remedy)
            || !placed
            || !counted
        {
            failures += &format!(
                "wanted {:?} / {:?} at {:?}, got (at {at:?})\n{found}\n\n",
                case.message, case.remedy, case.at
            );
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn several_errors_are_reported_together_in_the_order_of_the_file() {
    let text = BASE
        .replace("\"40 s\"", "40")
        .replace("damping = {", "dampping = {")
        .replace("[\"29.1 kg\"]", "[\"29.1 kN\"]")
        .replace("\"rk4\"", "\"rk5\"")
        .replace("kobe.csv", "kobi.csv")
        .replace("\"20 mm\"", "[\"20 mm\", \"-1 mm\"]");
    let found = read(&text).expect_err("six mistakes");
    let lines: Vec<usize> =
        found.items().iter().filter_map(|item| found.position(item)).map(|at| at.line).collect();
    assert_eq!(lines, [2, 7, 10, 13, 15, 20], "{found}");
    assert!(found.items().iter().all(|item| item.remedy.is_some()), "{found}");
}

#[test]
fn cross_checks_run_beside_other_errors() {
    let text = changed("interface = [1]", "interface = [7]").replace("\"40 s\"", "40");
    let found = read(&text).expect_err("two mistakes");
    assert_eq!(errors(&found).len(), 2, "{found}");
}

#[test]
fn suspicious_files_are_read_with_a_warning() {
    for (old, new, message) in [
        ("command = \"20 mm\"", "", "the command has no limit"),
        ("[3, -1, 0]", "[3, -2, 0]", "not symmetric: -2 in row 1, -1 in row 2"),
        ("mass = [\"29.1 kg\"]\nstiffness = [\"1.19 MN/m\"]", "", "neither mass, damping nor"),
        ("scale = 0.4", "start = \"50 s\"", "after the test of 40 s"),
    ] {
        let (_, warnings) = read(&changed(old, new)).unwrap_or_else(|e| panic!("{e}"));
        let [warning] = warnings.items() else { panic!("{new}: {warnings}") };
        assert_eq!(warning.severity, Severity::Warning);
        assert!(warning.message.contains(message), "{warnings}");
        assert!(warning.remedy.is_some());
    }
}

#[test]
fn the_first_error_reads_well_as_a_whole() {
    let found = read(&changed("\"4096 Hz\"", "4096")).expect_err("no unit");
    assert_eq!(
        found.to_string(),
        "error: 4096 has no unit\n  --> test.toml:16:8\n   |  rate = 4096\n   |         ^^^^\n   \
         = write \"4096 Hz\"; a frequency is written like \"2 Hz\" (mHz, Hz, kHz, rad/s, rpm, 1/s)\n"
    );
}
