//! Files with components beside files with the same structure in one piece.

use std::io;

use experiment::{Experiment, Source};
use model::partition::LoadPattern;
use numerics::eigen;

use crate::assembly::Assembly;
use crate::forecast::{Forecast, Others};

/// Files of a test by name.
struct Shelf(Vec<(&'static str, String)>);

impl Source for Shelf {
    fn size(&self, name: &str) -> io::Result<u64> {
        self.read(name).map(|bytes| bytes.len() as u64)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        let text = found.ok_or(io::ErrorKind::NotFound)?;
        Ok(text.1.clone().into_bytes())
    }
}

const REST: &str = r#"
[integrator]
method = "exact"
rate = "4096 Hz"
[transfer_system]
kind = "delay"
samples = 2
[limits]
command = "50 mm"
"#;

const ONE: &str = r#"title = "One"
duration = "0.5 s"
[structure]
chain = { mass = ["10 kg", "10 kg", "10 kg", "10 kg", "10 kg", "3 kg"], stiffness = ["100 kN/m", "90 kN/m", "80 kN/m", "70 kN/m", "60 kN/m", "50 kN/m"], damping = ["10 N s/m", "9 N s/m", "8 N s/m", "7 N s/m", "6 N s/m", "5 N s/m"] }
[[structure.link]]
between = [1, 4]
stiffness = "5 kN/m"
damping = "20 N s/m"
"#;

const PARTS: &str = r#"title = "Two"
duration = "0.5 s"
[[component]]
name = "lower"
chain = { mass = ["10 kg", "10 kg", "4 kg"], stiffness = ["100 kN/m", "90 kN/m", "80 kN/m"], damping = ["10 N s/m", "9 N s/m", "8 N s/m"] }
[[component]]
name = "upper"
names = ["foot", "a", "b", "top"]
chain = { mass = ["6 kg", "10 kg", "10 kg", "3 kg"], stiffness = ["70 kN/m", "60 kN/m", "50 kN/m"], damping = ["7 N s/m", "6 N s/m", "5 N s/m"], ends = "free-free" }
[[joint]]
rigid = ["upper.foot", "lower.3"]
[[joint]]
between = ["lower.1", "upper.a"]
stiffness = "5 kN/m"
damping = "20 N s/m"
"#;

const TOP: &str = "[partition]\ninterface = [INTERFACE]\nmass = [\"1 kg\"]\nstiffness = [\"20 kN/m\"]\n\
                   [excitation]\nground = { impulse = { amplitude = \"1 m/s^2\", width = \"0.1 s\" } }\n";

fn built(text: &str, shelf: &Shelf) -> Result<Assembly, String> {
    let (experiment, _) =
        Experiment::from_text("test.toml", text, shelf).map_err(|error| error.to_string())?;
    let (assembly, _) = Assembly::new(&experiment, shelf).map_err(|error| error.to_string())?;
    Ok(assembly)
}

fn assembly(text: &str) -> Assembly {
    built(text, &Shelf(Vec::new())).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    built(text, &Shelf(Vec::new())).map(drop).expect_err("refused")
}

fn with(head: &str, interface: &str) -> String {
    format!("{head}{}{REST}", TOP.replace("INTERFACE", interface))
}

#[test]
fn a_file_of_components_is_the_structure_in_one_piece() {
    let one = assembly(&with(ONE, "6"));
    let two = assembly(&with(PARTS, "\"upper.top\""));
    assert_eq!(
        two.structure.names,
        ["lower.1", "lower.2", "lower.3", "upper.a", "upper.b", "upper.top"]
    );
    // The DOFs stand in the same order: every matrix is the same.
    for (a, b) in one.structure.matrices.each().into_iter().zip(two.structure.matrices.each()) {
        assert!((a - b).amax() < 1e-12 * a.amax(), "{a} {b}");
    }
    assert!((&one.structure.influence - &two.structure.influence).amax() < 1e-12);
    let forecast = |assembly: &Assembly| Forecast::new(assembly, Others::Left).unwrap();
    let modes = |assembly: &Assembly| -> Vec<f64> {
        forecast(assembly).modes.iter().map(|mode| mode.frequency_hz).collect()
    };
    for (a, b) in modes(&one).iter().zip(modes(&two)) {
        assert!((a - b).abs() < 1e-9 * a);
    }
    // A DOF is called by the name of either side of a rigid joint.
    let either = assembly(&with(PARTS, "\"upper.foot\""));
    assert_eq!(
        either.partition.interface[0].to.map(|dof| either.structure.names[dof].as_str()),
        Some("upper.foot")
    );
}

#[test]
fn a_component_in_the_laboratory_is_taken_out_with_its_elastic_joints() {
    let cut = |interface: &str| {
        format!(
            "{PARTS}[partition]\ncomponent = [\"upper\"]\ninterface = [{interface}]\n\
             [[excitation.force]]\ndof = \"lower.2\"\n\
             impulse = {{ amplitude = \"1 N\", width = \"0.1 s\" }}\n{REST}"
        )
    };
    let assembly = assembly(&cut("\"lower.3\", \"lower.1\""));
    // What is left is the lower chain alone.
    let numerical = &assembly.substructures.numerical;
    assert_eq!(
        (numerical.size(), assembly.partition.inside.as_ref().map(|it| it.dofs.len())),
        (3, Some(3))
    );
    let diagonal = numerical.matrices.mass.diagonal();
    assert!((diagonal[2] - 4.0).abs() < 1e-12, "{diagonal}");
    let stiffness = numerical.matrices.stiffness.diagonal();
    assert!(
        (stiffness[0] - 190e3).abs() < 1e-6 && (stiffness[2] - 80e3).abs() < 1e-6,
        "{stiffness}"
    );
    // The specimen has the mass of the foot and the springs that end at the interface.
    let specimen = &assembly.partition.specimen.matrices;
    assert!((specimen.mass[(0, 0)] - 6.0).abs() < 1e-12);
    assert!((specimen.stiffness[(1, 1)] - 5e3).abs() < 1e-9);
    let LoadPattern::Force { dof } = assembly.loads[0].pattern else { panic!("force") };
    assert_eq!(assembly.structure.names[dof], "lower.2");
    let text = refused(&cut("\"lower.3\""));
    assert!(text.contains("write interface = [\"lower.1\", \"lower.3\"]"), "{text}");
}

/// A rotor of two masses: the eigenvalues of its gyroscopic, non-symmetric matrices are kept by
/// components of either order.
#[test]
fn a_rotor_reduced_in_state_space_stands_in_the_loop_with_its_own_eigenvalues() {
    let text = |reduction: &str| {
        format!(
            r#"title = "Rotor"
duration = "0.5 s"
[[component]]
name = "rotor"
names = ["x", "y", "bx", "by"]
mass = ["20 kg", "20 kg", "5 kg", "5 kg"]
damping = {{ unit = "N s/m", rows = [[50, 300, 0, 0], [-300, 50, 0, 0], [0, 0, 10, 0], [0, 0, 0, 10]] }}
stiffness = {{ unit = "N/m", rows = [[1e6, 2e4, -1e6, 0], [-2e4, 1e6, 0, -1e6], [-1e6, 0, 1e6, 0], [0, -1e6, 0, 1e6]] }}
{reduction}
[[component]]
name = "frame"
chain = {{ mass = ["50 kg", "30 kg"], stiffness = ["2 MN/m", "1 MN/m"], damping = ["900 N s/m", "500 N s/m"] }}
[[joint]]
between = ["rotor.by", "frame.2"]
stiffness = "700 kN/m"
damping = "800 N s/m"
[[joint]]
between = ["ground", "rotor.bx"]
stiffness = "600 kN/m"
damping = "800 N s/m"
[partition]
interface = ["frame.2"]
stiffness = ["1 kN/m"]
[[excitation.force]]
dof = "rotor.x"
impulse = {{ amplitude = "1 N", width = "0.1 s" }}
{REST}"#
        )
    };
    let full = assembly(&text(""));
    let reduced = assembly(&text("reduction = { method = \"state_space\", cut_off = \"1 kHz\" }"));
    assert!(full.structure.states.is_none() && reduced.structure.states.is_some());
    let values = |assembly: &Assembly| {
        let mut values = assembly.substructures.whole.eigenvalues().unwrap();
        values.sort_by(|a, b| (a.norm(), a.im).partial_cmp(&(b.norm(), b.im)).unwrap());
        values
    };
    let (wanted, found) = (values(&full), values(&reduced));
    assert_eq!(wanted.len(), found.len());
    for value in &wanted {
        let near = found.iter().map(|other| (other - value).norm()).fold(f64::MAX, f64::min);
        assert!(near < 1e-9 * value.norm(), "{value}: {near:e}");
    }
    assert!(eigen::eigenvalues(&full.structure.matrices.stiffness).is_ok());
}

#[test]
fn what_cannot_be_joined_is_refused_with_its_remedy() {
    let beam = "[[component]]\nname = \"beam\"\nbeam = { elements = 2, length = \"1 m\", young = \"1 GPa\", density = \"1000 kg/m^3\", width = \"0.1 m\", height = \"0.1 m\", ends = \"free-free\" }\n[[joint]]\n";
    let joined = |joint: &str| with(&format!("{PARTS}{beam}{joint}\n"), "\"upper.top\"");
    for (joint, message, remedy) in [
        (
            "rigid = [\"beam.w9\", \"lower.2\"]",
            "no degree of freedom is called \"w9\"",
            "did you mean",
        ),
        ("rigid = [\"beam.th0\", \"lower.2\"]", "the units differ", "\"beam.th0\" turns (rad)"),
        (
            "rigid = [\"lower.2\", \"beam.w0\"]\narm = \"1 m\"\nabout = \"beam.w1\"",
            "the units differ",
            "about",
        ),
        (
            "rigid = [\"beam.w0\", \"lower.2\"]\n[[joint]]\nrigid = [\"lower.2\", \"beam.w0\"]",
            "follows from the joints before it",
            "closed loop",
        ),
        (
            "rigid = [\"beam.w0\", \"lower.2\"]\n[[joint]]\nrigid = [\"lower.2\", \"beam.w0\"]\ndirection = \"opposite\"",
            "move no more",
            "supports",
        ),
    ] {
        let text = refused(&joined(joint));
        assert!(text.contains(message) && text.contains(remedy), "{joint}: {text}");
    }
    // With an arm the beam hangs on the chain, deflection and slope.
    let held = joined("rigid = [\"lower.2\", \"beam.w0\"]\narm = \"0.5 m\"\nabout = \"beam.th0\"");
    let arm = assembly(&held);
    assert!(!arm.structure.names.contains(&"lower.2".to_owned()));
    let loose = with(
        &format!(
            "{PARTS}[[component]]\nname = \"loose\"\nmass = [\"1 kg\", \"1 kg\"]\nstiffness = {{ unit = \"N/m\", rows = [[1, 0], [0, 0]] }}\n[[joint]]\nrigid = [\"loose.1\", \"lower.2\"]\n"
        ),
        "\"upper.top\"",
    );
    let text = refused(&loose);
    assert!(text.contains("nothing holds DOF \"loose.2\"") && text.contains("supports"), "{text}");
    let held = loose.replace(
        "[[joint]]\nrigid = [\"loose.1\"",
        "supports = [2]\n[[joint]]\nrigid = [\"loose.1\"",
    );
    assert_eq!(assembly(&held).structure.size(), 6);
    let massless = loose
        .replace("mass = [\"1 kg\", \"1 kg\"]", "mass = [\"1 kg\", \"0 kg\"]")
        .replace("[[1, 0], [0, 0]]", "[[1, -1], [-1, 1]]");
    let text = refused(&massless);
    assert!(text.contains("DOF \"loose.2\" has no mass"), "{text}");
}

#[test]
fn components_keep_their_reductions_and_name_what_stays() {
    let reduced =
        PARTS.replace("names = [\"foot\"", "reduction = { modes = 1 }\nnames = [\"foot\"");
    let assembly = assembly(&with(&reduced, "\"upper.top\""));
    let names = &assembly.structure.names;
    assert!(names.contains(&"upper.top".to_owned()) && names.contains(&"upper.a".to_owned()));
    assert!(!names.contains(&"upper.b".to_owned()), "{names:?}");
    let modes = assembly.amplitudes.iter().map(|&dof| names[dof].as_str());
    assert!(modes.clone().all(|name| name.starts_with("upper.mode")) && modes.count() > 0);
    // The whole may be reduced as well.
    let whole = format!("{}[reduction]\nmodes = 2\n", with(PARTS, "\"upper.top\""));
    let built = built(&whole, &Shelf(Vec::new())).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(built.structure.names[0], "upper.top");
}
