//! `twinrig replay`: the same measurements, the same commands?

use std::path::Path;

use serde_json::json;

use super::output::{Exit, Output, number, print, read_record};
use twinrig::replay::{Replay, replay as replayed};

pub(super) fn replay(record: &Path, output: Output) -> Exit {
    let (_, record) = match read_record(record, output) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let spinner = output.spinner();
    spinner.set_message("replaying");
    let outcome = replayed(&record);
    spinner.finish_and_clear();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return output.fail(error),
    };
    let Replay { ticks, first_difference, kind } = &outcome;
    let shown = match output {
        Output::Json => output.document(&json!({
            "ticks": ticks,
            "kind": kind.words(),
            "identical": first_difference.is_none(),
            "first_difference": first_difference.map(|d| json!({
                "tick": d.tick, "dof": d.dof + 1, "recorded": d.recorded, "replayed": d.replayed,
            })),
        })),
        Output::People => match first_difference {
            None => print(&format!(
                "{ticks} ticks, {}: every command is the same, bit for bit\n",
                kind.words()
            )),
            Some(d) => print(&format!(
                "the command of interface DOF {} first differs at tick {}: recorded {} m, \
                 replayed {} m\n",
                d.dof + 1,
                d.tick,
                number(d.recorded),
                number(d.replayed)
            )),
        },
    };
    match (first_difference, &record.summary) {
        (Some(_), _) => Exit::ReplayDiffers,
        (None, None) if shown == Exit::Done => {
            if output == Output::People {
                eprintln!("note: the record was cut off; this is what had been flushed");
            }
            Exit::Incomplete
        }
        (None, _) => shown,
    }
}
