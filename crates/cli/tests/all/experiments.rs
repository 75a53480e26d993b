//! Every kind of structure, partition, excitation, integrator and transfer
//! system runs, and means what it says.

use crate::common::{Draft, Lab};
use runtime::record::Record;

/// Rehearses and gives the record; the replay must agree with it.
#[track_caller]
fn record(draft: &Draft) -> Record {
    let lab = Lab::new();
    lab.rehearse(draft).exits(0);
    lab.twinrig(["replay", "out"]).exits(0);
    Record::read(lab.path("out/record.arrow")).unwrap()
}

fn with_files(draft: &Draft, files: &[(&str, &[u8])]) -> Record {
    let lab = Lab::new();
    for (name, bytes) in files {
        lab.write(name, bytes);
    }
    lab.rehearse(draft).exits(0);
    // The files are inside the record: a replay needs them no more.
    for (name, _) in files {
        std::fs::remove_file(lab.path(name)).unwrap();
    }
    lab.twinrig(["replay", "out"]).exits(0);
    Record::read(lab.path("out/record.arrow")).unwrap()
}

fn peak(record: &Record, channel: &str) -> f64 {
    let column = record.column(channel).unwrap_or_else(|| panic!("no {channel}"));
    column.iter().fold(0.0, |peak, value| value.abs().max(peak))
}

/// K of the draft as NumPy saves it.
fn npy() -> Vec<u8> {
    let mut header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }".to_owned();
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    for value in [2e6_f64, -1e6, -1e6, 1e6] {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[test]
fn the_same_matrix_from_any_source_gives_the_same_motion() {
    let inline = record(&Draft::new());
    let mtx =
        b"%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2e6\n2 1 -1e6\n2 2 1e6\n";
    let npy = npy();
    for (name, bytes) in
        [("k.mtx", mtx.as_slice()), ("k.npy", &npy), ("k.csv", b"2e6,-1e6\n-1e6,1e6\n")]
    {
        let text = format!(
            "mass = [\"1000 kg\", \"1 t\"]\nstiffness = {{ file = \"{name}\", unit = \"N/m\" }}\n\
             damping = {{ modal = \"3 %\" }}"
        );
        let read = with_files(&Draft::new().with("structure", &text), &[(name, bytes)]);
        assert_eq!(read.column("command.1"), inline.column("command.1"), "{name}");
    }
    for structure in [
        "shear_building = { storeys = 2, mass = \"1000 kg\", stiffness = \"1 MN/m\" }",
        "shear_building = { mass = [\"1 t\", \"1 t\"], stiffness = [\"1 MN/m\", \"1 MN/m\"] }",
        "chain = { mass = [\"1 t\", \"1 t\"], stiffness = [\"1 kN/mm\", \"1 MN/m\"] }",
    ] {
        let text = format!("{structure}\ndamping = {{ modal = \"3 %\" }}");
        let built = record(&Draft::new().with("structure", &text));
        assert_eq!(built.column("command.1"), inline.column("command.1"), "{structure}");
    }
}

#[test]
fn every_builder_and_damping_runs() {
    let chain = |ends: &str, springs: usize| {
        let springs = vec!["\"1 MN/m\""; springs].join(", ");
        format!(
            "chain = {{ mass = [\"1 t\", \"1 t\", \"1 t\"], stiffness = [{springs}], \
             ends = \"{ends}\" }}\n"
        )
    };
    for (ends, springs) in
        [("fixed-free", 3), ("free-fixed", 3), ("fixed-fixed", 4), ("free-free", 2)]
    {
        record(&Draft::new().with("structure", &chain(ends, springs)));
    }
    let matrices = "mass = [\"1 t\", \"1 t\"]\n\
                    stiffness = { unit = \"N/m\", rows = [[2e6, -1e6], [-1e6, 1e6]] }\n";
    for damping in [
        "",
        "damping = { modal = 0.02 }",
        "damping = { modal = [\"2 %\", \"5 %\"] }",
        "damping = { rayleigh = { mass = \"0.5 1/s\", stiffness = \"1 ms\" } }",
        "damping = { rayleigh = { ratios = [\"3 %\", \"3 %\"], modes = [1, 2] } }",
        "damping = [\"1 kN s/m\", \"500 N s/m\"]",
        "damping = { unit = \"N s/m\", rows = [[2000, -1000], [-1000, 1000]] }",
    ] {
        record(&Draft::new().with("structure", &format!("{matrices}{damping}")));
    }
    let partition = "interface = [1]\nmass = [\"0.01 kg\"]\nstiffness = [\"1 kN/m\"]";
    for ends in ["clamped-free", "clamped-clamped", "pinned-pinned", "clamped-pinned", "free-free"]
    {
        for mass in ["consistent", "lumped"] {
            let beam = format!(
                "beam = {{ elements = 4, length = \"2 m\", young = \"210 GPa\", \
                 density = \"7850 kg/m^3\", width = \"100 mm\", height = \"10 mm\", \
                 ends = \"{ends}\", mass = \"{mass}\" }}\ndamping = {{ modal = \"2 %\" }}"
            );
            // A pinned end turns but does not move; a free beam has no spring to give away.
            let partition = match ends {
                "pinned-pinned" => partition.replace("[1]", "[2]"),
                "free-free" => partition.replace("stiffness = [\"1 kN/m\"]", ""),
                _ => partition.to_owned(),
            };
            let draft = Draft::new().with("structure", &beam).with("partition", &partition);
            let draft = draft.with("integrator", "method = \"newmark\"\nrate = \"1024 Hz\"");
            record(&draft);
        }
    }
}

#[test]
fn partitions_by_number_name_share_and_deformation() {
    let named = "names = [\"floor\", \"roof\"]\n\
                 shear_building = { storeys = 2, mass = \"1 t\", stiffness = \"1 MN/m\" }\n\
                 damping = { modal = \"3 %\" }";
    let partitioned = |partition: &str| {
        record(&Draft::new().with("structure", named).with("partition", partition))
    };
    let rest = "stiffness = [\"0.2 MN/m\"]";
    let number = partitioned(&format!("interface = [2]\nmass = [\"330 kg\"]\n{rest}"));
    let name = partitioned(&format!("interface = [\"roof\"]\nmass = [\"330 kg\"]\n{rest}"));
    let share = partitioned(&format!("interface = [\"roof\"]\nmass = [\"33 %\"]\n{rest}"));
    assert_eq!(number.column("command.1"), name.column("command.1"));
    assert_eq!(number.column("command.1"), share.column("command.1"));
    assert!(number.column("numerical.roof").is_some());

    let storey = partitioned(&format!("interface = [{{ from = \"floor\", to = 2 }}]\n{rest}"));
    let (low, high) = (storey.column("numerical.floor"), storey.column("numerical.roof"));
    for ((desired, low), high) in
        storey.column("desired.1").unwrap().iter().zip(low.unwrap()).zip(high.unwrap())
    {
        assert!((desired - (high - low)).abs() <= 1e-15, "the deformation of the storey");
    }
    let ground = partitioned(&format!("interface = [{{ from = \"ground\", to = 1 }}]\n{rest}"));
    let first = partitioned(&format!("interface = [1]\n{rest}"));
    assert_eq!(ground.column("command.1"), first.column("command.1"));

    let two = partitioned(
        "interface = [1, { from = 1, to = 2 }]\nmass = [\"20 kg\", \"10 kg\"]\n\
         stiffness = [\"0.2 MN/m\", \"0.1 MN/m\"]",
    );
    assert!(peak(&two, "force.1") > 0.0 && peak(&two, "force.2") > 0.0);
    let matrix = partitioned(
        "interface = [1, 2]\nstiffness = { unit = \"kN/m\", rows = [[200, -100], [-100, 100]] }",
    );
    assert!(peak(&matrix, "force.2") > 0.0);
}

#[test]
fn an_ideal_rig_gives_the_structure_itself() {
    for (method, tolerance) in [("rk4", 1e-12), ("newmark", 1e-9), ("exact", 1e-12)] {
        let record = record(
            &Draft::new()
                .with("integrator", &format!("method = \"{method}\"\nrate = \"1024 Hz\""))
                .with("transfer_system", "kind = \"ideal\""),
        );
        let scale = peak(&record, "reference.interface.1");
        let (reference, measured) =
            (record.column("reference.interface.1").unwrap(), record.column("measured.1").unwrap());
        let worst = reference.iter().zip(measured).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(scale > 1e-4 && worst <= tolerance * scale, "{method}: {worst} of {scale}");
    }
}

#[test]
fn every_excitation_shakes() {
    for signal in [
        "harmonic = { amplitude = \"1 m/s^2\", frequency = \"5 Hz\", phase = \"90 deg\" }",
        "harmonic = { amplitude = \"0.1 g\", frequency = \"20 Hz\", cycles = 2, ramp = \"10 ms\" }",
        "chirp = { amplitude = \"1 m/s^2\", from = \"1 Hz\", to = \"20 Hz\", duration = \"0.2 s\" }",
        "noise = { rms = \"1 m/s^2\", band = [\"5 Hz\", \"50 Hz\"] }",
        "multisine = { rms = \"1 m/s^2\", band = [\"4 Hz\", \"40 Hz\"] }",
        "multisine = { amplitude = \"1 m/s^2\", band = [\"4 Hz\", \"40 Hz\"], lines = 3, seed = 4 }",
        "synthetic = { peak = \"0.3 g\", seed = 7 }",
        "impulse = { amplitude = \"1 m/s^2\", width = \"20 ms\", at = \"10 ms\" }",
    ] {
        // The synthetic earthquake begins after a quiet eighth of at least 5 s.
        let draft = Draft::new()
            .top("duration = \"1 s\"")
            .with("excitation", &format!("ground = {{ {signal} }}"));
        let record = record(&draft);
        assert!(peak(&record, "desired.1") > 1e-7, "{signal}");
    }
    let forces = "force = [{ dof = 2, harmonic = { amplitude = \"1 kN\", frequency = \"5 Hz\" } }, \
                  { dof = 1, impulse = { amplitude = \"2 kN\", width = \"20 ms\" } }]";
    let record = record(&Draft::new().with("excitation", forces));
    assert!(peak(&record, "desired.1") > 1e-5);
}

#[test]
fn recorded_motions_come_from_any_table() {
    let at2 = "PEER\nKOBE\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS= 5, DT= .0500 SEC\n\
               0.0 0.1 -0.1\n 0.05 0.0\n";
    let g = 9.80665;
    let csv = format!(
        "time,accel_m_s2\n0,0\n0.05,{}\n0.1,{}\n0.15,{}\n0.2,0\n",
        0.1 * g,
        -0.1 * g,
        0.05 * g
    );
    let files = [("a.AT2", at2.as_bytes()), ("b.csv", csv.as_bytes())];
    let first = |source: &str, files: &[(&str, &[u8])]| {
        let text = format!("ground = {{ {source} }}");
        peak(&with_files(&Draft::new().with("excitation", &text), files), "desired.1")
    };
    let wanted = first("file = \"a.AT2\"", &files[..1]);
    let close = |value: f64| (value / wanted - 1.0).abs() < 1e-9;
    assert!(close(first("file = \"b.csv\"", &files[1..])));
    assert!(close(first("file = \"b.csv\", scale = -1", &files[1..])));
    assert!(close(first("file = \"b.csv\", peak = \"0.1 g\"", &files[1..])));
    let column = ("c.csv", "0\n0.1\n-0.1\n0.05\n0\n".as_bytes());
    assert!(close(first(
        "file = \"c.csv\", step = \"50 ms\", unit = \"g\", column = 1",
        &[column]
    )));
    // As a spreadsheet of the Continent writes it.
    let comma = ("d.csv", "0;0\n0,05;0,1\n0,1;-0,1\n0,15;0,05\n0,2;0\n".as_bytes());
    assert!(close(first("file = \"d.csv\", unit = \"g\"", &[comma])));
    assert!(first("file = \"b.csv\", resample = \"band_limited\"", &files[1..]) > 0.0);
}

const METHODS: [&str; 8] = [
    "rk4\"",
    "exact\"",
    "exact\"\nhold = \"first\"",
    "newmark\"",
    "implicit_euler\"",
    "cr\"",
    "kr_alpha\"",
    "kr_alpha\"\nspectral_radius = 1.0",
];

const TRANSFER_SYSTEMS: [&str; 8] = [
    "kind = \"ideal\"",
    "kind = \"delay\"\nsamples = 0",
    "kind = \"delay\"\nsamples = 3",
    "kind = \"delay\"\ndelay = \"2.5 ms\"",
    "kind = \"transfer_function\"\nnumerator = [1e9]\ndenominator = [1, 3e3, 3e6, 1e9]",
    "kind = \"transfer_function\"\nnumerator = [500]\ndenominator = [1, 500]\ndelay = \"1 ms\"",
    "kind = \"servo_hydraulic\"",
    "kind = \"servo_hydraulic\"\nsaturation = \"50 mm\"\nquantum = \"4 um\"\ncapacity = \"8.9 kN\"",
];

/// What may be said instead of running.
const REFUSALS: [&str; 3] = [
    "feedback = \"continuous\" needs the method rk4 or exact",
    "a pure delay works on sampled signals",
    "the exact method is for linear models",
];

/// Runs, or refuses in words of its own; gives whether it ran.
fn runs_or_says_why(lab: &Lab, draft: &Draft, case: &str) -> bool {
    let ran = lab.rehearse(draft);
    match ran.code {
        0 => {
            lab.twinrig(["replay", "out"]).exits(0);
            true
        }
        3 => {
            let known = REFUSALS.iter().any(|says| ran.err.contains(says));
            assert!(known && ran.err.contains("--> test.toml:"), "{case}: {}", ran.err);
            false
        }
        code => panic!("{case}: exit {code}\n{}", ran.err),
    }
}

#[test]
fn every_integrator_takes_every_transfer_system() {
    let lab = Lab::new();
    let short = Draft::new().top("duration = \"40 ms\"");
    for transfer in TRANSFER_SYSTEMS {
        for method in METHODS {
            for feedback in ["", "\nfeedback = \"held\"", "\nfeedback = \"continuous\""] {
                let integrator = format!("method = \"{method}\nrate = \"1024 Hz\"{feedback}");
                let draft =
                    short.clone().with("integrator", &integrator).with("transfer_system", transfer);
                let case = format!("{transfer} {integrator}");
                let ran = runs_or_says_why(&lab, &draft, &case);
                assert!(ran || feedback.contains("continuous"), "{case}: refused");
            }
        }
    }
}

#[test]
fn nonlinear_elements_work_on_both_sides() {
    let lab = Lab::new();
    let laws = [
        "kind = \"bilinear\"\nstiffness = \"0.4 MN/m\"\nyield_force = \"200 N\"\nhardening = \"5 %\"",
        "kind = \"elastic_plastic\"\nstiffness = \"0.4 MN/m\"\nyield_force = \"200 N\"",
        "kind = \"bouc_wen\"\nstiffness = \"0.4 MN/m\"\nyield_force = \"200 N\"\nhardening = 0.1",
        "kind = \"gap\"\nstiffness = \"1 MN/m\"\nopening = \"0.1 mm\"\nside = \"positive\"",
    ];
    let base = Draft::new().top("duration = \"60 ms\"");
    let structure = "mass = [\"1 t\", \"1 t\"]\ndamping = { modal = \"3 %\" }\n\
                     stiffness = { unit = \"N/m\", rows = [[2e6, -1e6], [-1e6, 1e6]] }\n";
    let mut ran = Vec::new();
    for law in laws {
        for method in METHODS {
            let integrator = format!("method = \"{method}\nrate = \"1024 Hz\"");
            let simulated =
                format!("{structure}[[structure.element]]\nbetween = [\"ground\", 2]\n{law}");
            let draft = base.clone().with("structure", &simulated).with("integrator", &integrator);
            if runs_or_says_why(&lab, &draft, &format!("simulated {law} {integrator}")) {
                ran.push(method);
            }
            let tested = format!(
                "interface = [1]\nmass = [\"30 kg\"]\n[[partition.element]]\nat = 1\n{law}"
            );
            let draft = base.clone().with("partition", &tested).with("integrator", &integrator);
            let case = format!("tested {law} {integrator}");
            assert!(runs_or_says_why(&lab, &draft, &case), "{case}: the rig takes any specimen");
        }
    }
    for method in ["rk4\"", "newmark\"", "implicit_euler\"", "cr\"", "kr_alpha\""] {
        assert_eq!(ran.iter().filter(|&&m| m == method).count(), 4, "{method} takes every law");
    }
}

const COMPENSATORS: [&str; 12] = [
    "kind = \"none\"",
    "kind = \"first_order\"\nlead = \"20 ms\"\ngain = 0.99",
    "kind = \"inverse\"\ncoefficients = [0.992542, 0.0248894, 1.06623e-4, 3.85639e-7]",
    "kind = \"inverse\"\ncoefficients = [1, 0.02]\nderivatives = \"differences\"",
    "kind = \"forward_prediction\"\ndelay = \"20 ms\"\norder = 4",
    "kind = \"adaptive_model_based\"\nstart_delay = \"15 ms\"",
    "kind = \"adaptive_inverse\"\nlatency = 1.5\nupper = [1.2, 0.05, 1e-3, 1e-5]",
    "kind = \"adaptive_time_series\"\nwindow = \"0.5 s\"",
    "kind = \"pi_lead\"",
    "# A table without a kind means the default.",
    "low_pass = \"200 Hz\"\nsaturation = \"50 mm\"\nrate = \"2 m/s\"",
    "kind = \"none\"\nlow_pass = \"200 Hz\"",
];

/// A servo-hydraulic rig with noise, quantised, its force one sample late.
fn laboratory(compensator: &str) -> Draft {
    Draft::new()
        .top("duration = \"1.5 s\"")
        .with("integrator", "method = \"rk4\"\nrate = \"4096 Hz\"")
        .with("transfer_system", "kind = \"servo_hydraulic\"\nquantum = \"3.8 um\"")
        .with(
            "sensors",
            "displacement_noise = \"16 um\"\nforce_noise = \"2 N\"\nforce_delay_samples = 1",
        )
        .with("compensator", compensator)
}

#[test]
fn every_compensator_runs_and_replays_bit_for_bit() {
    for compensator in COMPENSATORS {
        // `record` replays: what was learnt depends on the measurements alone.
        let record = record(&laboratory(compensator));
        assert_eq!(record.column("command.1").unwrap().len(), 6144, "{compensator}");
        let adapted = record.column("compensator.1.a1").map(<[f64]>::to_vec);
        let adaptive = compensator.contains("adaptive") || !compensator.contains("kind =");
        assert_eq!(adapted.is_some(), adaptive, "{compensator}");
        if let Some(a1) = adapted {
            let (first, last) = (a1[0], a1[6143]);
            assert!((last - first).abs() > 1e-4 && last > 0.015, "{compensator}: {first} {last}");
        }
    }
}

#[test]
fn the_default_is_the_adaptive_inverse() {
    let [named, absent] = ["kind = \"adaptive_inverse\"", ""].map(|text| record(&laboratory(text)));
    assert_eq!(named.column("command.1"), absent.column("command.1"));
}

#[test]
fn a_rig_may_change_on_the_way() {
    let transfer = "kind = \"servo_hydraulic\"\nquantum = \"3.8 um\"\n\
                    change = { at = \"0.8 s\", specimen_stiffness = \"70 %\", leakage = 5.9 }";
    let plain = record(&laboratory(""));
    let plain = plain.column("achieved.1").unwrap();
    let lab = Lab::new();
    lab.rehearse(&laboratory("").with("transfer_system", transfer)).exits(0);
    // The measurements are in the record: a replay needs to know of no change.
    lab.twinrig(["replay", "out"]).exits(0);
    let changed = Record::read(lab.path("out/record.arrow")).unwrap();
    let changed = changed.column("achieved.1").unwrap();
    let tick = (0.8 * 4096.0_f64).round() as usize;
    assert_eq!(plain[..tick], changed[..tick]);
    let apart = plain.iter().zip(changed).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart > 1e-5, "{apart:e}");
}

#[test]
fn the_forecast_says_what_it_knows_of_the_compensator() {
    let said = |compensator: &str| {
        let lab = Lab::new();
        lab.write("test.toml", laboratory(compensator).text());
        let ran = lab.twinrig(["check", "test.toml", "--json"]);
        (ran.code, ran.json())
    };
    let verdict = |compensator: &str| said(compensator).1["stability"].as_str().unwrap().to_owned();
    // The rig is some 24 ms late: alone it feeds energy in, its inverse does not.
    let (code, none) = said("kind = \"none\"");
    assert_eq!((code, none["stability"].as_str()), (7, Some("unstable")));
    let exact = "kind = \"inverse\"\ncoefficients = [0.992542, 0.0248894, 1.06623e-4, 3.85639e-7]";
    assert_eq!(verdict(exact), "stable");
    assert_eq!(verdict("kind = \"first_order\"\nlead = \"24 ms\""), "stable");
    // A filter on the command is one more delay; feedback is judged as a loop
    // within the loop.
    assert_eq!(verdict("kind = \"none\"\nlow_pass = \"100 Hz\""), "unstable");
    let feedback = verdict("kind = \"pi_lead\"");
    let rehearsed = {
        let lab = Lab::new();
        lab.rehearse(&laboratory("kind = \"pi_lead\"")).code
    };
    assert_eq!((feedback.as_str(), rehearsed), ("stable", 0));
    // One that adapts is judged as it starts and as it will have learnt.
    let (_, adaptive) = said("");
    assert!(adaptive["words"].as_str().unwrap().contains("adaptive"), "{}", adaptive["words"]);
    assert_eq!(adaptive["stability"], "stable");
    assert_eq!(adaptive["loop"]["as_started"]["stable"], true, "{adaptive}");
}
