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

use serde_json::{Value, json};

/// One compared quantity.
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, PartialEq)]
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

impl Reproduction {
    /// For machines.
    pub fn to_json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "id": row.id,
                    "quantity": row.quantity,
                    "paper": row.paper,
                    "ours": row.ours,
                    "unit": row.unit,
                })
            })
            .collect();
        json!({ "title": self.title, "input": self.input, "rows": rows, "notes": self.notes })
    }
}
