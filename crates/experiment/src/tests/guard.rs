//! `[monitor]` and `[[fault]]`, good and bad.

use runtime::monitor::{Levels, WindowedPlan};
use runtime::rig::FaultySensor;

use super::super::fault::{FaultKindSpec, FaultSpec};
use super::super::{Diagnostics, Severity};
use super::{BASE, good, read};

const NONE: Levels = Levels { warn_at: None, hold_at: None, ramp_down_at: None, abort_at: None };

fn with(text: &str) -> String {
    format!("{BASE}{text}\n")
}

#[test]
fn every_indicator_takes_its_levels_in_si() {
    let monitor = good(&with(
        r#"[monitor]
stability_warning = { warn_at = "50 %", hold_at = "80 %", ramp_down_at = 0.9, abort_at = "100 %" }
windowed_warning = { window = "3 s", warn_at = "60 %", constant = "2 J" }
energy_error = { abort_at = "40 %" }
forecast = { warn_below = "3 s", hold_below = "500 ms" }
tracking = { delay = { warn_at = "2 ms", ramp_down_at = "4 ms" }, amplitude = { hold_at = "20 %" } }
limits_used = { warn_at = "80 %" }"#,
    ))
    .monitor;
    assert_eq!(monitor.stability_warning.stop_at, None);
    let all = Levels {
        warn_at: Some(0.5),
        hold_at: Some(0.8),
        ramp_down_at: Some(0.9),
        abort_at: Some(1.0),
    };
    assert_eq!(monitor.stability_warning.levels(), all);
    let levels = Levels { warn_at: Some(0.6), ..NONE };
    assert_eq!(
        monitor.windowed_warning,
        Some(WindowedPlan { window_s: 3.0, constant_j: Some(2.0), levels })
    );
    let energy_error = monitor.energy_error.expect("energy error");
    assert_eq!(energy_error.levels, Levels { abort_at: Some(0.4), ..NONE });
    let forecast = monitor.forecast.expect("forecast");
    let levels = Levels { warn_at: Some(3.0), hold_at: Some(0.5), ..NONE };
    assert_eq!((forecast.window_s, forecast.levels()), (2.0, levels));
    let tracking = monitor.tracking.expect("tracking");
    assert_eq!(tracking.window_s, 1.0);
    let levels = Levels { warn_at: Some(0.002), ramp_down_at: Some(0.004), ..NONE };
    assert_eq!(tracking.delay.levels, levels);
    assert_eq!(tracking.amplitude.levels, Levels { hold_at: Some(0.2), ..NONE });
    let limits_used = monitor.limits_used.expect("limits used");
    assert_eq!(limits_used.levels, Levels { warn_at: Some(0.8), ..NONE });
}

#[test]
fn an_indicator_is_on_if_its_key_is_there() {
    let monitor =
        good(&with("[monitor]\nwindowed_warning = {}\nenergy_error = {}\ntracking = {}")).monitor;
    let windowed = WindowedPlan { window_s: 5.0, constant_j: None, levels: NONE };
    assert_eq!(monitor.windowed_warning, Some(windowed));
    assert_eq!(monitor.energy_error.map(|spec| spec.levels), Some(NONE));
    assert!(monitor.tracking.is_some() && monitor.forecast.is_none());
    assert!(monitor.limits_used.is_none());
}

#[test]
fn every_fault_is_read() {
    let fault = |text: &str| -> FaultSpec {
        let experiment = good(&with(&format!("[[fault]]\nat = \"2 s\"\n{text}")));
        assert_eq!(experiment.faults.len(), 1);
        experiment.faults[0]
    };
    for (text, kind) in [
        ("kind = \"delay\"\nby = \"2 ms\"", FaultKindSpec::Delay { by_s: 0.002 }),
        ("kind = \"delay_jitter\"\nmost = \"1 ms\"", FaultKindSpec::DelayJitter { most_s: 0.001 }),
        (
            "kind = \"dropped_commands\"\nprobability = \"5 %\"",
            FaultKindSpec::DroppedCommands { probability: 0.05 },
        ),
        (
            "kind = \"repeated_samples\"\nprobability = 1.0",
            FaultKindSpec::RepeatedSamples { probability: 1.0 },
        ),
        ("kind = \"sensor_nan\"", FaultKindSpec::SensorNan { sensor: FaultySensor::Both }),
        (
            "kind = \"sensor_nan\"\nsensor = \"force\"",
            FaultKindSpec::SensorNan { sensor: FaultySensor::Force },
        ),
        ("kind = \"frozen_displacement\"", FaultKindSpec::FrozenDisplacement),
        ("kind = \"stuck_actuator\"", FaultKindSpec::StuckActuator),
        (
            "kind = \"saturated_actuator\"\nrate = \"20 mm/s\"",
            FaultKindSpec::SaturatedActuator { position_m: None, rate_m_s: Some(0.02) },
        ),
        (
            "kind = \"load_cell_drift\"\ndrift = \"-0.1 kN\"",
            FaultKindSpec::LoadCellDrift { drift_n_s: -100.0 },
        ),
        ("kind = \"wrong_sign\"", FaultKindSpec::WrongSign),
        ("kind = \"specimen_failure\"", FaultKindSpec::SpecimenFailure { remaining: 0.0 }),
    ] {
        let found = fault(text);
        assert_eq!((found.kind, found.at_s), (kind, 2.0), "{text}");
        assert_eq!((found.until_s(), found.dof_index()), (f64::INFINITY, None), "{text}");
    }
    let timed = fault("kind = \"wrong_sign\"\nduration = \"3 s\"\ndof = 1");
    assert_eq!((timed.until_s(), timed.dof_index()), (5.0, Some(0)));
    assert_eq!(fault("kind = \"wrong_sign\"\nuntil = \"3 s\"").until_s(), 3.0);
}

#[test]
fn bad_monitors_and_faults_are_refused_with_a_remedy() {
    for (text, message, remedy) in [
        (
            "[monitor]\nstability_warning = { stop_at = \"100 %\", hold_at = \"90 %\" }",
            "`stop_at` and `hold_at` exclude one another",
            "keep one of",
        ),
        (
            "[monitor]\nwindowed_warning = { window = \"1 us\" }",
            "`window` is 1e-6 s",
            "from 0.001 to 3600",
        ),
        (
            "[monitor]\ntracking = { window = \"2 ms\" }",
            "a window of 0.002 s holds 8.2 steps",
            "choose at least \"0.0156 s\"",
        ),
        ("[monitor]\nforecast = { warn_at = \"3 s\" }", "unknown key `warn_at`", "`warn_below`"),
        ("[monitor]\nforecast = { warn_below = 3 }", "3 has no unit", "\"3 s\""),
        (
            "[monitor]\nenergy_error = { warn_at = \"-5 %\" }",
            "`warn_at` is -0.05",
            "from 0.01 to 10",
        ),
        ("[monitor]\nlimits_used = { warn_at = nan }", "`warn_at`", ""),
        (
            "[monitor]\ntracking = { delay = { warn_at = \"2 mm\" } }",
            "is a length, not a time",
            "\"20 ms\"",
        ),
        ("[[fault]]\nat = \"1 s\"", "lacks `kind`", "`delay`"),
        ("[[fault]]\nkind = \"gremlin\"", "`kind` cannot be \"gremlin\"", "`delay`"),
        (
            "[[fault]]\nkind = \"wrong_sign\"\nprobability = 0.1",
            "`probability` does not go with kind = \"wrong_sign\"",
            "\"dropped_commands\" or \"repeated_samples\"",
        ),
        ("[[fault]]\nkind = \"delay\"", "lacks `by`", "add"),
        (
            "[[fault]]\nkind = \"dropped_commands\"\nprobability = 1.5",
            "`probability` is 1.5; it must be from 0 to 1",
            "write \"1.5 %\"",
        ),
        (
            "[[fault]]\nkind = \"saturated_actuator\"",
            "needs at least one of `position`, `rate`",
            "add",
        ),
        (
            "[[fault]]\nkind = \"wrong_sign\"\nat = \"3 s\"\nuntil = \"2 s\"",
            "ends before it begins at 3 s",
            "`duration`",
        ),
        (
            "[[fault]]\nkind = \"wrong_sign\"\nuntil = \"3 s\"\nduration = \"2 s\"",
            "`until` and `duration` exclude one another",
            "keep one of",
        ),
        ("[[fault]]\nkind = \"wrong_sign\"\ndof = 2", "no interface DOF 2", "lists 1"),
        ("[[fault]]\nkind = \"delay\"\nby = \"1 h\"", "too late", "shorter"),
        ("[[fault]]\nkind = \"delay\"\nby = \"1 us\"", "round to none", "one step"),
    ] {
        let found = read(&with(text)).expect_err(text);
        assert_eq!(found.items().len(), 1, "{text}\n{found}");
        let item = &found.items()[0];
        assert!(item.message.contains(message), "{text}\n{found}");
        assert!(item.remedy.as_deref().unwrap_or_default().contains(remedy), "{text}\n{found}");
        assert!(item.span.is_some(), "{text}");
    }
    let many = "[[fault]]\nkind = \"wrong_sign\"\n".repeat(65);
    assert!(read(&with(&many)).expect_err("too many").to_string().contains("65 entries"));
}

#[test]
fn doubtful_monitors_and_faults_are_warned_of() {
    let warned = |text: &str| -> Diagnostics { read(&with(text)).expect(text).1 };
    for (text, message) in [
        (
            "[monitor]\nstability_warning = { warn_at = \"100 %\", stop_at = \"100 %\" }",
            "`warn_at` never comes before `stop_at`",
        ),
        (
            "[monitor]\nforecast = { warn_below = \"1 s\", abort_below = \"2 s\" }",
            "`warn_below` never comes before `abort_below`",
        ),
        ("[monitor]\ntracking = { window = \"50 s\" }", "longer than the test of 40 s"),
        ("[[fault]]\nkind = \"wrong_sign\"\nat = \"40 s\"", "after the test of 40 s"),
    ] {
        let found = warned(text);
        assert_eq!(found.items().len(), 1, "{found}");
        assert_eq!(found.items()[0].severity, Severity::Warning);
        assert!(found.items()[0].message.contains(message), "{found}");
    }
}
