//! What variants have in common is computed once: loads and reference responses.

use std::sync::{Arc, Mutex, PoisonError};

use analysis::criteria::Extent;
use analysis::loop_stability::LoopDescription;
use experiment::VerdictSpec;
use model::equations::Equations;
use model::integrator::Options;
use model::rates::Rates;
use runtime::load::Load;
use runtime::reference::{Reference, ReferenceError};
use runtime::verdict::Reason;

use crate::assembly::Assembly;
use crate::check::reasons;
use crate::error::Error;
use crate::forecast::{Forecast, Others, describe};

/// Kept of each sort; the oldest makes room.
const KEPT: usize = 16;

/// Loads and reference responses by what they depend on. Threads may share it.
#[derive(Debug, Default)]
pub(super) struct Shared {
    loads: Mutex<Vec<KnownLoad>>,
    references: Mutex<Vec<(ReferenceKey, Arc<Answer>)>>,
    predictions: Mutex<Vec<(PredictionKey, Vec<Reason>)>>,
}

/// A load and what it was made of.
#[derive(Debug)]
struct KnownLoad {
    series: Vec<Arc<[f64]>>,
    /// Ticks in which it goes to zero after its end, where the test goes on.
    ease_ticks: Option<usize>,
    load: Load,
}

/// Everything that a reference response depends on. The values decide, not the
/// names of the parameters: a varied actuator leaves it alone, a varied storey
/// does not.
#[derive(Debug, Clone)]
struct ReferenceKey {
    whole: Equations,
    integrator: Options,
    load: Load,
    every: u64,
}

/// Everything that the prediction of a loop depends on.
#[derive(Debug, Clone, PartialEq)]
struct PredictionKey {
    whole: Equations,
    described: LoopDescription,
    rates: Option<Rates>,
    thresholds: VerdictSpec,
}

/// A reference response and what is read off it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) reference: Reference,
    /// Largest motion of every interface DOF.
    pub(super) peaks: Vec<f64>,
    /// Extents of the motion of every interface DOF.
    pub(super) interface: Vec<Extent>,
    /// Extents of the displacement of every DOF.
    pub(super) displacement: Vec<Extent>,
}

impl Shared {
    /// The load of an assembly, side by side.
    pub(super) fn load(&self, assembly: &Assembly) -> Load {
        let series: Vec<Arc<[f64]>> =
            assembly.loads.iter().map(|signal| Arc::clone(&signal.samples)).collect();
        let completing = assembly.course.and_then(|plan| plan.completing);
        let ease_ticks = completing.map(|_| assembly.ease_ticks);
        let same = |known: &&KnownLoad| {
            known.load.ticks() == assembly.ticks
                && known.ease_ticks == ease_ticks
                && known.series.len() == series.len()
                && known.series.iter().zip(&series).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let found = |loads: &[KnownLoad]| loads.iter().find(same).map(|known| known.load.clone());
        if let Some(load) = found(&lock(&self.loads)) {
            return load;
        }
        let load = assembly.load();
        let mut loads = lock(&self.loads);
        if let Some(load) = found(&loads) {
            return load;
        }
        if loads.len() >= KEPT {
            loads.remove(0);
        }
        loads.push(KnownLoad { series, ease_ticks, load: load.clone() });
        load
    }

    /// The response of the whole structure to the load.
    pub(super) fn reference(
        &self,
        assembly: &Assembly,
        load: &Load,
    ) -> Result<Arc<Answer>, ReferenceError> {
        let whole = &assembly.substructures.whole;
        let same = |key: &ReferenceKey| {
            key.load.is_same(load)
                && key.every == assembly.every
                && key.integrator == assembly.integrator
                && key.whole == *whole
        };
        let found = lock(&self.references).iter().find(|(key, _)| same(key)).cloned();
        if let Some((_, answer)) = found {
            return Ok(answer);
        }
        let reference = assembly.reference(load)?;
        let peak = |signal: &Vec<f64>| signal.iter().fold(0.0f64, |peak, x| peak.max(x.abs()));
        let peaks = reference.interface.iter().map(peak).collect();
        let extents = |signals: &[Vec<f64>]| signals.iter().map(|s| Extent::of(s)).collect();
        let answer = Arc::new(Answer {
            peaks,
            interface: extents(&reference.interface),
            displacement: extents(&reference.displacement),
            reference,
        });
        let key = ReferenceKey {
            whole: whole.clone(),
            integrator: assembly.integrator.clone(),
            load: load.clone(),
            every: assembly.every,
        };
        let mut references = lock(&self.references);
        if references.len() >= KEPT {
            references.remove(0);
        }
        references.push((key, Arc::clone(&answer)));
        Ok(answer)
    }
}

impl Shared {
    /// What is known against the loop of an assembly before it runs.
    pub(super) fn prediction(
        &self,
        assembly: &Assembly,
        thresholds: &VerdictSpec,
    ) -> Result<Vec<Reason>, Error> {
        let key = PredictionKey {
            whole: assembly.substructures.whole.clone(),
            described: describe(assembly),
            rates: assembly.rates,
            thresholds: *thresholds,
        };
        let found = lock(&self.predictions).iter().find(|(known, _)| *known == key).cloned();
        if let Some((_, reasons)) = found {
            return Ok(reasons);
        }
        let reasons = reasons(&Forecast::new(assembly, Others::Left)?, thresholds);
        let mut predictions = lock(&self.predictions);
        if predictions.len() >= KEPT {
            predictions.remove(0);
        }
        predictions.push((key, reasons.clone()));
        Ok(reasons)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A thread that panicked cannot have left a half-written entry.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
