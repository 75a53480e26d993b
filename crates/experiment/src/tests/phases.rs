//! Phases and streamed loads in the file.

use super::{changed, good, read};

const PHASES: &str = r#"
[phases]
initiating = { rate = "2 mm/s", reach = "5 mm", within = "0.1 mm" }
completing = { ring_down = "10 s", home_rate = "5 mm/s", at_rest = "0.05 mm" }
[monitor]
stability_warning = { constant = "12 J" }
"#;

fn streamed() -> String {
    let load = "ground = { streamed = { bound = \"0.5 g\" } }\nstream = { rate = \"256 Hz\" }";
    changed("ground = { file = \"kobe.csv\", scale = 0.4 }", load) + PHASES
}

#[test]
fn phases_and_streams_are_read_with_their_defaults() {
    let experiment = good(&streamed());
    let initiating = experiment.phases.initiating.unwrap();
    assert_eq!(
        (initiating.rate_m_s, initiating.settle_s, initiating.stands_at_m),
        (2e-3, 1.0, 0.0)
    );
    let completing = experiment.phases.completing.unwrap();
    assert_eq!((completing.at_rest_m, completing.ease_s), (Some(0.05e-3), 0.1));
    let stream = experiment.excitation.stream.unwrap();
    assert_eq!((stream.rate_hz, stream.buffer_s, stream.bridge_s), (256.0, 2.0, 0.05));
    assert!(experiment.files().is_empty());
    let plain = good(super::BASE);
    assert_eq!(plain.phases, super::super::PhasesSpec::default());
}

#[test]
fn what_does_not_go_together_is_said_with_a_remedy() {
    let file = streamed();
    let replaced = |old: &str, new: &str| {
        assert!(file.contains(old), "{old}");
        file.replacen(old, new, 1)
    };
    let main_loop = "[main_loop]\nratio = 8\npredictor = { kind = \"model_based\" }\n";
    let forces =
        "[[excitation.force]]\ndof = 1\nharmonic = { amplitude = \"1 N\", frequency = \"1 Hz\" }\n";
    for (text, words) in [
        (replaced("stream = { rate = \"256 Hz\" }", ""), "how the streamed signal arrives"),
        (replaced("256 Hz", "300 Hz"), "do not divide"),
        (replaced("256 Hz", "8192 Hz"), "do not divide"),
        (replaced("completing =", "# completing ="), "what the rig does then"),
        (replaced("stability_warning =", "# ="), "constant of the stability warning"),
        (replaced("rate = \"256 Hz\"", "rate = \"256 Hz\", prefill = \"3 s\""), "2 s are kept"),
        (replaced("rate = \"256 Hz\"", "rate = \"256 Hz\", buffer = \"1e6 s\""), "at most 1e7"),
        (replaced("ring_down = \"10 s\"", "ring_down = \"50 ms\""), "eases out"),
        (replaced("reach = \"5 mm\"", "reach = \"500 m\""), "would be fetched"),
        (replaced("home_rate = \"5 mm/s\"", "home_rate = \"1e-9 mm/s\""), "would go home by"),
        (replaced("bound = \"0.5 g\"", "bound = \"0 g\""), "greater than zero"),
        (replaced("[phases]", &format!("{main_loop}[phases]")), "not known ahead"),
        (replaced("[phases]", &format!("{forces}[phases]")), "streamed as a whole"),
        (changed("[integrator]", "stream = { rate = \"256 Hz\" }\n[integrator]"), "is streamed"),
    ] {
        let errors = read(&text).expect_err(words).to_string();
        assert!(errors.contains(words), "{words}:\n{errors}");
        assert!(errors.contains("\n   = "), "no remedy:\n{errors}");
    }
}
