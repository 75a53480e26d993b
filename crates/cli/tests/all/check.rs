//! What `check` says of a loop: words, document, picture, advice.

use crate::common::{Draft, Lab};

fn unstable() -> Draft {
    Draft::new().with("transfer_system", "kind = \"delay\"\nsamples = 12")
}

#[test]
fn the_margin_is_where_the_verdict_turns() {
    let lab = Lab::new();
    lab.write("test.toml", Draft::new().text());
    let said = lab.twinrig(["check", "test.toml", "--json"]).exits(0).json();
    let margin_s = said["loop"]["delay_margin"]["delay_s"].as_f64().unwrap();
    let more = margin_s * 1024.0;
    for (samples, code) in [(2.0 + more.floor(), 0), (2.0 + more.ceil(), 7)] {
        let text = format!("kind = \"delay\"\nsamples = {samples}");
        lab.write("late.toml", Draft::new().with("transfer_system", &text).text());
        lab.twinrig(["check", "late.toml"]).exits(code);
    }
    // Modes: each in the loop beside what it is in the structure.
    let modes = said["loop"]["modes"].as_array().unwrap();
    assert_eq!(modes.len(), 2);
    let damping = |mode: usize, place: &str| modes[mode][place]["damping_ratio"].as_f64().unwrap();
    assert!((damping(0, "truth") - 0.03).abs() < 1e-9);
    let lost = damping(0, "in_loop") - 0.03;
    let per_s = modes[0]["damping_per_s_of_delay"].as_f64().unwrap();
    // Two samples and half of one for the hold, at the rate of loss.
    assert!((lost / (per_s * 2.5 / 1024.0) - 1.0).abs() < 0.05, "{lost} {per_s}");
    assert_eq!(said["dominant"]["mode"], 1);
}

/// The simulated storeys of example 08 stand on nothing but the interface: the
/// loop gain has a double pole at zero, where rounding must not be counted. The
/// critical delay lies between 0.11 and 0.13 ms for every share below one half.
#[test]
fn a_simulated_part_without_support_is_counted_right() {
    let lab = Lab::new();
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/08-stability-chart/experiment.toml");
    let text = std::fs::read_to_string(path).unwrap();
    for share in [0, 5, 20, 36, 45] {
        for (delay, code) in [("0.09 ms", 0), ("0.15 ms", 7)] {
            let text = text.replace("33 %", &format!("{share} %")).replace("0.1 ms", delay);
            lab.write("test.toml", text);
            lab.twinrig(["check", "test.toml"]).exits(code);
        }
    }
}

#[test]
fn an_unstable_loop_is_told_what_would_help() {
    let lab = Lab::new();
    lab.write("bad.toml", unstable().text());
    let said = lab.twinrig(["check", "bad.toml"]).exits(7).out;
    assert!(said.contains("(mode 1) grows, doubling every"), "{said}");
    assert!(said.contains("would make it stable") && !said.contains("see below"), "{said}");
    assert!(said.contains("forward_prediction, order 3"), "{said}");
    let said = lab.twinrig(["check", "bad.toml", "--json"]).exits(7).json();
    let trials = said["loop"]["compensators"].as_array().unwrap();
    let none = trials.iter().find(|trial| trial["kind"] == "none").unwrap();
    assert_eq!(none["stable"], false);
    assert!(trials.iter().any(|trial| trial["stable"] == true), "{said}");
}

#[test]
fn a_picture_is_written_as_its_name_asks() {
    let lab = Lab::new();
    lab.write("test.toml", Draft::new().top("duration = \"1 s\"").text());
    lab.twinrig(["check", "test.toml", "--plot", "loop.svg"]).exits(0);
    let svg = std::fs::read_to_string(lab.path("loop.svg")).unwrap();
    assert!(svg.contains("Loop gain") && svg.contains("Damping in the loop"), "{svg}");
    lab.twinrig(["check", "test.toml", "--plot", "loop.html"]).exits(0);
    let html = std::fs::read_to_string(lab.path("loop.html")).unwrap();
    assert!(html.contains("Will it be stable?") && html.contains("data-figure"));
    assert!(
        html.contains("<th scope=\"row\">forward_prediction, order 3</th>"),
        "the table of compensators"
    );
    for name in ["loop.png", "loop", "nowhere/loop.svg"] {
        let ran = lab.twinrig(["check", "test.toml", "--plot", name]).exits(1);
        assert!(ran.err.contains(".svg") || ran.err.contains("with --plot"), "{}", ran.err);
    }
    // Nothing to draw: rig and structure are one.
    lab.write("one.toml", Draft::new().with("transfer_system", "kind = \"ideal\"").text());
    let ran = lab.twinrig(["check", "one.toml", "--plot", "one.svg"]).exits(1);
    assert!(ran.err.contains("no loop gain to draw"), "{}", ran.err);
}

#[test]
fn a_loop_at_two_rates_is_drawn_with_its_margins() {
    let lab = Lab::new();
    let draft = |ratio: usize| Draft::new().with("main_loop", &format!("ratio = {ratio}"));
    lab.write("two.toml", draft(4).text());
    let ran = lab.twinrig(["check", "two.toml", "--plot", "two.svg"]).exits(0);
    assert!(ran.out.contains("gain margin ×") && ran.out.contains("phase margin "), "{}", ran.out);
    let svg = std::fs::read_to_string(lab.path("two.svg")).unwrap();
    assert!(svg.contains("Loop gain") && svg.contains("Damping in the loop"), "{svg}");
    lab.twinrig(["check", "two.toml", "--plot", "two.html"]).exits(0);
    let html = std::fs::read_to_string(lab.path("two.html")).unwrap();
    assert!(html.contains("Gain margin") && html.contains("Phase margin"));
    let said = lab.twinrig(["check", "two.toml", "--json"]).exits(0).json();
    let of = |key: &str, value: &str| said["two_rates"][key][value].as_f64().unwrap();
    assert!(of("gain_margin_above", "factor") > 1.0 && of("phase_margin", "rad") > 0.0, "{said}");
}

#[test]
fn partitions_are_ranked_by_the_delay_they_bear() {
    let lab = Lab::new();
    let building = "shear_building = { storeys = 4, mass = \"20 t\", stiffness = \"40 MN/m\" }\n\
                    damping = { modal = \"2 %\" }\nnames = [\"a\", \"b\", \"c\", \"d\"]";
    let draft = Draft::new()
        .with("structure", building)
        .with("partition", "interface = [\"a\"]\nmass = [\"200 kg\"]\nstiffness = [\"8 MN/m\"]");
    lab.write("test.toml", draft.text());
    let said = lab.twinrig(["check", "test.toml", "--advise", "--json"]).json();
    let ranked = said["advice"]["ranked"].as_array().unwrap();
    // One declared, five masses, three other places, four springs whole and half.
    assert_eq!(ranked.len(), 1 + 5 + 3 + 8, "{said}");
    let delays: Vec<f64> = ranked
        .iter()
        .map(|cut| cut["critical_delay_s"].as_f64().unwrap_or(f64::INFINITY))
        .collect();
    assert!(delays.windows(2).all(|pair| pair[0] >= pair[1]), "{delays:?}");
    let declared = ranked.iter().find(|cut| cut["specimen"] == "as declared").unwrap();
    assert_eq!(declared["critical_delay_s"], said["critical_delay_s"]);
    assert!(ranked.iter().any(|cut| cut["interface"] == "b – c"), "{said}");
    assert!(said["advice"]["skipped"].as_array().unwrap().len() == 1, "{said}");
    let text = lab.twinrig(["check", "test.toml", "--advise"]).out;
    assert!(text.contains("whole spring") && text.contains("not examined:"), "{text}");

    // A frame whose stiffness is no row of springs says what it cannot cut.
    let frame = "mass = [\"1 t\", \"1 t\", \"1 t\"]\ndamping = { modal = \"3 %\" }\nstiffness = { \
                 unit = \"N/m\", rows = [[26054884.0, -23133939.0, 5937035.0], [-23133939.0, \
                 32560774.0, -14419971.0], [5937035.0, -14419971.0, 9267276.0]] }";
    lab.write("frame.toml", Draft::new().with("structure", frame).text());
    let text = lab.twinrig(["check", "frame.toml", "--advise"]).out;
    assert!(text.contains("no spring between two DOFs"), "{text}");
}

#[test]
fn several_interface_dofs_have_margins_too() {
    let lab = Lab::new();
    let two = "interface = [1, { from = 1, to = 2 }]\nmass = [\"20 kg\", \"0 kg\"]\n\
               stiffness = [\"0.3 MN/m\", \"0.2 MN/m\"]";
    let draft = Draft::new().with("partition", two);
    lab.write("two.toml", draft.text());
    let said = lab.twinrig(["check", "two.toml", "--json"]).exits(0).json();
    let critical_s = said["critical_delay_s"].as_f64().unwrap();
    let margin_s = said["loop"]["delay_margin"]["delay_s"].as_f64().unwrap();
    // The critical delay is without sampling: two samples and the hold's half.
    assert!((margin_s + 2.5 / 1024.0 - critical_s).abs() < 2e-5, "{margin_s} {critical_s}");
    let svg = lab.twinrig(["check", "two.toml", "--plot", "two.svg", "--advise"]).exits(0);
    assert!(svg.out.contains("1, 1 – 2"), "{}", svg.out);
}

#[test]
fn two_rates_are_judged_over_a_period() {
    let lab = Lab::new();
    let draft = Draft::new()
        .with("integrator", "method = \"exact\"\nrate = \"1024 Hz\"")
        .with("main_loop", "ratio = 4\ntask_ticks = 1");
    lab.write("good.toml", draft.text());
    let said = lab.twinrig(["check", "good.toml", "--json"]).exits(0).json();
    assert_eq!(said["stability"], "stable");
    assert_eq!(said["method"], "map over a period");
    // By its definition: so many ticks later it is stable, with one more it is not.
    let margin_s = said["two_rates"]["delay_margin_s"].as_f64().unwrap();
    let ticks = (1024.0 * margin_s).round() as usize;
    assert!(ticks > 0);
    for (late, verdict) in [(ticks, "stable"), (ticks + 1, "unstable")] {
        let sensors = format!("force_delay_samples = {late}");
        lab.write("late.toml", draft.clone().with("sensors", &sensors).text());
        let said = lab.twinrig(["check", "late.toml", "--json"]).json();
        assert_eq!(said["stability"], verdict, "{late} ticks");
    }
    let late = draft.with("transfer_system", "kind = \"delay\"\nsamples = 40");
    lab.write("bad.toml", late.text());
    let said = lab.twinrig(["check", "bad.toml"]).exits(7).out;
    assert!(said.contains("UNSTABLE: motion at"), "{said}");
}

/// The simulated part does not stand by itself, so it has no modes of its own: the
/// critical delay comes from the crossings, as in a chart.
#[test]
fn a_numerical_part_that_does_not_stand_has_a_critical_delay() {
    let lab = Lab::new();
    let partition = "interface = [1]\nmass = [\"30 kg\"]\nstiffness = [\"2.5 MN/m\"]";
    let draft = Draft::new().with("partition", partition);
    lab.write("test.toml", draft.text());
    let said = lab.twinrig(["check", "test.toml", "--advise", "--json"]).exits(7).json();
    let critical_s = said["critical_delay_s"].as_f64().unwrap();
    for (factor, verdict) in [(0.999, "stable"), (1.001, "unstable")] {
        let delay = format!("kind = \"delay\"\ndelay = \"{} s\"", factor * critical_s);
        lab.write("late.toml", draft.clone().with("transfer_system", &delay).text());
        let (x, y) = ("transfer_system.delay=0..4 ms", "partition.mass[1]=0..60 kg");
        let chart = ["--json", "chart", "late.toml", "--x", x, "--y", y, "--grid", "4x4"];
        let chart = lab.twinrig(chart).exits(0).json();
        assert_eq!(chart["declared"]["verdict"], verdict);
    }
    let ranked = said["advice"]["ranked"].as_array().unwrap();
    let declared = ranked.iter().find(|cut| cut["specimen"] == "as declared").unwrap();
    assert_eq!(declared["critical_delay_s"], said["critical_delay_s"]);
}

#[test]
fn a_structure_without_support_keeps_its_numbers() {
    let lab = Lab::new();
    let floating = "chain = { mass = [\"2 t\", \"3 t\", \"2 t\"], stiffness = [\"2 MN/m\", \"3 MN/m\"], \
                    damping = [\"4 kN s/m\", \"5 kN s/m\"], ends = \"free-free\" }";
    let partition = "interface = [{ from = 1, to = 2 }]\nstiffness = [\"0.8 MN/m\"]";
    let draft = Draft::new().with("structure", floating).with("partition", partition);
    lab.write("test.toml", draft.text());
    let said = lab.twinrig(["check", "test.toml", "--json"]).exits(0).json();
    assert_eq!(said["rigid_bodies"], 1);
    let listed = said["modes"].as_array().unwrap();
    assert_eq!(listed[0]["frequency_hz"], 0.0);
    let followed = said["loop"]["modes"].as_array().unwrap();
    assert_eq!(followed.len(), 2);
    for mode in followed {
        let number = mode["mode"].as_u64().unwrap() as usize;
        let (own, listed) = (&mode["truth"]["frequency_hz"], &listed[number - 1]["frequency_hz"]);
        let (own, listed) = (own.as_f64().unwrap(), listed.as_f64().unwrap());
        assert!((own / listed - 1.0).abs() < 1e-3, "{number}: {own} {listed}");
    }
    let said = lab.twinrig(["check", "test.toml"]).exits(0).out;
    assert!(said.contains("rigid body") && said.contains("no support"), "{said}");
    assert!(said.contains("stable: least damped motion"), "{said}");
    assert!(!said.contains("-100.00 %"), "{said}");
}

/// Nothing grows behind an ideal rig, and without damping nothing decays.
#[test]
fn without_damping_nothing_is_said_to_decay() {
    let lab = Lab::new();
    let bare = "mass = [\"1000 kg\", \"1000 kg\"]\n\
                stiffness = { unit = \"N/m\", rows = [[2e6, -1e6], [-1e6, 1e6]] }";
    let mass = "interface = [1]\nmass = [\"30 kg\"]";
    // A mass's late force takes energy out of the modes it takes part in; the
    // other one is not seen at the interface.
    let twins = "mass = [\"1000 kg\", \"1000 kg\"]\nstiffness = [\"1 MN/m\", \"2 MN/m\"]";
    let draft = Draft::new().with("structure", twins).with("partition", mass);
    let draft = draft.with("integrator", "method = \"exact\"\nrate = \"1024 Hz\"");
    lab.write("test.toml", draft.text());
    let said = lab.twinrig(["check", "test.toml"]).exits(0).out;
    assert!(said.contains("motion at 7.12 Hz (mode 2) neither grows nor decays"), "{said}");
    // A spring's late force lets them grow, and no compensator that is tried helps.
    lab.write("bad.toml", Draft::new().with("structure", bare).text());
    let said = lab.twinrig(["check", "bad.toml"]).exits(7).out;
    assert!(said.contains("give the structure some damping"), "{said}");
    assert!(!said.contains("less delay"), "{said}");
}

/// More than half of the mass in the laboratory: fast motions grow whatever the
/// compensator, and the table says no other thing than the sentence above it.
#[test]
fn what_is_unstable_shows_no_positive_damping_and_no_remedy_that_fails() {
    let lab = Lab::new();
    let mass = "interface = [2]\nmass = [\"60 %\"]";
    lab.write("heavy.toml", Draft::new().with("partition", mass).text());
    let said = lab.twinrig(["check", "heavy.toml"]).exits(7).out;
    assert!(said.contains("give more of the mass to the numerical substructure"), "{said}");
    let verdict = said.lines().find(|line| line.starts_with("UNSTABLE")).unwrap();
    assert!(!verdict.contains("less delay") && !verdict.contains("would make"), "{verdict}");
    let json = lab.twinrig(["check", "heavy.toml", "--json"]).exits(7).json();
    for trial in json["loop"]["compensators"].as_array().unwrap() {
        assert_eq!(trial["stable"], false, "{trial}");
        let ratio = trial["least_damped"]["damping_ratio"].as_f64();
        assert!(ratio.is_none_or(|ratio| ratio < 0.0), "{trial}");
    }
    // All modes are well damped: the picture shows what grows, or says that it does not.
    lab.twinrig(["check", "heavy.toml", "--plot", "heavy.html"]).exits(7);
    let page = std::fs::read_to_string(lab.path("heavy.html")).unwrap();
    assert!(page.contains("\"no mode, ") || page.contains("belongs to no mode"));
    // A mass that carries no spring is not split down to nothing.
    let advice = lab.twinrig(["check", "heavy.toml", "--advise"]).exits(7).out;
    assert!(!advice.contains(" 0 % mass") && advice.contains("[kg]"), "{advice}");
}

#[test]
fn one_thing_is_not_called_several() {
    let lab = Lab::new();
    let one = "shear_building = { storeys = 1, mass = \"1 t\", stiffness = \"1 MN/m\" }\n\
               damping = { modal = \"2 %\" }";
    let spring = "interface = [1]\nstiffness = [\"0.3 MN/m\"]";
    lab.write("one.toml", Draft::new().with("structure", one).with("partition", spring).text());
    let said = lab.twinrig(["check", "one.toml"]).exits(0).out;
    assert!(said.contains("\n1 DOF, 1 at the interface"), "{said}");
    // What must fit is the slowest of a hundred, and its share is said of it.
    let fits = said.lines().find(|line| line.starts_with("fits real time here")).unwrap();
    assert!(fits.contains("(99 %; median"), "{fits}");
}

/// An adaptive compensator that leaves its path as soon as the load comes: stable as it starts and
/// as it would converge, and tripped after 0.06 s.
#[test]
fn a_prediction_that_a_rehearsal_does_not_bear_out_is_doubtful() {
    let lab = Lab::new();
    let case = include_str!("known_cases/adaptive-inverse-trips.toml");
    lab.write("test.toml", case);
    let said = lab.twinrig(["check", "test.toml", "--json"]).exits(0).json();
    let found = &said["rehearsal"];
    assert_eq!(found["assumptions"][0], "adaptive compensator after convergence");
    assert_eq!(found["found"]["id"], "tripped", "{found}");
    assert_eq!(said["verdict"]["level"], "doubtful");
    assert_eq!(said["verdict"]["reasons"][0]["id"], "rehearsal");
    // Where nothing is assumed nothing is rehearsed.
    lab.write("plain.toml", Draft::new().text());
    let said = lab.twinrig(["check", "plain.toml", "--json"]).exits(0).json();
    assert!(said["rehearsal"].is_null(), "{said}");
}

/// Dampers that couple the modes: the table has the eigenvalues, 8.1 % where the projection on the
/// undamped mode is 66.7 %.
#[test]
fn the_table_of_the_whole_structure_has_its_eigenvalues() {
    let lab = Lab::new();
    lab.write("test.toml", include_str!("random_loops/cases/strong-damper.toml"));
    let said = lab.twinrig(["check", "test.toml", "--json"]).exits(0).json();
    let (mode, truth) = (&said["modes"][0], &said["loop"]["modes"][0]["truth"]);
    assert_eq!(mode["damping_ratio"], truth["damping_ratio"]);
    assert!((mode["damping_ratio"].as_f64().unwrap() - 0.0811).abs() < 1e-4, "{mode}");
}

#[test]
fn a_transfer_system_that_runs_away_by_itself_is_named_as_the_cause() {
    let lab = Lab::new();
    let rig = "kind = \"transfer_function\"\nnumerator = [1e4]\ndenominator = [1, -5, 1e4]";
    lab.write("test.toml", Draft::new().with("transfer_system", rig).text());
    let said = lab.twinrig(["check", "test.toml", "--json"]).exits(7).json();
    assert_eq!(said["verdict"]["reasons"][0]["id"], "unstable_actuator", "{said}");
}

/// What does not oscillate has no frequency: 2.5e-17 Hz was told of a real root.
#[test]
fn a_real_root_is_told_without_a_frequency() {
    let lab = Lab::new();
    lab.write("test.toml", include_str!("random_loops/cases/two-real-roots.toml"));
    let said = lab.twinrig(["check", "test.toml"]).exits(7).out;
    assert!(said.contains("motion without oscillation grows, doubling every"), "{said}");
}

#[test]
fn modes_are_followed_into_a_loop_at_two_rates() {
    let lab = Lab::new();
    let draft = Draft::new().with("main_loop", "ratio = 4");
    lab.write("test.toml", draft.text());
    let two = lab.twinrig(["check", "test.toml", "--json"]).exits(0).json();
    lab.write("test.toml", Draft::new().text());
    let one = lab.twinrig(["check", "test.toml", "--json"]).exits(0).json();
    for mode in 0..2 {
        let of = |said: &serde_json::Value| said["in_loop"]["damping_ratio"].as_f64().unwrap();
        let (two, one) = (of(&two["two_rates_modes"][mode]), of(&one["loop"]["modes"][mode]));
        // Four ticks of a 1024 Hz loop more or less.
        assert!((two - one).abs() < 0.01 && (two - one).abs() > 1e-6, "{two} {one}");
    }
    let words = lab.twinrig(["check", "test.toml"]).exits(0).out;
    assert!(words.contains("Gao & You's estimate"), "{words}");
}

/// Two actuators on a stiff link, in step stable with 57 ms to spare: one force 1.7 % smaller lets it grow.
#[test]
fn a_loop_that_a_small_difference_between_actuators_upsets_is_doubtful() {
    let lab = Lab::new();
    lab.write("test.toml", include_str!("random_loops/cases/link-between-actuators.toml"));
    let said = lab.twinrig(["check", "test.toml", "--json"]).exits(0).json();
    let reasons = said["verdict"]["reasons"].as_array().unwrap();
    let found = reasons.iter().find(|reason| reason["id"] == "interface_margin").unwrap();
    assert!(found["text"].as_str().unwrap().contains("of interface DOF 2"), "{found}");
}
