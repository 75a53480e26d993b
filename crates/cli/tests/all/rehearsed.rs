//! What a prediction assumes is rehearsed before a real test.

#![cfg(target_os = "linux")]

use crate::common::{Draft, Lab};
use crate::network::{ended, rig};
use runtime::record::Record;

/// What the prediction assumes is rehearsed before a real test; the finding is told, in the verdict
/// and in the record.
#[test]
fn what_a_prediction_assumes_is_rehearsed_before_a_real_test() {
    let lab = Lab::new();
    let draft = |amplitude: &str| {
        let load = format!(
            "ground = {{ harmonic = {{ amplitude = \"{amplitude}\", frequency = \"2 Hz\" }} }}"
        );
        Draft::new()
            .with("realtime", "overrun_limit = 1000000\npriority = 10")
            .with("excitation", &load)
            .with("transfer_system", "kind = \"delay\"\nsamples = 2\nsaturation = \"1 mm\"")
    };
    let call = ["run", "test.toml", "--realtime", "--out"];
    for (folder, amplitude, agrees) in [("small", "0.01 m/s^2", true), ("large", "20 m/s^2", false)]
    {
        lab.write("test.toml", draft(amplitude).text());
        let ran = lab.twinrig(call.into_iter().chain([folder]));
        assert!(
            ran.err.contains("the prediction assumes: an actuator without limits"),
            "{}",
            ran.err
        );
        assert_eq!(ran.err.contains("agrees; it took"), agrees, "{}", ran.err);
        assert_eq!(ran.out.contains("does not bear it out"), !agrees, "{}", ran.out);
        let record = Record::read(lab.path(folder).join("record.arrow")).unwrap();
        let fact = record.header.machine.iter().find(|(name, _)| name == "rehearsed before");
        assert!(fact.unwrap().1.contains("an actuator without limits"), "{fact:?}");
        let predicted = &record.header.prediction;
        assert_eq!(predicted.iter().any(|reason| reason.id == "rehearsal"), !agrees);
    }
    // A rehearsal in virtual time is the rehearsal.
    let alone = lab.twinrig(["run", "test.toml", "--out", "virtual"]);
    assert!(!alone.err.contains("the prediction assumes"), "{}", alone.err);
}

/// Whatever stands at the other end of a wire: without a model of it nothing can be rehearsed.
#[test]
fn a_rig_without_a_model_cannot_be_rehearsed_and_that_is_doubtful() {
    let lab = Lab::new();
    let wire = "address = \"127.0.0.1:47071\"\ntimeout = \"20 s\"\nwatchdog = \"20 s\"";
    let draft = Draft::new().with("rig", wire);
    lab.write("test.toml", draft.text());
    let laboratory = rig(&lab);
    // The laboratory knows its rig, the loop does not.
    let (known, own) = ("kind = \"delay\"\nsamples = 2", draft.text());
    lab.write("test.toml", own.replace(&format!("[transfer_system]\n{known}\n"), ""));
    let call = ["run", "test.toml", "--rig", &laboratory.address, "--out", "far"];
    let ran = lab.twinrig(call);
    let record = Record::read(lab.path("far/record.arrow")).unwrap();
    let predicted = &record.header.prediction;
    assert!(predicted.iter().any(|reason| reason.id == "not_rehearsed"), "{}", ran.err);
    assert!(
        ran.err.contains("a rig that follows at once; it could not be rehearsed"),
        "{}",
        ran.err
    );
    ended(laboratory);
    let checked = lab.twinrig(["check", "test.toml"]);
    assert!(checked.out.contains("Verdict: doubtful"), "{}", checked.out);
}
