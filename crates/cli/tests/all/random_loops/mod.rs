//! The verdict of `twinrig check` against the running loop, on random loops.
//!
//! A seed gives an experiment file (`generator`). The file is judged beforehand by
//! `forecast`, as `check` does; then its loop runs in virtual time after a push,
//! and what remains of the motion says how it really grows (`growth`). No model of
//! the loop stands on that side. `docs/random-loops.md` says how to run more.

mod agreement;
mod comparison;
mod experiment;
mod further;
mod generator;
mod growth;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use agreement::{Agreement, agreement};
use comparison::{Compared, Outcome, compare, compare_file};

/// Loops that are compared in an ordinary run of the tests.
const LOOPS: u64 = 200;

/// Experiments that are compared in an ordinary run of the tests.
const EXPERIMENTS: u64 = 300;

/// Known cases that are refused: their step is too long for their integrator.
const REFUSED: [&str; 2] = ["rk4-damper-ideal", "rk4-indefinite"];

fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn number(name: &str, absent: u64) -> u64 {
    from_environment(name).map_or(absent, |text| text.parse().expect("a whole number"))
}

fn compare_all(seeds: std::ops::Range<u64>) -> Vec<Compared> {
    of_all(seeds, compare)
}

/// Looks at all seeds on all cores; in the order of the seeds.
fn of_all<T: Send>(seeds: std::ops::Range<u64>, one: fn(u64) -> T) -> Vec<T> {
    let next = AtomicU64::new(seeds.start);
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let found = one(seed);
                    done.lock().unwrap().push((seed, found));
                }
            });
        }
    });
    let mut all = done.into_inner().unwrap();
    all.sort_by_key(|(seed, _)| *seed);
    all.into_iter().map(|(_, found)| found).collect()
}

/// Headline and findings, record, report and JSON, energies, replay, forecast and row of a sweep.
#[test]
fn everything_that_is_said_of_random_experiments_agrees() {
    if let Some(seed) = from_environment("TWINRIG_RANDOM_EXPERIMENT") {
        let one = agreement(seed.parse().expect("a seed"));
        println!("{}\n{:?} {:?}", one.text, one.level, one.failures);
        return;
    }
    let from = number("TWINRIG_RANDOM_EXPERIMENTS_FROM", 1);
    let seeds = from..from + number("TWINRIG_RANDOM_EXPERIMENTS", EXPERIMENTS);
    let all = of_all(seeds, agreement);
    let mut failed = String::new();
    for Agreement { seed, failures, .. } in all.iter().filter(|one| !one.failures.is_empty()) {
        let _ = writeln!(failed, "seed {seed}: {}", failures.join("; "));
    }
    let table = agreement::table(&all);
    println!("{table}");
    if let Some(path) = from_environment("TWINRIG_RANDOM_EXPERIMENTS_TABLE") {
        std::fs::write(path, format!("{failed}{table}")).unwrap();
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn the_verdict_of_random_loops_is_that_of_their_runs() {
    if let Some(seed) = from_environment("TWINRIG_RANDOM_LOOP") {
        show(seed.parse().expect("a seed"));
        return;
    }
    let from = number("TWINRIG_RANDOM_LOOPS_FROM", 1);
    let all = compare_all(from..from + number("TWINRIG_RANDOM_LOOPS", LOOPS));
    let table = comparison::table(&all);
    println!("{table}");
    if let Some(path) = from_environment("TWINRIG_RANDOM_LOOPS_TABLE") {
        std::fs::write(path, comparison::list(&all) + &table).unwrap();
    }
    let failed: Vec<&Compared> =
        all.iter().filter(|compared| compared.outcome.is_failure()).collect();
    if let Some(first) = failed.first() {
        let mut words = String::new();
        for compared in &failed {
            let _ = writeln!(words, "{}", compared.line());
        }
        panic!("{} of {} differ\n{words}\nthe first:\n{}", failed.len(), all.len(), first.file);
    }
    let unjudged = all.iter().filter(|compared| compared.outcome == Outcome::Unclear).count();
    assert!(100 * unjudged <= all.len(), "{unjudged} runs of {} are not understood", all.len());
}

/// The forecast of the library is what the program says: exit code 7 where the
/// run grows.
#[test]
fn the_program_says_the_same_of_the_first_loops() {
    let built = (option_env!("CARGO_BIN_EXE_twinrig"), option_env!("CARGO_TARGET_TMPDIR"));
    let (Some(program), Some(folder)) = built else { return };
    let file = Path::new(folder).join("random-loop.toml");
    let clear = compare_all(1..13).into_iter().filter(|c| c.outcome == Outcome::Agrees);
    for compared in clear {
        std::fs::write(&file, &compared.file).unwrap();
        let code = Command::new(program).arg("check").arg(&file).output().unwrap().status.code();
        let grows = compared.run.is_some_and(|run| run.growth_1_s > 0.0);
        assert_eq!(code, Some(if grows { 7 } else { 0 }), "{}", compared.line());
    }
}

#[test]
fn loops_that_were_judged_wrongly_are_judged_as_they_run() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/random_loops/cases");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    assert!(names.len() > 20);
    let mut failed = String::new();
    for path in names {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        if REFUSED.contains(&name.as_str()) {
            assert!(comparison::assemble(&text).is_err(), "{name} is accepted");
            continue;
        }
        let compared = compare_file(&name, &text);
        println!("{}", compared.line());
        if compared.outcome.is_failure() {
            let _ = writeln!(failed, "{}", compared.line());
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

/// Writes the file of one seed to standard output, with what is known about it.
fn show(seed: u64) {
    let compared = compare(seed);
    println!("{}\n{}", compared.file, compared.line());
}
