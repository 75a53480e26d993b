//! Recomputing a paper's results: paper, ours and the difference.
//!
//! A paper has a file of its rows, with what it prints, and experiment files; the code
//! beside them puts values into the rows. Every number under `ours` is computed in the
//! call; none is stored.

pub mod beregi;
pub mod dekraker;
pub mod galmez;
pub mod waldbjorn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use experiment::{Folder, Severity};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::onlooker::Onlooker;
use crate::test::Test;

/// One compared quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Stable name for machines.
    pub id: String,
    /// What it is.
    pub quantity: String,
    /// The paper's value, where it gives one.
    pub paper: Option<f64>,
    /// Ours; `None` where the quantity does not exist (no crossing, say).
    #[serde(skip_deserializing)]
    pub ours: Option<f64>,
    /// Its unit.
    pub unit: String,
}

/// A paper recomputed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// The paper, for people.
    pub title: String,
    /// What was put in.
    #[serde(default)]
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
    match (paper, &ground) {
        (Paper::Beregi, Some(_)) => return Err(Error::NoGround("buildings of this paper")),
        (Paper::Dekraker, Some(_)) => return Err(Error::NoGround("beams of this report")),
        _ => {}
    }
    let ground = ground.map_or(Ground::Synthetic, Ground::File);
    match paper {
        Paper::Galmez => galmez::reproduce(&ground, onlooker),
        Paper::Waldbjorn => waldbjorn::reproduce(&ground, onlooker),
        Paper::Beregi => beregi::reproduce(),
        Paper::Dekraker => Ok(dekraker::reproduce()?),
    }
    .map_err(|error| ground.blamed(error))
}

/// What shakes a paper's structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// A recorded motion.
    File(PathBuf),
    /// The project's own synthetic record.
    Synthetic,
}

impl Ground {
    /// One of our experiment files under this motion; a recorded one is scaled.
    fn test(&self, text: &str, scale: f64) -> Result<Test, Error> {
        let path = match self {
            Self::File(path) => path.as_path(),
            Self::Synthetic => Path::new(""),
        };
        let folder = Folder::new(path.parent().unwrap_or(Path::new("")));
        let test = Test::from_text("built-in", text, folder)?;
        if *self == Self::Synthetic {
            return Ok(test);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // JSON's escapes are a part of TOML's.
        let name = serde_json::Value::from(name);
        test.with("excitation.ground", &format!("{{ file = {name}, scale = {scale} }}"))
    }

    /// The user has no file of ours to look at: all that can be wrong is the motion.
    fn blamed(&self, error: Error) -> Error {
        match (self, error) {
            (Self::File(path), Error::Experiment(found)) => {
                let errors = found.items().iter().filter(|one| one.severity == Severity::Error);
                let reasons: Vec<&str> = errors.map(|item| item.message.as_str()).collect();
                Error::Ground { path: path.clone(), reason: reasons.join("; ") }
            }
            (Self::Synthetic, Error::Experiment(found)) => Error::BuiltIn(found),
            (_, error) => error,
        }
    }
}

/// What was computed, by the ids of the rows.
#[derive(Debug, Default)]
struct Values(BTreeMap<String, Option<f64>>);

impl Values {
    fn set(&mut self, id: impl Into<String>, value: impl Into<Option<f64>>) {
        self.0.insert(id.into(), value.into());
    }

    /// The rows of a paper's file with these values.
    fn fill(&self, paper: &str) -> Reproduction {
        let mut filled: Reproduction =
            toml::from_str(paper).expect("a file of ours is well formed");
        for row in &mut filled.rows {
            debug_assert!(self.0.contains_key(&row.id), "nothing is computed for {}", row.id);
            row.ours = self.0.get(&row.id).copied().flatten();
        }
        filled
    }
}
