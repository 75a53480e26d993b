//! One variant's result as a row of the table.

use analysis::criteria;
use csv::StringRecord;
use serde::Serialize;

use super::study::Variant;
use crate::assembly::Assembly;
use crate::onlooker::VariantStatus;
use experiment::SweepSpec;

/// What became of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was drawn.
    pub variant: Variant,
    /// How it ended.
    pub outcome: VariantStatus,
    /// Whether its motion stayed within bounds; `None` if it never ran.
    pub stable: Option<bool>,
    /// Why it was stopped, if it was.
    pub trip: Option<RowTrip>,
    /// Why it failed, or the trip in words; else empty.
    pub reason: String,
    /// One value per [`Columns::metrics`].
    pub metrics: Vec<Option<f64>>,
}

/// A trip in a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowTrip {
    /// Its kind, one word for machines.
    pub kind: String,
    /// When.
    pub time_s: f64,
}

/// A number that every variant gives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// Short name: `J1` … , `NRMSE`, `SW`.
    pub id: String,
    /// In words.
    pub quantity: String,
    /// Its unit.
    pub unit: String,
}

/// The columns of the table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Columns {
    /// Path and unit of every parameter.
    pub parameters: Vec<(String, &'static str)>,
    /// What is measured of every variant.
    pub metrics: Vec<Metric>,
}

/// Columns between the parameters and the metrics.
const STATUS: [&str; 5] = ["outcome", "stable", "trip", "trip time [s]", "reason"];

impl Columns {
    pub(super) fn new(spec: &SweepSpec, assembly: &Assembly) -> Self {
        let parameters = spec
            .vary
            .iter()
            .map(|variation| (variation.target.path.clone(), variation.target.measure.unit()));
        let metric = |id: &str, quantity: &str, unit: &str| Metric {
            id: id.to_owned(),
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
        };
        let interfaces: Vec<String> = (1..=assembly.count()).map(|i| i.to_string()).collect();
        let empty: &[f64] = &[];
        let at: Vec<criteria::Interface<'_>> = interfaces
            .iter()
            .map(|name| criteria::Interface {
                name,
                desired: empty,
                measured: empty,
                reference: None,
            })
            .collect();
        let floors: Vec<criteria::Floor<'_>> = floors(assembly)
            .into_iter()
            .map(|dof| criteria::Floor {
                name: assembly.simulated_name(dof),
                numerical: empty,
                reference: None,
            })
            .collect();
        let signals =
            criteria::Signals { rate_hz: 1.0, longest_lag: 0, interfaces: &at, floors: &floors };
        let mut metrics: Vec<Metric> = criteria::evaluate(&signals)
            .into_iter()
            .map(|criterion| metric(&criterion.id, &criterion.quantity, criterion.unit))
            .collect();
        metrics.extend([
            metric("NRMSE", "rms error of the measured motion against the reference", "%"),
            metric("SW", "largest stability warning", "%"),
            metric("tracking error", "largest tracking error", "m"),
            metric("force", "largest measured force", "N"),
        ]);
        Self { parameters: parameters.collect(), metrics }
    }

    /// The head of the table.
    pub fn head(&self) -> Vec<String> {
        let titled = |name: &str, unit: &str| match unit {
            "" => name.to_owned(),
            unit => format!("{name} [{unit}]"),
        };
        let mut head: Vec<String> = ["variant", "draw", "seed"].map(str::to_owned).to_vec();
        head.extend(self.parameters.iter().map(|(path, unit)| titled(path, unit)));
        head.extend(STATUS.map(str::to_owned));
        head.extend(self.metrics.iter().map(|metric| titled(&metric.id, &metric.unit)));
        head
    }

    /// A row of the table as text. Numbers are the shortest that read back the same.
    pub fn fields(&self, row: &Row) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:?}"));
        let Variant { index, draw, seed, values } = &row.variant;
        let mut fields = vec![index.to_string(), draw.to_string(), seed.to_string()];
        fields.extend(values.iter().map(|value| number(*value)));
        fields.push(row.outcome.word().to_owned());
        fields.push(match row.stable {
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
            None => String::new(),
        });
        fields.push(row.trip.as_ref().map_or_else(String::new, |trip| trip.kind.clone()));
        fields.push(number(row.trip.as_ref().map(|trip| trip.time_s)));
        fields.push(row.reason.clone());
        fields.extend(row.metrics.iter().map(|value| number(*value)));
        fields
    }

    /// Reads what [`fields`](Self::fields) has written; `None` if it is something else.
    pub fn row(&self, fields: &StringRecord) -> Option<Row> {
        let (parameters, metrics) = (self.parameters.len(), self.metrics.len());
        if fields.len() != 3 + parameters + STATUS.len() + metrics {
            return None;
        }
        let field = |at: usize| fields.get(at);
        let number = |at: usize| match field(at)? {
            "" => Some(None),
            text => text.parse::<f64>().ok().map(Some),
        };
        let status = 3 + parameters;
        let outcome = VariantStatus::ALL.into_iter().find(|o| Some(o.word()) == field(status))?;
        let stable = match field(status + 1)? {
            "yes" => Some(true),
            "no" => Some(false),
            "" => None,
            _ => return None,
        };
        let kind = Some(field(status + 2)?.to_owned()).filter(|kind| !kind.is_empty());
        let trip = kind.zip(number(status + 3)?).map(|(kind, time_s)| RowTrip { kind, time_s });
        Some(Row {
            variant: Variant {
                index: field(0)?.parse().ok()?,
                draw: field(1)?.parse().ok()?,
                seed: field(2)?.parse().ok()?,
                values: (3..status).map(number).collect::<Option<_>>()?,
            },
            outcome,
            stable,
            trip,
            reason: field(status + 4)?.to_owned(),
            metrics: (0..metrics)
                .map(|at| number(status + STATUS.len() + at))
                .collect::<Option<_>>()?,
        })
    }
}

/// The DOFs that have criteria of their own: recorded, not at the interface, and no
/// amplitudes of modes.
pub(super) fn floors(assembly: &Assembly) -> Vec<usize> {
    if assembly.detail == runtime::frame::MotionDetail::Interface {
        return Vec::new();
    }
    let at_interface = |dof: &usize| {
        let places = &assembly.substructures.numerical.interface;
        places.iter().any(|place| place.from.is_none() && place.to == Some(*dof))
    };
    let stayed = assembly.reduced.as_ref().map_or(usize::MAX, |reduced| reduced.names.len());
    let dofs = 0..assembly.substructures.numerical.size().min(stayed);
    dofs.filter(|dof| !at_interface(dof)).collect()
}
