//! Components and joints: what is read, and what is refused with which remedy.

use super::super::component::{Joint, JointDirection};
use super::super::{DofLabel, Experiment, Whole};
use super::include::Library;
use super::{BASE, Diagnostics};

const PARTS: &str = r#"[[component]]
name = "lower"
chain = { mass = ["1 kg", "1 kg"], stiffness = ["1 N/m", "1 N/m"] }
[[component]]
name = "upper"
file = "upper.toml"
supports = [3]
[[joint]]
rigid = ["upper.1", "lower.tip"]
direction = "opposite"
arm = "0.2 m"
about = "lower.2"
[[joint]]
between = ["ground", "upper.2"]
element = { kind = "gap", stiffness = "1 N/m", opening = "1 mm" }
"#;

const UPPER: &str = "title = \"upper\"\n[structure]\nbeam = { elements = 2, length = \"1 m\", \
                     young = \"1 GPa\", density = \"1 kg/m^3\", width = \"1 m\", height = \"1 m\", \
                     ends = \"free-free\" }\n[reduction]\nmodes = 3\n[partition]\ninterface = [99]\n";

/// The base file with components in the place of its structure, and their file.
fn read_with(parts: &str, upper: &str) -> Result<(Experiment, Diagnostics), Diagnostics> {
    let start = BASE.find("[structure]").unwrap();
    let end = BASE.find("[partition]").unwrap();
    let text = format!("{}{parts}{}", &BASE[..start], &BASE[end..]);
    let text = text.replace("interface = [1]", "interface = [\"lower.1\"]");
    Experiment::from_text("test.toml", &text, &Library(vec![("upper.toml", upper.to_owned())]))
}

#[test]
fn a_component_takes_structure_and_reduction_of_its_file() {
    let (experiment, _) = read_with(PARTS, UPPER).unwrap();
    let Whole::Components(whole) = &experiment.whole else { panic!("components") };
    let [lower, upper] = whole.components.as_slice() else { panic!("two") };
    assert_eq!((lower.structure.size(), upper.structure.size()), (Some(2), Some(6)));
    assert!(lower.reduction.is_none() && upper.reduction.is_some());
    assert_eq!(upper.supports[0].label, DofLabel::Number(3));
    assert_eq!(experiment.files(), ["upper.toml", "kobe.csv"], "the record must embed it");
    let Joint::Rigid { rigid, direction, arm_m, .. } = &whole.joints[0] else { panic!("rigid") };
    assert_eq!((*direction, *arm_m), (JointDirection::Opposite, Some(0.2)));
    assert_eq!(
        (rigid[1].component(), rigid[1].local().unwrap().label),
        (Some("lower"), DofLabel::Name("tip".to_owned()))
    );
    assert_eq!(experiment.elements().len(), 1);
    // Where a value of the other file stands is told in that file.
    let place = experiment.place("component[2].beam.length", super::Diagnostic::error("here"));
    let mut found = experiment.diagnostics();
    found.push(place);
    assert!(found.to_string().contains("upper.toml:3"), "{found}");
}

#[test]
fn the_flattened_text_needs_no_file() {
    let library = Library(vec![("upper.toml", UPPER.to_owned())]);
    let flat = super::super::include::flattened(PARTS, &library);
    assert!(!flat.contains("upper.toml") && flat.contains("elements = 2"), "{flat}");
    assert!(flat.contains("modes = 3") && !flat.contains("99"), "{flat}");
}

#[test]
fn every_mistake_is_told_with_its_remedy() {
    for (old, new, message, remedy) in [
        (
            "\"upper.1\", ",
            "\"uper.1\", ",
            "no component is called \"uper\"",
            "did you mean \"upper\"?",
        ),
        ("\"upper.1\", ", "7, ", "of which component is degree of freedom 7?", "\"lower.7\""),
        ("\"upper.1\", ", "\"upper\", ", "names no component and DOF", "component.dof"),
        ("\"upper.1\", ", "\"lower.tip\", ", "between \"lower.tip\" and itself", "two DOFs"),
        ("name = \"upper\"", "name = \"lower\"", "two components are called", "of its own"),
        ("name = \"upper\"", "name = \"up.per\"", "no name for a component", "full stop"),
        ("about = \"lower.2\"\n", "", "`arm` needs `about`", "component.rotation"),
        ("element = {", "# {", "neither spring, damper nor element", "join with `rigid`"),
        ("\"ground\", \"upper.2\"", "\"ground\", \"ground\"", "at the same place", "two different"),
        ("file = \"upper.toml\"", "file = \"uper.toml\"", "no file \"uper.toml\"", "folder"),
        ("file = \"upper.toml\"\n", "", "lacks what it consists of", "give one of"),
        ("rigid = [\"upper.1\", \"lower.tip\"]", "rigid = [\"lower.1\", \"lower.tip\"]", "", ""),
    ] {
        assert!(PARTS.contains(old), "{old}");
        let found = read_with(&PARTS.replacen(old, new, 1), UPPER);
        if message.is_empty() {
            assert!(found.is_ok());
            continue;
        }
        let text = found.expect_err(new).to_string();
        if message.starts_with("lacks") {
            assert!(text.contains("[component]"), "{text}");
            continue;
        }
        assert!(text.contains(message) && text.contains(remedy), "{new}: {text}");
    }
    let alone = PARTS.replace("upper.1", "lower.1").replace("upper.2", "lower.2");
    let text = read_with(&alone, UPPER).expect_err("alone").to_string();
    assert!(text.contains("nothing joins component \"upper\""), "{text}");
    let text = read_with(PARTS, "title = \"no structure\"").expect_err("empty").to_string();
    assert!(text.contains("upper.toml") || text.contains("[component]"), "{text}");
    let nested = format!("{UPPER}[[component]]\nname = \"a\"\n");
    let text = read_with(PARTS, &nested).expect_err("nested").to_string();
    assert!(text.contains("cannot use `component`"), "{text}");
}
