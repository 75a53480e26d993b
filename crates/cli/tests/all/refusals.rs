//! What is wrong is said with file, line, value and remedy, all at once.

use crate::common::{Draft, Lab};

/// Refused with exit 3 in both commands, by messages that hold `says`.
#[track_caller]
fn refused(lab: &Lab, draft: &Draft, says: &[&str]) {
    lab.write("test.toml", draft.text());
    let ran = lab.twinrig(["check", "test.toml"]).exits(3);
    assert!(ran.err.contains("--> test.toml:"), "no line: {}", ran.err);
    for text in says {
        assert!(ran.err.contains(text), "\"{text}\" is not said:\n{}", ran.err);
    }
    lab.twinrig(["run", "test.toml", "--out", "out"]).exits(3);
    assert!(!lab.path("out").exists(), "nothing is written for a wrong file");
    let json = lab.twinrig(["check", "test.toml", "--json"]).exits(3).json();
    let errors = json["diagnostics"].as_array().unwrap();
    assert!(errors.iter().any(|error| error["severity"] == "error" && error["line"].is_u64()));
}

#[test]
fn keys_units_and_numbers() {
    let lab = Lab::new();
    let draft = Draft::new;
    refused(&lab, &draft().top("duration = \"1 s\"\ndurration = 3"), &["unknown key `durration`"]);
    refused(
        &lab,
        &draft().top("duration = \"1 kg\""),
        &["\"1 kg\" is a mass, not a time", "20 ms"],
    );
    refused(&lab, &draft().top("duration = 5"), &["duration"]);
    refused(&lab, &draft().top("duration = \"nan s\""), &["\"nan s\""]);
    refused(&lab, &draft().top("duration = \"1e12 s\""), &["at most 1e9 are run"]);
    refused(&lab, &draft().top("duration = \"1 us\""), &["longer than the test"]);
    refused(&lab, &draft().with("limits", "command = \"-1 mm\""), &["from 1e-9 to 1e9 m"]);
    refused(
        &lab,
        &draft().with("integrator", "method = \"rk5\"\nrate = \"1 kHz\""),
        &["rk5", "rk4"],
    );
    refused(&lab, &draft().with("transfer_system", "kind = \"delay\"\nsamples = 1e9"), &["1e6"]);
    refused(
        &lab,
        &draft().with(
            "transfer_system",
            "kind = \"transfer_function\"\nnumerator = [1, 2]\ndenominator = [1]",
        ),
        &["no actuator differentiates"],
    );
}

#[test]
fn matrices() {
    let lab = Lab::new();
    let structure = |mass: &str, stiffness: &str| {
        let text = format!("mass = {mass}\nstiffness = {stiffness}");
        Draft::new().with("structure", &text)
    };
    let (mass, rows) =
        ("[\"1 t\", \"1 t\"]", "{ unit = \"N/m\", rows = [[2e6, -1e6], [-1e6, 1e6]] }");
    refused(
        &lab,
        &structure("{ unit = \"kg\", rows = [[1000, 10], [20, 1000]] }", rows),
        &["not symmetric", "20", "make them equal"],
    );
    refused(
        &lab,
        &structure(mass, "{ unit = \"N/m\", rows = [[2e6, -3e6], [-3e6, 1e6]] }"),
        &["negative eigenvalue", "check the signs"],
    );
    refused(
        &lab,
        &structure(mass, "{ unit = \"N/m\", rows = [[2e6, -1e6], [-1e6]] }"),
        &["row 2 has 1"],
    );
    refused(
        &lab,
        &structure(mass, "{ unit = \"N/m\", rows = [[2e6, nan], [-1e6, 1e6]] }"),
        &["row 1"],
    );
    refused(
        &lab,
        &structure(mass, "{ unit = \"kg\", rows = [[2, 1], [1, 2]] }"),
        &["not a stiffness"],
    );
    refused(&lab, &structure("[\"1 t\"]", rows), &["`mass` has 1 entry, not 2"]);
    refused(&lab, &structure("[\"1 t\", \"0 kg\"]", rows), &["DOF 2 a mass"]);
    refused(
        &lab,
        &structure("{ unit = \"kg\", rows = [[1, 2], [2, 1]] }", rows),
        &["not positive definite"],
    );
    refused(&lab, &Draft::new().with("partition", "interface = [1]\nmass = [\"2 t\"]"), &["mass"]);
    refused(&lab, &Draft::new().with("partition", "interface = [7]"), &["no degree of freedom 7"]);
    refused(&lab, &Draft::new().with("partition", "interface = [1, 1]"), &["listed twice"]);
}

#[test]
fn matrix_files() {
    let lab = Lab::new();
    let coordinate = |rest: &str| format!("%%MatrixMarket matrix coordinate real general\n{rest}");
    lab.write("hello.mtx", "hello\n")
        .write("far.mtx", coordinate("2 2 1\n3 1 1\n"))
        .write("short.mtx", coordinate("2 2 3\n1 1 1\n"))
        .write("huge.mtx", coordinate("999999999 999999999 1\n1 1 1\n"))
        .write("nan.mtx", coordinate("2 2 1\n1 1 nan\n"))
        .write("three.mtx", coordinate("3 3 3\n1 1 1\n2 2 1\n3 3 1\n"))
        .write("damaged.npy", b"\x93NUMPY\x01\x00v\x00{")
        .write("text.npy", "1 2 3")
        .write("uneven.csv", "1,2\n3\n")
        .write("words.csv", "1,2\n3,four\n")
        .write("k.xls", "?");
    for (file, says) in [
        ("absent.mtx", "check the name"),
        ("hello.mtx", "should begin with"),
        ("far.mtx", "line 3: entry (3, 1) lies outside"),
        ("short.mtx", "promises 3 entries, the file holds 1"),
        ("huge.mtx", "999999999 rows, and at most"),
        ("nan.mtx", "line 3: the value is NaN"),
        ("three.mtx", "3 × 3"),
        ("damaged.npy", "header is damaged"),
        ("text.npy", "not an NPY file"),
        ("uneven.csv", "line 2 has 1 columns"),
        ("words.csv", "line 2, column 2: \"four\""),
        ("k.xls", "use a file that ends in .mtx, .npy, .csv"),
    ] {
        let text = format!(
            "mass = [\"1 t\", \"1 t\"]\nstiffness = {{ file = \"{file}\", unit = \"N/m\" }}"
        );
        refused(&lab, &Draft::new().with("structure", &text), &[says]);
    }
}

#[test]
fn motion_files() {
    let lab = Lab::new();
    let at2 = |rest: &str| format!("PEER\nKOBE\nACCELERATION TIME SERIES IN UNITS OF G\n{rest}");
    lab.write("nan.csv", "time,accel_m_s2\n0,0\n0.01,1\n0.02,nan\n")
        .write("back.csv", "0,0\n0.02,1\n0.01,1\n")
        .write("word.csv", "0,0\n0.01,abc\n")
        .write("short.csv", "0,0\n0.01\n")
        .write("empty.csv", "")
        .write("unicode.csv", b"\xff\xfe0\x00,\x000\x00")
        .write("unit.csv", "0,0\n0.01,1\n")
        .write("cut.AT2", at2("NPTS= 60, DT= .01 SEC\n0.1 0.2\n"))
        .write("head.AT2", "PEER\n")
        .write("still.AT2", at2("NPTS= 2, DT= 0 SEC\n0.1 0.2\n"));
    for (file, says) in [
        ("absent.csv", "no file \"absent.csv\""),
        ("nan.csv", "line 4: the value is NaN; remove or repair"),
        ("back.csv", "line 3: time 0.01 s follows 0.02 s"),
        ("word.csv", "line 2, column 2: \"abc\" is not a number; write numbers like"),
        ("short.csv", "line 2 has 1 columns"),
        ("empty.csv", "at least two are needed"),
        ("unicode.csv", "UTF-16 text; save it as CSV in UTF-8"),
        ("unit.csv", "add unit = \"m/s^2\""),
        ("cut.AT2", "promises NPTS = 60 samples, the file holds 2"),
        ("head.AT2", "line 4 should hold"),
        ("still.AT2", "must be greater than zero"),
    ] {
        let text = format!("ground = {{ file = \"{file}\" }}");
        refused(&lab, &Draft::new().with("excitation", &text), &[file, says]);
    }
}

#[test]
fn several_errors_come_together() {
    let lab = Lab::new();
    let draft = Draft::new()
        .top("duration = \"3 kg\"\ncolour = \"red\"")
        .with("partition", "interface = [9]\nstiffness = [\"1 MN\"]")
        .with("limits", "command = 20")
        .with("excitation", "ground = { file = \"absent.csv\" }");
    lab.write("test.toml", draft.text());
    let ran = lab.twinrig(["check", "test.toml"]).exits(3);
    for says in ["3 kg", "colour", "1 MN", "command", "absent.csv"] {
        assert!(ran.err.contains(says), "\"{says}\" is not said:\n{}", ran.err);
    }
    assert!(ran.err.matches("error: ").count() >= 5, "{}", ran.err);
    let json = lab.twinrig(["check", "test.toml", "--json"]).exits(3).json();
    for item in json["diagnostics"].as_array().unwrap() {
        assert_eq!(item["file"], "test.toml");
        assert!(item["remedy"].is_string(), "{item}");
    }
}

#[test]
fn files_that_are_no_experiment() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("folder")).unwrap();
    lab.write("latin.toml", b"title = \"\xe9t\xe9\"\n").write("nothing.toml", "");
    for (file, says) in [
        ("absent.toml", "name an experiment file that exists"),
        ("folder", "it is not a regular file"),
        ("latin.toml", "save it as UTF-8"),
        ("nothing.toml", "exactly one of `structure`, `component`"),
    ] {
        let ran = lab.twinrig(["run", file]).exits(3);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn compensators_and_their_rigs() {
    let lab = Lab::new();
    for (text, says) in [
        ("kind = \"inverse\"", "lacks `coefficients`"),
        ("kind = \"inverse\"\ncoefficients = []", "coefficients"),
        ("kind = \"inverse\"\ncoefficients = [1, nan]", "coefficients"),
        ("kind = \"inverse\"\ncoefficients = [1, 2, 3, 4, 5, 6, 7]", "7 entries"),
        ("kind = \"first_order\"\nlead = \"-1 ms\"", "zero or more"),
        ("kind = \"forward_prediction\"\ndelay = \"1 ms\"\norder = 5", "from 1 to 4"),
        ("kind = \"forward_prediction\"\ndelay = \"1e9 s\"", "shorten `delay`"),
        ("coefficients = [1]", "does not go with kind = \"adaptive_inverse\""),
        ("start_delay = \"200 ms\"", "outside its bounds"),
        ("upper = [1.5, 0.1]", "it takes exactly 4 entries"),
        ("lower = [2, 0, 0, 0]", "outside its bounds"),
        ("filter = \"600 Hz\"", "half the rate"),
        ("low_pass = \"1 kHz\"", "half the rate"),
        ("noise = \"0 m\"", "greater than zero"),
        ("kind = \"adaptive\"", "adaptive_inverse"),
    ] {
        refused(&lab, &Draft::new().with("compensator", text), &[says]);
    }
    let late = "force_delay_samples = 1";
    refused(
        &lab,
        &Draft::new()
            .with("sensors", late)
            .with("transfer_system", "kind = \"delay\"\nsamples = 0.5"),
        &["answers at once"],
    );
    refused(
        &lab,
        &Draft::new().with("sensors", late).with("transfer_system", "kind = \"ideal\""),
        &["stepped on its own"],
    );
    refused(&lab, &Draft::new().with("sensors", "force_delay_samples = 1e9"), &["whole number"]);
    let change = |text: &str| {
        let text = format!("kind = \"servo_hydraulic\"\nchange = {{ {text} }}");
        Draft::new().with("transfer_system", &text)
    };
    refused(&lab, &change("leakage = 5"), &["lacks `at`"]);
    refused(&lab, &change("at = \"3 s\""), &["choose an earlier time"]);
    refused(&lab, &change("at = \"0.1 s\", servo_stiffness = 0"), &["greater than zero"]);
    refused(
        &lab,
        &change("at = \"0.1 s\"")
            .with("integrator", "method = \"rk4\"\nrate = \"1 kHz\"\nfeedback = \"continuous\""),
        &["stepped on its own"],
    );
}
