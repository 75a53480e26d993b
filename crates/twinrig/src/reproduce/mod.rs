//! Recomputing a paper's results: paper, ours and the difference.
//!
//! Every number under `ours` is computed in the call; none is stored.

pub mod benchmark;
pub mod beregi;
mod chirp;
pub mod dekraker;
pub mod galmez;
mod iterative;
mod loops;
pub mod multirate;
pub mod shaken_building;
pub mod waldbjorn;

use std::path::PathBuf;

use serde::Serialize;

use crate::error::Error;
use crate::onlooker::Onlooker;
use galmez::Ground;

/// One compared quantity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Stable name for machines.
    pub id: String,
    /// What it is.
    pub quantity: String,
    /// The paper's value, where it gives one.
    pub paper: Option<f64>,
    /// Ours; `None` where the quantity does not exist (no crossing, say).
    pub ours: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
}

/// A paper recomputed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reproduction {
    /// The paper, for people.
    pub title: &'static str,
    /// What was put in.
    pub input: String,
    /// The rows.
    pub rows: Vec<Row>,
    /// What a reader should know of the differences.
    pub notes: Vec<String>,
}

/// Papers that can be recomputed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paper {
    /// Gálmez & Fermandois 2020: online stability of hybrid tests.
    Galmez,
    /// Waldbjørn et al.: multi-rate real-time hybrid simulation.
    Waldbjorn,
    /// Beregi et al.: delay stability and iterative hybrid testing.
    Beregi,
    /// De Kraker 1994: component mode synthesis.
    Dekraker,
}

/// Recomputes a paper's results, with a recorded ground motion or the project's
/// synthetic one.
pub fn reproduce(
    paper: Paper,
    ground: Option<PathBuf>,
    onlooker: &mut dyn Onlooker,
) -> Result<Reproduction, Error> {
    let stage = |what: &str| onlooker.stage(what);
    match (paper, ground) {
        (Paper::Beregi, Some(_)) => Err(Error::NoGround("buildings of this paper")),
        (Paper::Dekraker, Some(_)) => Err(Error::NoGround("beams of this report")),
        (Paper::Beregi, None) => beregi::reproduce(),
        (Paper::Dekraker, None) => Ok(dekraker::reproduce()?),
        (Paper::Galmez, ground) => {
            galmez::reproduce(&ground.map_or(Ground::Synthetic, Ground::File), stage)
        }
        (Paper::Waldbjorn, ground) => {
            waldbjorn::reproduce(&ground.map_or(Ground::Synthetic, Ground::File), stage)
        }
    }
}
