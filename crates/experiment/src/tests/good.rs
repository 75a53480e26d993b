//! Good files give the expected values in SI.

use super::super::closed_loop::{Feedback, Method, PureDelay, TransferKind};
use super::super::excitation::SignalFormat;
use super::super::input::Column;
use super::super::reference::EXAMPLE;
use super::super::structure::{Beam, BeamEnds, Chain, Entries, MatrixTable, Rayleigh, Section};
use super::super::watch::{RecordedDofs, RecordedMotion, SafeSpec};
use super::super::*;
use super::{BASE, changed, good, read};
use keys::value::Rows;
use model::compensator::{
    AdaptiveInverseDesign, AdaptiveModelBasedDesign, AdaptiveTimeSeriesDesign, Design, PiLeadDesign,
};
use model::element::{Law, Side};
use model::excitation::{
    Chirp, Generated, HarmonicLength, Impulse, Level, Multisine, Noise, Resampling, Scaling,
    Synthetic,
};
use model::integrator::Hold;
use model::structure::{Ends, MassModel};
use model::transfer::ServoHydraulic;
use runtime::monitor::{MonitorPlan, StabilityPlan};

#[test]
fn the_example_reads_without_a_word_of_complaint() {
    let (experiment, warnings) = read(EXAMPLE).expect("example");
    assert!(warnings.is_empty(), "{warnings}");
    assert_eq!(experiment.duration_s, 40.0);
    assert_eq!(experiment.seed, 1);
    assert_eq!(experiment.ticks(), 163_840);
    assert_eq!(experiment.structure().unwrap().size(), Some(3));
    let StructureSource::Matrices { mass, stiffness } = &experiment.structure().unwrap().source
    else {
        panic!("matrices")
    };
    assert_eq!(*mass, MatrixSource::Diagonal(vec![1000.0; 3]));
    let MatrixSource::Whole(MatrixTable { unit: 1.0, entries: Entries::Rows(rows) }) = stiffness
    else {
        panic!("rows")
    };
    assert_eq!((rows.size, rows.entries[1], rows.entries[8]), (3, -23133938.9, 9267275.5));
    assert_eq!(experiment.structure().unwrap().damping, Some(DampingSource::Modal(vec![0.03])));
    assert_eq!(experiment.partition.mass, Some(SpecimenMass::Diagonal(vec![OrShare::Value(29.1)])));
    assert_eq!(experiment.partition.damping, Some(MatrixSource::Diagonal(vec![114.6])));
    assert_eq!(experiment.partition.stiffness, Some(MatrixSource::Diagonal(vec![1.19e6])));
    let ground = experiment.excitation.ground.expect("ground").signal;
    let SignalSource::Generated(Generated::Synthetic(quake)) = ground else { panic!("synthetic") };
    let Synthetic { peak, ground_frequency_hz, seed, .. } = quake;
    assert_eq!((peak, ground_frequency_hz, seed), (0.35 * 9.80665, 2.5, Some(7)));
    assert_eq!(experiment.integrator.step_s(), 1.0 / 4096.0);
    assert_eq!(*experiment.integrator.feedback, Feedback::Held);
    assert!(!experiment.integrator.feedback.stated);
    let system = &experiment.transfer_system;
    assert_eq!(
        (system.saturation_m, system.capacity_n, system.quantum_m),
        (Some(3.8), Some(8900.0), Some(3.8 * 1e-6))
    );
    assert_eq!(
        system.kind,
        TransferKind::ServoHydraulic { servo: ServoHydraulic::BENCHMARK, change: None }
    );
    assert_eq!(experiment.sensors.force_noise, Some(PerDof::All(2.18)));
    assert_eq!(experiment.sensors.force_quantum, None);
    assert_eq!(experiment.compensator.design, Design::None);
    assert_eq!(
        experiment.monitor,
        MonitorPlan {
            stability_warning: Stated {
                value: StabilityPlan {
                    stop_at: Some(1.0),
                    constant_j: Some(1.0),
                    ..StabilityPlan::default()
                },
                stated: true
            },
            ..MonitorPlan::default()
        }
    );
    assert_eq!(experiment.limits.command, Some(PerDof::All(0.02)));
    assert_eq!(experiment.limits.safe, SafeSpec { hold_s: 1.0, rate_m_s: 0.01 });
    assert_eq!(
        experiment.record,
        RecordSpec {
            every: 1,
            flush_s: 1.0,
            motion: RecordedMotion::Full,
            displacements: RecordedDofs::All,
            ring: None
        }
    );
}

#[test]
fn absent_sections_take_their_defaults() {
    let text = BASE.replace("[transfer_system]\nkind = \"ideal\"\n", "");
    let text = text.replace("[limits]\ncommand = \"20 mm\"\n", "");
    let (experiment, warnings) = read(&text).expect("defaults");
    assert_eq!(experiment.transfer_system.kind, TransferKind::Ideal);
    assert!(!experiment.transfer_system.stated && good(BASE).transfer_system.stated);
    assert_eq!(experiment.limits.safe, SafeSpec { hold_s: 0.5, rate_m_s: 0.01 });
    assert_eq!(experiment.limits.command, None);
    assert_eq!(experiment.monitor, MonitorPlan::default());
    assert_eq!((experiment.record.every, experiment.record.flush_s), (1, 1.0));
    assert_eq!(warnings.items().len(), 1, "{warnings}");
    assert!(warnings.items()[0].message.contains("no limit"));
}

#[test]
fn structures_of_every_source_are_read() {
    let source = |new: &str| {
        let start = BASE.find("mass =").expect("mass");
        let end = BASE.find("damping =").expect("damping");
        let text = format!("{}{new}\n{}", &BASE[..start], &BASE[end..]);
        good(&text.replace("names = [\"a\", \"b\", \"c\"]\n", "")).structure().unwrap().clone()
    };
    let building = source(
        r#"shear_building = { storeys = 3, mass = "1 t", stiffness = ["3 MN/m", "2 MN/m", "1 MN/m"] }"#,
    );
    let StructureSource::ShearBuilding(found) = &building.source else { panic!("building") };
    assert_eq!((found.mass(), found.stiffness()), (vec![1000.0; 3], vec![3e6, 2e6, 1e6]));
    assert_eq!((found.damping(), building.size()), (None, Some(3)));
    let chain = source(
        r#"chain = { mass = ["1 kg", "2 kg"], stiffness = ["1 N/m", "2 N/m", "3 N/m"], ends = "fixed-fixed" }"#,
    );
    assert_eq!(
        chain.source,
        StructureSource::Chain(Chain {
            mass: vec![1.0, 2.0],
            stiffness: vec![1.0, 2.0, 3.0],
            damping: None,
            ends: Ends::FixedFixed
        })
    );
    let free = source(r#"chain = { mass = ["1 kg"], stiffness = [], ends = "free-free" }"#);
    assert_eq!(free.size(), Some(1));
    let beam = source(
        r#"beam = { elements = 10, length = "0.5 m", young = "210 GPa", density = "7850 kg/m^3", width = "2 cm", height = "3 mm", ends = "clamped-free" }"#,
    );
    assert_eq!(beam.size(), Some(20));
    let StructureSource::Beam(found) = beam.source else { panic!("beam") };
    let inertia = 0.02 * 0.003_f64.powi(3) / 12.0;
    assert!((found.section.inertia_m4() / inertia - 1.0).abs() < 1e-14);
    assert!((found.section.area_m2() / 6e-5 - 1.0).abs() < 1e-14);
    let expected = Beam {
        elements: 10,
        length_m: 0.5,
        young_pa: 210e9,
        density_kg_m3: 7850.0,
        section: Section::Rectangle { width_m: 0.02, height_m: 0.003 },
        ends: BeamEnds::ClampedFree,
        mass: MassModel::Consistent,
    };
    assert_eq!(found, expected);
    let files = source(
        "mass = { file = \"m.mtx\", unit = \"t\" }\nstiffness = { file = \"k.npy\", unit = \"kN/m\" }",
    );
    assert_eq!(
        files.source,
        StructureSource::Matrices {
            mass: whole(1000.0, Entries::File("m.mtx".into())),
            stiffness: whole(1000.0, Entries::File("k.npy".into())),
        }
    );
    assert_eq!(files.size(), None, "only the files know");
}

fn whole(unit: f64, entries: Entries) -> MatrixSource {
    MatrixSource::Whole(MatrixTable { unit, entries })
}

#[test]
fn damping_comes_in_all_forms() {
    let damping = |new: &str| {
        good(&changed("damping = { modal = \"3 %\" }", new)).structure().unwrap().damping.clone()
    };
    assert_eq!(damping(""), None);
    assert_eq!(damping("damping = { modal = 0.03 }"), Some(DampingSource::Modal(vec![0.03])));
    assert_eq!(
        damping("damping = { modal = [\"3 %\", 0.02] }"),
        Some(DampingSource::Modal(vec![0.03, 0.02]))
    );
    assert_eq!(
        damping("damping = { rayleigh = { mass = \"0.1 1/s\", stiffness = \"0.1 ms\" } }"),
        Some(DampingSource::Rayleigh(Rayleigh::Factors { mass_1_s: 0.1, stiffness_s: 1e-4 }))
    );
    assert_eq!(
        damping("damping = { rayleigh = { ratios = [\"3 %\", \"2 %\"], modes = [1, 3] } }"),
        Some(DampingSource::Rayleigh(Rayleigh::Ratios { ratios: [0.03, 0.02], modes: [1, 3] }))
    );
    let matrix = |source| Some(DampingSource::Matrix(source));
    assert_eq!(
        damping("damping = [\"1 N s/m\", \"2 kN s/m\", \"3 kg/s\"]"),
        matrix(MatrixSource::Diagonal(vec![1.0, 2000.0, 3.0]))
    );
    assert_eq!(
        damping("damping = { file = \"c.csv\", unit = \"kN s/m\" }"),
        matrix(whole(1000.0, Entries::File("c.csv".into())))
    );
    let rows = Rows { size: 3, entries: vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.5] };
    assert_eq!(
        damping("damping = { unit = \"kN s/m\", rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1.5]] }"),
        matrix(whole(1000.0, Entries::Rows(rows)))
    );
}

#[test]
fn elements_and_interfaces_are_read() {
    let text = changed(
        "[partition]\ninterface = [1]\nmass = [\"29.1 kg\"]\nstiffness = [\"1.19 MN/m\"]",
        r#"[[structure.element]]
kind = "bouc_wen"
between = ["ground", 1]
stiffness = "1 MN/m"
yield_force = "5 kN"
hardening = "10 %"
[[structure.element]]
kind = "gap"
between = ["b", "c"]
stiffness = "1 MN/m"
opening = "0 mm"
side = "negative"
[partition]
interface = ["b", { from = "ground", to = 3 }]
mass = ["33 %", "2 kg"]
stiffness = { unit = "kN/m", rows = [[2, -1], [-1, 2]] }
[[partition.element]]
at = 2
kind = "bilinear"
stiffness = "1 kN/m"
yield_force = "1 N"
hardening = 0.05"#,
    );
    let experiment = good(&text);
    assert_eq!(
        experiment.structure().unwrap().elements[0].law,
        Law::BoucWen {
            stiffness: 1e6,
            yield_force: 5000.0,
            hardening: 0.1,
            exponent: 1.0,
            beta: 0.5,
            gamma: 0.5
        }
    );
    assert_eq!(experiment.structure().unwrap().elements[0].between[0], NodeRef::Ground);
    assert_eq!(
        experiment.structure().unwrap().elements[1].law,
        Law::Gap { stiffness: 1e6, opening: 0.0, side: Side::Negative }
    );
    let partition = &experiment.partition;
    assert_eq!(
        partition.mass,
        Some(SpecimenMass::Diagonal(vec![OrShare::Share(0.33), OrShare::Value(2.0)]))
    );
    assert_eq!(
        partition.stiffness,
        Some(whole(1000.0, Entries::Rows(Rows { size: 2, entries: vec![2.0, -1.0, -1.0, 2.0] })))
    );
    assert_eq!(
        partition.elements,
        [SpecimenElement {
            place: SpecimenPlace::At(2),
            law: Law::Bilinear { stiffness: 1e3, yield_force: 1.0, hardening: 0.05 }
        }]
    );
    let Interface::Dof(dof) = &partition.interface[0] else { panic!("dof") };
    assert_eq!(resolve(dof, &experiment.structure().unwrap().names, 3), Ok(1));
    let Interface::Deformation(Deformation { from: NodeRef::Ground, to: NodeRef::Dof(to) }) =
        &partition.interface[1]
    else {
        panic!("deformation")
    };
    assert_eq!(resolve(to, &experiment.structure().unwrap().names, 3), Ok(2));
}

#[test]
fn signals_of_every_source_are_read() {
    let ground = |new: &str| {
        let text = changed("{ file = \"kobe.csv\", scale = 0.4 }", new);
        good(&text).excitation.ground.expect("ground").signal
    };
    assert_eq!(
        ground(
            r#"{ file = "kobe.dat", format = "csv", unit = "g", column = 2, time_column = "t", peak = "0.35 g", start = "2 s", resample = "band_limited" }"#
        ),
        SignalSource::File(SignalFile {
            name: "kobe.dat".into(),
            format: Some(SignalFormat::Csv),
            unit_factor: Some(9.80665),
            column: Some(Column::Number(2)),
            time_column: Some(Column::Name("t".into())),
            step_s: None,
            scaling: Some(Scaling::Peak(0.35 * 9.80665)),
            start_s: 2.0,
            resample: Resampling::BandLimited,
        })
    );
    let SignalSource::File(file) = ground(r#"{ file = "elcentro.AT2" }"#) else { panic!("file") };
    assert_eq!((file.format(), file.scaling()), (Some(SignalFormat::At2), Scaling::Scale(1.0)));
    let harmonic = ground(
        r#"{ harmonic = { amplitude = "1 m/s^2", frequency = "2 Hz", phase = "90 deg", cycles = 10 } }"#,
    );
    let SignalSource::Generated(Generated::Harmonic(sine)) = harmonic else { panic!("harmonic") };
    assert_eq!((sine.amplitude, sine.frequency_hz), (1.0, 2.0));
    assert_eq!((sine.phase_rad, sine.start_s), (std::f64::consts::FRAC_PI_2, 0.0));
    assert_eq!((sine.length, sine.ramp_s), (Some(HarmonicLength::Cycles(10.0)), 0.0));
    assert_eq!(
        ground(r#"{ multisine = { amplitude = "1 mg", band = ["1 Hz", "10 Hz"], lines = 10 } }"#),
        SignalSource::Generated(Generated::Multisine(Multisine {
            level: Level::Amplitude(1e-3 * 9.80665),
            band_hz: [1.0, 10.0],
            lines: Some(10),
            period_s: 10.0,
            seed: None
        }))
    );
}

#[test]
fn forces_of_every_signal_are_read() {
    let force = changed(
        "ground = { file = \"kobe.csv\", scale = 0.4 }",
        r#"[[excitation.force]]
dof = 3
noise = { rms = "100 N", band = ["0 Hz", "15 Hz"], seed = 3 }
[[excitation.force]]
dof = "a"
impulse = { amplitude = "1 kN", at = "1 s", width = "10 ms" }
[[excitation.force]]
dof = 2
chirp = { amplitude = "1 kN", from = "1 Hz", to = "10 Hz", duration = "20 s", ramp = "1 s" }"#,
    );
    let excitation = good(&force).excitation;
    assert_eq!(excitation.ground, None);
    let signals: Vec<SignalSource> =
        excitation.forces.into_iter().map(|force| force.signal.0).collect();
    assert_eq!(
        signals,
        [
            SignalSource::Generated(Generated::Noise(Noise {
                rms: 100.0,
                band_hz: [0.0, 15.0],
                start_s: 0.0,
                duration_s: None,
                seed: Some(3)
            })),
            SignalSource::Generated(Generated::Impulse(Impulse {
                amplitude: 1000.0,
                at_s: 1.0,
                width_s: 0.01
            })),
            SignalSource::Generated(Generated::Chirp(Chirp {
                amplitude: 1000.0,
                from_hz: 1.0,
                to_hz: 10.0,
                start_s: 0.0,
                duration_s: 20.0,
                ramp_s: 1.0
            })),
        ]
    );
}

#[test]
fn methods_and_transfer_systems_are_read() {
    let method = |new: &str| good(&changed("method = \"rk4\"\nrate = \"4096 Hz\"", new)).integrator;
    let newmark = method("method = \"newmark\"\nstep = \"1 ms\"\nfeedback = \"continuous\"");
    assert_eq!(newmark.method, Method::Newmark { iterations: 20 });
    assert_eq!((newmark.step_s(), *newmark.feedback), (1e-3, Feedback::Continuous));
    assert!(newmark.feedback.stated);
    assert_eq!(
        method("method = \"exact\"\nhold = \"first\"\nstep = \"1 ms\"").method,
        Method::Exact { hold: Some(Hold::First) }
    );
    assert_eq!(
        method("method = \"kr_alpha\"\nspectral_radius = 0.8\nstep = \"1 ms\"").method,
        Method::KrAlpha { spectral_radius: 0.8 }
    );
    let system = |new: &str| good(&changed("kind = \"ideal\"", new)).transfer_system.value.kind;
    let (samples, delay) = (PureDelay::Samples(4.5), PureDelay::Delay(1.0));
    assert_eq!(system("kind = \"delay\"\nsamples = 4.5"), TransferKind::Delay(samples));
    assert_eq!(system("kind = \"delay\"\ndelay = \"1 s\""), TransferKind::Delay(delay));
    let step_s = 1.0 / 4096.0;
    assert_eq!((samples.delay_s(step_s), samples.samples(step_s)), (4.5 / 4096.0, 4.5));
    assert_eq!((delay.delay_s(step_s), delay.samples(step_s)), (1.0, 4096.0));
    assert_eq!(
        system("kind = \"transfer_function\"\nnumerator = [1]\ndenominator = [0.1, 1]"),
        TransferKind::TransferFunction {
            numerator: vec![1.0],
            denominator: vec![0.1, 1.0],
            delay_s: None
        }
    );
}

/// What a model calls its usual numbers are those of a file that gives none, but for the rounding of
/// units.
#[test]
fn declared_defaults_are_the_models_own() {
    let design =
        |kind: &str| good(&format!("{BASE}[compensator]\nkind = \"{kind}\"\n")).compensator.design;
    let near = |name: &str, declared: &[f64], own: &[f64]| {
        assert_eq!(declared.len(), own.len(), "{name}");
        for (declared, own) in declared.iter().zip(own) {
            assert!((declared - own).abs() <= 1e-15 * own.abs(), "{name}: {declared}, not {own}");
        }
    };
    let Design::AdaptiveInverse(declared) = design("adaptive_inverse") else { panic!("kind") };
    let own = AdaptiveInverseDesign::GENERIC;
    let numbers = |d: &AdaptiveInverseDesign| {
        let more = [d.noise_m, d.threshold_m, d.forgetting, d.latency_samples, d.filter_hz];
        [&d.start()[..], &d.spread, &d.lower, &d.upper, &more].concat()
    };
    near("adaptive_inverse", &numbers(&declared), &numbers(&own));
    let Design::AdaptiveTimeSeries(declared) = design("adaptive_time_series") else {
        panic!("kind")
    };
    let own = AdaptiveTimeSeriesDesign::GENERIC;
    let numbers = |d: &AdaptiveTimeSeriesDesign| {
        let more = [d.noise_m, d.threshold_m, d.window_s, d.filter_hz];
        [&d.start()[..], &d.spread, &d.lower, &d.upper, &more].concat()
    };
    near("adaptive_time_series", &numbers(&declared), &numbers(&own));
    let published = Design::AdaptiveModelBased(AdaptiveModelBasedDesign::PUBLISHED);
    assert_eq!(design("adaptive_model_based"), published);
    assert_eq!(design("pi_lead"), Design::PiLead(PiLeadDesign::BENCHMARK));
}

#[test]
fn a_written_value_can_be_pointed_at_and_a_default_points_at_its_table() {
    let experiment = good(BASE);
    let at = |path: &str| experiment.span(path).map(|span| &BASE[span]);
    assert_eq!(at("integrator.rate"), Some("\"4096 Hz\""));
    assert_eq!(at("partition.mass[1]"), Some("\"29.1 kg\""));
    for nowhere in ["partition.mass[0]", "partition.mass[2]", "a.b[x", "z", ""] {
        assert_eq!(at(nowhere), None, "{nowhere}");
    }
    assert_eq!(at("structure.names[3]"), Some("\"c\""));
    assert_eq!(at("integrator.feedback"), None);
    let placed = experiment.place("integrator.feedback", Diagnostic::error("e"));
    assert_eq!(placed.span.map(|span| &BASE[span]), Some("[integrator]"));
    let placed = experiment.place("structure.stiffness.rows[1][2]", Diagnostic::error("e"));
    let rows = "[[3, -1, 0], [-1, 2, -1], [0, -1, 1]]";
    assert_eq!(placed.span.map(|span| &BASE[span]), Some(rows));
    let mut all = experiment.diagnostics();
    all.push(experiment.place("integrator.rate", Diagnostic::error("too slow")));
    assert!(all.to_string().contains("--> test.toml:16:8\n   |  rate = \"4096 Hz\"\n"), "{all}");
}

#[test]
fn the_files_of_an_experiment_are_listed_once() {
    let text = changed(
        "damping = { modal = \"3 %\" }",
        "damping = { file = \"c.csv\", unit = \"N s/m\" }",
    )
    .replace("[integrator]", "[[excitation.force]]\ndof = 1\nfile = \"kobe.csv\"\n[integrator]");
    assert_eq!(good(&text).files(), ["kobe.csv", "c.csv"]);
}

#[test]
fn a_file_on_disk_finds_its_neighbours() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("base.toml");
    std::fs::write(&path, BASE).expect("write");
    let errors = Experiment::from_path(&path).expect_err("no kobe.csv yet");
    assert!(errors.to_string().contains("no file \"kobe.csv\""), "{errors}");
    std::fs::write(folder.path().join("kobe.csv"), "0,0\n").expect("write");
    let (experiment, _) = Experiment::from_path(&path).expect("readable");
    assert_eq!(experiment.title, "Base");
    let errors = Experiment::from_path(&folder.path().join("none.toml")).expect_err("absent");
    assert!(errors.to_string().contains("cannot be read"), "{errors}");
    std::fs::write(&path, b"title = \"\xff\"").expect("write");
    let errors = Experiment::from_path(&path).expect_err("not UTF-8");
    assert!(errors.to_string().contains("base.toml:1:10"), "{errors}");
}
