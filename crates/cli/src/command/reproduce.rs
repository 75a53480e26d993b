//! `twinrig reproduce`: a paper's results, recomputed.

use std::path::PathBuf;

use twinrig::page::text::number_or_dash;
use twinrig::reproduce::{Paper, reproduce as recompute};
use twinrig::table::Table;
use twinrig::words::{Words, titled};

use super::error::CliError;
use super::onlooker::Looker;
use super::output::{Exit, Output};

/// Paper, ours and the difference.
pub(super) fn reproduce(
    paper: Paper,
    ground: Option<PathBuf>,
    output: Output,
) -> Result<Exit, CliError> {
    let outcome = recompute(paper, ground, &mut Looker::new(output, ""))?;
    Ok(output.show(&outcome, || {
        let mut table = Table::new(&["quantity", "paper", "ours", "difference [%]"]);
        for row in &outcome.rows {
            let difference = match (row.paper, row.ours) {
                (Some(paper), Some(ours)) if paper != 0.0 => {
                    format!("{:+.1}", 100.0 * (ours - paper) / paper.abs())
                }
                _ => String::new(),
            };
            let quantity = titled(&row.quantity, &row.unit);
            let [paper, ours] = [row.paper, row.ours].map(number_or_dash);
            table.row([&quantity, &paper, &ours, &difference]);
        }
        let input = if paper == Paper::Galmez { "ground motion" } else { "input" };
        let mut words = Words::default();
        words.line(format!("{}\n{input}: {}\n", outcome.title, outcome.input));
        words.table(table);
        outcome.notes.iter().for_each(|note| words.line(note));
        words
    }))
}
