//! One variant's result as a row of the table.

use analysis::criteria::{self, Criterion};
use csv::StringRecord;
use runtime::reference::Reference;
use runtime::verdict::{Level, Reason, Verdict};
use serde::Serialize;

use super::run::frame_rate_hz;
use super::study::Variant;
use crate::assembly::Assembly;
use crate::check::UNSTABLE;
use crate::evidence::{Evidence, SELF_EXCITED, STABILITY_WARNING};
use crate::onlooker::VariantStatus;
use crate::words::titled;
use experiment::{SweepSpec, VerdictSpec};

/// What became of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was drawn.
    pub variant: Variant,
    /// How it ended.
    pub outcome: VariantStatus,
    /// Whether it was stable: nothing predicted, warned of, kept up by the loop or beyond all
    /// bounds says otherwise. `None` if it never ran.
    pub stable: Option<bool>,
    /// How far its result can be trusted, as `run` says it.
    pub verdict: Verdict,
    /// Why it was stopped, if it was.
    pub trip: Option<RowTrip>,
    /// Why it failed, or the trip in words; else empty.
    pub reason: String,
    /// One value per [`Columns::metrics`].
    pub metrics: Vec<Option<f64>>,
    /// What a reader must know of these values, such as that a search ended at its limit.
    pub notes: String,
}

impl Row {
    /// Whether its interface left all bounds, and nothing else says that it is unstable.
    pub(super) fn ran_away(&self) -> bool {
        let known = |reason: &Reason| reason.level == Level::Unsafe || is_unstable(reason);
        self.stable == Some(false) && !self.verdict.reasons.iter().any(known)
    }
}

/// Whether a finding says that the loop is unstable: predicted, warned of, or kept up by itself.
pub(super) fn is_unstable(reason: &Reason) -> bool {
    match reason.id.as_str() {
        UNSTABLE | STABILITY_WARNING => true,
        SELF_EXCITED => reason.level >= Level::Wrong,
        _ => false,
    }
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
const STATUS: [&str; 8] =
    ["outcome", "stable", "verdict", "findings", "trip", "trip time [s]", "reason", "notes"];

impl Columns {
    pub(super) fn new(spec: &SweepSpec, thresholds: &VerdictSpec, assembly: &Assembly) -> Self {
        let parameters = spec
            .vary
            .iter()
            .map(|variation| (variation.target.path.clone(), variation.target.measure.unit()));
        let metric = |id: &str, quantity: &str, unit: &str| Metric {
            id: id.to_owned(),
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
        };
        let nothing = Judged::of(assembly, thresholds, &Signals::default(), None);
        let mut metrics: Vec<Metric> = nothing
            .criteria
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
        let found = row.verdict.reasons.iter().map(|reason| reason.id.as_str());
        fields.push(row.verdict.level.word().to_lowercase());
        fields.push(found.collect::<Vec<_>>().join(" "));
        fields.push(row.trip.as_ref().map_or_else(String::new, |trip| trip.kind.clone()));
        fields.push(number(row.trip.as_ref().map(|trip| trip.time_s)));
        fields.push(row.reason.clone());
        fields.push(row.notes.clone());
        fields.extend(row.metrics.iter().map(|value| number(*value)));
        fields
    }

    /// Reads what [`fields`](Self::fields) has written, and the whole verdict behind it; `None`
    /// if it is something else.
    pub fn row(&self, fields: &StringRecord) -> Option<Row> {
        let mut fields = fields.iter();
        let mut next = || fields.next();
        let number = |text: &str| match text {
            "" => Some(None),
            text => text.parse::<f64>().ok().map(Some),
        };
        let variant = Variant {
            index: next()?.parse().ok()?,
            draw: next()?.parse().ok()?,
            seed: next()?.parse().ok()?,
            values: self.parameters.iter().map(|_| number(next()?)).collect::<Option<_>>()?,
        };
        let word = next()?;
        let outcome = VariantStatus::ALL.into_iter().find(|outcome| outcome.word() == word)?;
        let stable = match next()? {
            "yes" => Some(true),
            "no" => Some(false),
            "" => None,
            _ => return None,
        };
        let [_level, _findings] = [next()?, next()?];
        let kind = Some(next()?.to_owned()).filter(|kind| !kind.is_empty());
        let trip = kind.zip(number(next()?)?).map(|(kind, time_s)| RowTrip { kind, time_s });
        let [reason, notes] = [next()?.to_owned(), next()?.to_owned()];
        let metrics = self.metrics.iter().map(|_| number(next()?)).collect::<Option<_>>()?;
        let verdict = serde_json::from_str(next()?).ok()?;
        let row = Row { variant, outcome, stable, verdict, trip, reason, metrics, notes };
        fields.next().is_none().then_some(row)
    }
}

/// The signals of a run; none of one that has not been.
#[derive(Debug, Default)]
pub(super) struct Signals {
    pub(super) desired: Vec<Vec<f64>>,
    pub(super) measured: Vec<Vec<f64>>,
    pub(super) floors: Vec<Vec<f64>>,
}

/// What is judged of a run: the criteria from the same formulas as in a report, what speaks
/// against the result, and the error of the worst interface DOF.
pub(super) struct Judged {
    pub(super) criteria: Vec<Criterion>,
    pub(super) reasons: Vec<Reason>,
    pub(super) nrmse: Option<f64>,
}

impl Judged {
    pub(super) fn of(
        assembly: &Assembly,
        thresholds: &VerdictSpec,
        signals: &Signals,
        reference: Option<&Reference>,
    ) -> Self {
        fn at(columns: &[Vec<f64>], place: usize) -> &[f64] {
            columns.get(place).map_or(&[], Vec::as_slice)
        }
        let names: Vec<String> = (1..=assembly.count()).map(|i| i.to_string()).collect();
        let interface = |(place, name)| criteria::Interface {
            name,
            desired: at(&signals.desired, place),
            measured: at(&signals.measured, place),
            reference: reference.and_then(|of| of.interface.get(place)).map(Vec::as_slice),
        };
        let floor = |(place, dof)| criteria::Floor {
            name: assembly.simulated_name(dof),
            numerical: at(&signals.floors, place),
            reference: reference.and_then(|of| of.displacement.get(dof)).map(Vec::as_slice),
        };
        let interfaces: Vec<_> =
            names.iter().map(String::as_str).enumerate().map(interface).collect();
        let floors: Vec<_> = floors(assembly).into_iter().enumerate().map(floor).collect();
        let rate_hz = frame_rate_hz(assembly);
        let (interfaces, floors) = (&interfaces[..], &floors[..]);
        let signals = criteria::Signals { rate_hz, interfaces, floors };
        let criteria = criteria::evaluate(&signals);
        let rate_hz = Some(rate_hz);
        let evidence = Evidence { thresholds, rate_hz, interfaces, criteria: &criteria };
        let errors = interfaces.iter().filter_map(|of| criteria::nrmse(of.measured, of.reference?));
        Self { reasons: evidence.reasons().collect(), nrmse: errors.reduce(f64::max), criteria }
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
    let simulated = assembly.simulated();
    let dofs = 0..assembly.substructures.numerical.size();
    let is_dof = |dof: &usize| !assembly.amplitudes.contains(&simulated[*dof]);
    dofs.filter(is_dof).filter(|dof| !at_interface(dof)).collect()
}
