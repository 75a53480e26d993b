//! What variants of one experiment share: each file is read once, each signal
//! sampled once, each structure reduced once.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use numerics::interpolate::Series;

use super::cache;
use super::load::Kind;
use super::reduced::Reduced;
use super::state_space::StateReduced;
use experiment::SignalFile;
use experiment::excitation::SignalSource;
use model::excitation::Resampling;

/// Signals kept of each sort. Variants that differ in nothing but the rig need
/// one; a grid over load levels needs a few; the oldest makes room.
const KEPT: usize = 16;

/// Signals already read and sampled. Threads may share it.
#[derive(Debug, Default)]
pub struct SignalStore {
    series: Mutex<Vec<((SignalFile, Kind), Series)>>,
    sampled: Mutex<Vec<(SampledKey, Arc<[f64]>)>>,
    reduced: Mutex<Vec<(u128, Arc<Reduced>)>>,
    states: Mutex<Vec<(u128, Arc<StateReduced>)>>,
    /// Where reduced models are kept for the next process.
    folder: Option<PathBuf>,
    reused: AtomicBool,
    kept: AtomicBool,
}

/// Everything that the samples of a signal depend on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SampledKey {
    pub(super) declared: SignalSource,
    pub(super) kind: Kind,
    pub(super) rate_hz: f64,
    pub(super) duration_s: f64,
    pub(super) seed: Option<u64>,
}

impl SignalStore {
    /// A store that keeps reduced models in a folder, too.
    pub fn keeping(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..Self::default() }
    }

    /// Whether a reduced model came from the folder.
    pub fn reused(&self) -> bool {
        self.reused.load(Ordering::Relaxed)
    }

    /// Whether the last reduced model that was made is in the folder now.
    pub fn kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// The reduced model with this digest, from memory or from the folder.
    pub(super) fn reduced(&self, key: u128) -> Option<Arc<Reduced>> {
        if let Some(found) = find(&self.reduced, &key) {
            return Some(found);
        }
        let found = cache::load(self.folder.as_deref()?, key)?;
        self.reused.store(true, Ordering::Relaxed);
        Some(keep(&self.reduced, key, Arc::new(found)))
    }

    /// Keeps a reduced model. A folder that cannot be written to costs the next
    /// process its time, nothing else.
    pub(super) fn keep_reduced(&self, reduced: Reduced) -> Arc<Reduced> {
        if let Some(folder) = &self.folder {
            self.kept.store(cache::save(folder, &reduced).is_ok(), Ordering::Relaxed);
        }
        keep(&self.reduced, reduced.key, Arc::new(reduced))
    }

    /// The first-order model with this digest, from memory.
    pub(super) fn states(&self, key: u128) -> Option<Arc<StateReduced>> {
        find(&self.states, &key)
    }

    /// Keeps a first-order model in memory.
    pub(super) fn keep_states(&self, key: u128, made: StateReduced) -> Arc<StateReduced> {
        keep(&self.states, key, Arc::new(made))
    }

    /// The samples under this key, made by `make` if nobody has made them yet.
    pub(super) fn sampled(
        &self,
        key: &SampledKey,
        make: impl FnOnce() -> Option<Vec<f64>>,
    ) -> Option<Arc<[f64]>> {
        if let Some(found) = find(&self.sampled, key) {
            return Some(found);
        }
        // Two threads may both make it: the lock is not held meanwhile.
        let made: Arc<[f64]> = make()?.into();
        Some(keep(&self.sampled, key.clone(), made))
    }

    /// The series of a file, in SI but before it is scaled, moved or resampled.
    pub(super) fn series<E>(
        &self,
        file: &SignalFile,
        kind: Kind,
        read: impl FnOnce() -> Result<Series, E>,
    ) -> Result<Series, E> {
        let plain = SignalFile {
            scaling: None,
            start_s: 0.0,
            resample: Resampling::Linear,
            ..file.clone()
        };
        let key = (plain, kind);
        match find(&self.series, &key) {
            Some(found) => Ok(found),
            None => Ok(keep(&self.series, key, read()?)),
        }
    }
}

fn find<K: PartialEq, V: Clone>(entries: &Mutex<Vec<(K, V)>>, key: &K) -> Option<V> {
    // A thread that panicked cannot have left a half-written entry.
    let entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
    entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
}

/// Keeps a value, or gives the one that another thread has kept meanwhile, so
/// that all share one.
fn keep<K: PartialEq, V: Clone>(entries: &Mutex<Vec<(K, V)>>, key: K, value: V) -> V {
    let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = entries.iter().find(|(known, _)| *known == key) {
        return known.clone();
    }
    if entries.len() >= KEPT {
        entries.remove(0);
    }
    entries.push((key, value.clone()));
    value
}
