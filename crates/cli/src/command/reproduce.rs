//! `twinrig reproduce`: a paper's results, recomputed.

use std::path::PathBuf;

use super::output::{Exit, Output, number, print, table};
use twinrig::reproduce::galmez::{Ground, reproduce};
use twinrig::reproduce::{Reproduction, beregi, dekraker, waldbjorn};

pub(super) fn galmez(ground: Option<PathBuf>, output: Output) -> Exit {
    let ground = ground.map_or(Ground::Synthetic, Ground::File);
    let spinner = output.spinner();
    let outcome = reproduce(&ground, |what| spinner.set_message(what.to_owned()));
    spinner.finish_and_clear();
    match outcome {
        Ok(outcome) => show(&outcome, "ground motion", output),
        Err(error) => output.fail(error),
    }
}

pub(super) fn waldbjorn(ground: Option<PathBuf>, output: Output) -> Exit {
    let ground = ground.map_or(Ground::Synthetic, Ground::File);
    let spinner = output.spinner();
    let outcome = waldbjorn::reproduce(&ground, |what| spinner.set_message(what.to_owned()));
    spinner.finish_and_clear();
    match outcome {
        Ok(outcome) => show(&outcome, "input", output),
        Err(error) => output.fail(error),
    }
}

pub(super) fn beregi(ground: Option<PathBuf>, output: Output) -> Exit {
    if ground.is_some() {
        return output.fail("no ground shakes this paper's buildings: leave out --ground");
    }
    match beregi::reproduce() {
        Ok(outcome) => show(&outcome, "input", output),
        Err(error) => output.fail(error),
    }
}

pub(super) fn dekraker(ground: Option<PathBuf>, output: Output) -> Exit {
    if ground.is_some() {
        return output.fail("no ground shakes this report's beams: leave out --ground");
    }
    match dekraker::reproduce() {
        Ok(outcome) => show(&outcome, "input", output),
        Err(error) => output.fail(error),
    }
}

/// Paper, ours and the difference.
fn show(outcome: &Reproduction, input: &str, output: Output) -> Exit {
    if output == Output::Json {
        return output.document(&outcome.to_json());
    }
    let rows: Vec<Vec<String>> = outcome
        .rows
        .iter()
        .map(|row| {
            let difference = match (row.paper, row.ours) {
                (Some(paper), Some(ours)) if paper != 0.0 => {
                    format!("{:+.1} %", 100.0 * (ours - paper) / paper.abs())
                }
                _ => String::new(),
            };
            let show = |value: Option<f64>| value.map_or("–".to_owned(), number);
            let quantity = format!("{} [{}]", row.quantity, row.unit);
            vec![quantity, show(row.paper), show(row.ours), difference]
        })
        .collect();
    let notes: String = outcome.notes.iter().map(|note| format!("{note}\n")).collect();
    print(&format!(
        "{}\n{input}: {}\n\n{}{notes}",
        outcome.title,
        outcome.input,
        table(&["quantity", "paper", "ours", "difference"], &rows)
    ))
}
