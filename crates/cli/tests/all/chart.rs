//! Stability charts: numbers, refinement, files, and what is refused.

use crate::common::{Draft, Lab};
use twinrig::chart::{Chart, CrossCheck, Depth, End, Model, Options, Refinement, Verdict};
use twinrig::{Silent, Test};

const BUILDING: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/08-stability-chart/experiment.toml");
const DELAY: &str = "transfer_system.delay=0..0.2 ms";
const SHARE: &str = "partition.mass[1]=0..60 %";

fn options(size: usize) -> Options {
    Options {
        size: [size, size],
        refinement: Refinement::Full,
        depth: Depth::Verdict,
        model: None,
        threads: Some(2),
        cross_check: false,
    }
}

fn building(axes: [&str; 2], options: &Options) -> Chart {
    Test::load(BUILDING).unwrap().chart(axes, options, &mut Silent).unwrap()
}

#[test]
fn the_boundary_runs_through_the_critical_delays() {
    let chart = building([DELAY, SHARE], &options(31));
    // p = 0.67, and half of the mass in the laboratory.
    let change = |end: Option<End>| end.and_then(End::change).unwrap();
    let [down, up] = chart.room(0);
    assert_eq!(down, None);
    assert!((1e3 * change(up) - 0.121922).abs() < 6e-7, "{up:?}");
    let [down, up] = chart.room(1);
    assert_eq!(down, None);
    assert!((change(up) - 0.5).abs() < 1e-6, "{up:?}");
    // The lines: p = 1, 0.9, 0.8, 0.6 lie on rows of the grid.
    for (share, delay_ms) in [(0.0, 0.110194), (0.1, 0.113503), (0.2, 0.117016), (0.4, 0.124738)] {
        let points = chart.boundaries.lines.iter().flatten();
        let near = points.filter(|point| (point.at[1] - share).abs() < 1e-9);
        let found: Vec<f64> = near.map(|point| 1e3 * point.at[0]).collect();
        let hit = found.iter().any(|found| (found - delay_ms).abs() < 2e-6);
        assert!(hit, "{share} {delay_ms} {found:?}");
    }
    assert_eq!(chart.declared.unwrap().1.verdict, Verdict::Stable);
}

#[test]
fn refinement_along_boundaries_gives_the_same_chart_with_fewer_points() {
    let full = building([DELAY, SHARE], &options(81));
    let refined =
        Options { refinement: Refinement::AlongBoundaries, threads: Some(1), ..options(81) };
    let refined = building([DELAY, SHARE], &refined);
    let verdicts = |chart: &Chart| -> Vec<Verdict> {
        chart.grid.points.iter().map(|point| point.verdict).collect()
    };
    assert_eq!(verdicts(&full), verdicts(&refined));
    assert_eq!(full.boundaries, refined.boundaries);
    assert!(refined.grid.computed_count() < full.grid.computed_count() / 2);
}

#[test]
fn the_methods_agree_and_the_axes_may_change_places() {
    let chart = building([SHARE, DELAY], &Options { depth: Depth::Growth, ..options(21) });
    assert_eq!(chart.judge.delay_axis(), Some(1));
    for point in &chart.grid.points {
        // Without delay at ρ ≥ 1 the loop is the structure.
        assert_eq!(point.verdict == Verdict::Stable, point.growth_1_s < 0.0, "{point:?}");
    }
    let checked = CrossCheck::new(&chart.judge, &chart.grid, &chart.boundaries).unwrap();
    assert_eq!(checked.history_points, 21 * 21);
    assert_eq!(checked.history_differs, 0);
    assert!(checked.bisection_points > 20, "{checked:?}");
    assert!(checked.bisection_worst < 1e-3, "{checked:?}");
}

#[test]
fn two_numbers_that_are_not_the_delay_make_a_chart_as_well() {
    let springs = "structure.shear_building.stiffness[4]=20..90 kN/m";
    let damper = "structure.shear_building.damping[3]=1..8 N s/m";
    let chart = building([springs, damper], &options(9));
    assert_eq!(chart.judge.delay_axis(), None);
    // More damping in the specimen's own leg is what a delay feeds on.
    assert!(chart.grid.points.iter().all(|point| point.verdict != Verdict::Unknown));
    assert!((0.01..1.0).contains(&chart.grid.stable_share()), "{}", chart.grid.stable_share());
}

#[test]
fn any_other_loop_is_judged_as_it_runs() {
    let lab = Lab::new();
    let lag = "kind = \"transfer_function\"\nnumerator = [1.0]\ndenominator = [0.02, 1.0]";
    lab.write("lag.toml", Draft::new().with("transfer_system", lag).text());
    let test = Test::load(lab.path("lag.toml")).unwrap();
    let axes =
        ["transfer_system.denominator[1]=0.0005..0.05", "partition.stiffness[1]=0.1..8 MN/m"];
    let chart = test.chart(axes, &options(9), &mut Silent).unwrap();
    assert_eq!(chart.judge.model(), Model::Loop);
    let count = |verdict| chart.grid.points.iter().filter(|p| p.verdict == verdict).count();
    assert!(count(Verdict::Stable) > 5 && count(Verdict::Unstable) > 5);
    assert!(CrossCheck::new(&chart.judge, &chart.grid, &chart.boundaries).is_none());
}

/// The ratio of a main loop is a whole number: a chart has a column for each, and says the last one
/// before the verdict changes.
#[test]
fn the_ratio_of_a_main_loop_is_an_axis() {
    let lab = Lab::new();
    lab.write("two.toml", Draft::new().with("main_loop", "ratio = 2").text());
    let axes = ["main_loop.ratio=1..80", "partition.stiffness[1]=0.4..0.6 MN/m"];
    let test = Test::load(lab.path("two.toml")).unwrap();
    let few = ["main_loop.ratio=1..4", axes[1]];
    assert_eq!(test.chart(few, &options(9), &mut Silent).unwrap().grid.size, [4, 9]);
    let chart = test.chart(axes, &options(6), &mut Silent).unwrap();
    let [_, up] = chart.room(0);
    let last = up.and_then(End::change).expect("a long step makes it unstable");
    assert_eq!(last, last.round());
    for (ratio, code) in [(last, 0), (last + 1.0, 7)] {
        lab.write("one.toml", Draft::new().with("main_loop", &format!("ratio = {ratio}")).text());
        lab.twinrig(["check", "one.toml"]).exits(code);
    }
    let half = ["main_loop.ratio=1.5..4", axes[1]];
    let refused = test.chart(half, &options(6), &mut Silent).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("whole") || format!("{refused:?}").contains("whole"));
}

#[test]
fn the_command_writes_its_files_and_says_what_changes_the_verdict() {
    let lab = Lab::new();
    let ran = lab
        .twinrig(["chart", BUILDING, "--x", DELAY, "--y", SHARE, "--grid", "24x20", "--out", "c"])
        .exits(0);
    assert!(ran.out.contains("the declared experiment: stable"), "{}", ran.out);
    for words in [
        "transfer_system.delay: unstable above 0.1219 ms; declared 0.1000 ms",
        "partition.mass[1]: unstable above 50.00 %; declared 33.00 %",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let read = |name: &str| std::fs::read_to_string(lab.path("c").join(name)).unwrap();
    assert_eq!(read("points.csv").lines().count(), 1 + 24 * 20);
    assert!(read("boundary.csv").lines().count() > 20);
    assert!(read("chart.svg").starts_with("<svg") && read("chart.html").contains("data-figure"));
    let json = ["--json", "chart", BUILDING, "--x", DELAY, "--y", SHARE, "--grid", "9x9"];
    let json = lab.twinrig(json).exits(0).json();
    assert_eq!(json["model"], "delay_system");
    assert_eq!(json["declared"]["verdict"], "stable");
    assert!(lab.path("runs/08-stability-chart-chart/chart.svg").exists());
}

#[test]
fn what_makes_no_chart_is_refused_with_a_remedy() {
    let lab = Lab::new();
    lab.write("ideal.toml", Draft::new().with("transfer_system", "kind = \"ideal\"").text());
    let call = |file: &str, x: &str, y: &str| lab.twinrig(["chart", file, "--x", x, "--y", y]);
    let wrong = call(BUILDING, "transfer_system.dealy=0..1 ms", SHARE).exits(2);
    assert!(wrong.err.contains("did you mean `transfer_system.delay`"), "{}", wrong.err);
    let wrong = call(BUILDING, "transfer_system.delay=0..1", SHARE).exits(2);
    assert!(wrong.err.contains("has no unit"), "{}", wrong.err);
    for range in ["2..1 ms", "1..1 ms"] {
        let wrong = call(BUILDING, &format!("transfer_system.delay={range}"), SHARE).exits(2);
        assert!(wrong.err.contains("write the lower end first"), "{}", wrong.err);
    }
    let wrong = call(BUILDING, "transfer_system.delay=-1..1 ms", SHARE).exits(2);
    assert!(wrong.err.contains("no rig answers before it is asked"), "{}", wrong.err);
    let wrong = call(BUILDING, "transfer_system.samples=0..4", SHARE).exits(2);
    assert!(wrong.err.contains("transfer_system.delay=\"0..1 ms\""), "{}", wrong.err);
    lab.write("late.toml", Draft::new().text());
    let stiff = "partition.stiffness[1]=1..2 MN/m";
    let wrong = call("late.toml", "transfer_system.delay=0..4 ms", stiff).exits(2);
    assert!(wrong.err.contains("transfer_system.samples=0..4"), "{}", wrong.err);
    let wrong = call(BUILDING, "transfer_system.delay", SHARE).exits(2);
    assert!(wrong.err.contains("PATH=a..b"), "{}", wrong.err);
    assert!(call(BUILDING, DELAY, DELAY).exits(2).err.contains("two different numbers"));
    let ideal = call("ideal.toml", "partition.stiffness[1]=1..2 MN/m", "partition.mass[1]=0..9 kg");
    assert!(ideal.exits(1).err.contains("an ideal transfer system"));
    let size = ["chart", BUILDING, "--x", DELAY, "--y", SHARE, "--grid", "1x900"];
    assert!(lab.twinrig(size).exits(2).err.contains("2x2"));
    // All of the mass in the laboratory leaves nothing to simulate: grey, not an error.
    let some = call(BUILDING, DELAY, "partition.mass[1]=50..150 %").exits(0);
    assert!(some.out.contains("could not be judged"), "{}", some.out);
}

#[test]
fn what_is_merely_unjudged_is_no_change_of_the_verdict() {
    let lab = Lab::new();
    lab.write("test.toml", Draft::new().text());
    let test = Test::load(lab.path("test.toml")).unwrap();
    let axes = ["structure.damping.modal=2..150 %", "transfer_system.samples=0..4"];
    let chart = test.chart(axes, &options(9), &mut Silent).unwrap();
    // No file may have more than critical damping.
    let [down, up] = chart.room(0);
    assert_eq!(down, None);
    assert!(chart.boundaries.lines.is_empty(), "nothing is known to be unstable");
    assert!(matches!(up, Some(End::Unjudged(at)) if (at - 1.0).abs() < 1e-6), "{up:?}");
    let reason = chart.judge.trouble().unwrap();
    assert!(!reason.contains('\n') && !reason.starts_with("warning"), "{reason}");
    let call = ["chart", "test.toml", "--x", axes[0], "--y", axes[1], "--grid", "9x9"];
    let said = lab.twinrig(call).exits(0).out;
    assert!(said.contains("structure.damping.modal: not judged above 100"), "{said}");
    assert!(!said.contains("unstable above"), "{said}");
}

/// A late spring drives one mass for half of its period, then damps it for a while.
/// Along a delay axis many periods long, steps would jump over that.
#[test]
fn a_very_wide_delay_axis_misses_no_window() {
    let lab = Lab::new();
    let one = "shear_building = { storeys = 1, mass = \"1 t\", stiffness = \"1 MN/m\" }\n\
               damping = { modal = \"2 %\" }";
    let draft = Draft::new()
        .with("structure", one)
        .with("partition", "interface = [1]\nstiffness = [\"0.3 MN/m\"]")
        .with("transfer_system", "kind = \"delay\"\ndelay = \"50 ms\"");
    lab.write("late.toml", draft.text());
    let room = |range: &str| {
        let axis = format!("transfer_system.delay=0..{range}");
        let test = Test::load(lab.path("late.toml")).unwrap();
        let axes = [axis.as_str(), "partition.stiffness[1]=0.1..0.5 MN/m"];
        let chart = test.chart(axes, &options(9), &mut Silent).unwrap();
        assert_eq!(chart.declared.unwrap().1.verdict, Verdict::Unstable);
        chart.room(0).map(|end| end.and_then(End::change).unwrap())
    };
    let (narrow, wide) = (room("200 ms"), room("400 s"));
    assert_eq!(narrow, wide);
    // Half a period of the motion with its late spring turned round, some 3.2 Hz.
    assert!((0.15..0.157).contains(&narrow[1]), "{narrow:?}");
}

#[test]
fn a_loop_with_dynamics_says_that_there_is_nothing_to_compare() {
    let lab = Lab::new();
    let lag = "kind = \"transfer_function\"\nnumerator = [1.0]\ndenominator = [0.02, 1.0]";
    lab.write("lag.toml", Draft::new().with("transfer_system", lag).text());
    let (x, y) = ("transfer_system.denominator[1]=0.01..0.03", "partition.mass[1]=1..60 kg");
    let call =
        ["chart", "lag.toml", "--x", x, "--y", y, "--grid", "4x4", "--full", "--cross-check"];
    let said = lab.twinrig(call).exits(0).out;
    assert!(said.contains("nothing to compare"), "{said}");
    let page = std::fs::read_to_string(lab.path("runs/lag-chart/chart.html")).unwrap();
    assert!(page.contains("nothing to compare"));
}
