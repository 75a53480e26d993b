//! Everything that requests share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Semaphore;
use twinrig::verdict::Verdict;

use crate::audit::Audit;
use crate::folder::Served;
use crate::lease::Lease;
use crate::lock::lock;
use crate::run::Runs;
use crate::study::Studies;
use crate::ticket::Tickets;
use crate::tokens::Tokens;

/// Computations for the editor at a time.
const JUDGES: usize = 2;
/// Viewers of the live stream at a time.
const VIEWERS: usize = 200;

/// Verdicts of files, with the time at which each was written; none where none can be had.
pub(crate) type Verdicts = Mutex<HashMap<String, (f64, Option<Verdict>)>>;

/// What a host is.
pub(crate) struct Host {
    pub(crate) served: Served,
    /// Its own files.
    pub(crate) private: PathBuf,
    /// The program that runs tests and studies.
    pub(crate) program: PathBuf,
    pub(crate) tokens: Tokens,
    /// Names beside addresses by which it may be called.
    pub(crate) names: Vec<String>,
    /// Of the certificate, where there is one.
    pub(crate) fingerprint: Option<String>,
    pub(crate) audit: Audit,
    pub(crate) runs: Runs,
    pub(crate) studies: Studies,
    pub(crate) verdicts: Verdicts,
    pub(crate) judges: Semaphore,
    pub(crate) viewers: Semaphore,
    lease: Mutex<Lease>,
    tickets: Mutex<Tickets>,
}

/// What a host is made of.
pub(crate) struct Parts {
    pub(crate) served: Served,
    pub(crate) private: PathBuf,
    pub(crate) program: PathBuf,
    pub(crate) tokens: Tokens,
    pub(crate) names: Vec<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) audit: Audit,
    pub(crate) runs: Runs,
}

impl Host {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { served, private, program, tokens, names, fingerprint, audit, runs } = parts;
        let studies = Studies::new(program.clone(), served.root().to_path_buf());
        Self {
            served,
            private,
            program,
            tokens,
            names,
            fingerprint,
            audit,
            runs,
            studies,
            verdicts: Verdicts::default(),
            judges: Semaphore::new(JUDGES),
            viewers: Semaphore::new(VIEWERS),
            lease: Mutex::default(),
            tickets: Mutex::default(),
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.fingerprint.is_some() { "https" } else { "http" }
    }

    pub(crate) fn lease(&self) -> MutexGuard<'_, Lease> {
        lock(&self.lease)
    }

    pub(crate) fn tickets(&self) -> MutexGuard<'_, Tickets> {
        lock(&self.tickets)
    }
}
