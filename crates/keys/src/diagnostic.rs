//! One finding: what is wrong in a file, where, and what to do about it.

use std::fmt;
use std::ops::Range;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Does it stop the test?
    pub severity: Severity,
    /// What is wrong, with the values concerned.
    pub message: String,
    /// Where, in bytes of the file.
    pub span: Option<Range<usize>>,
    /// What to change.
    pub remedy: Option<String>,
}

/// Whether a finding stops the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The experiment cannot be run as written.
    Error,
    /// It can, and the engineer should know.
    Warning,
}

impl Diagnostic {
    /// An error without a place or a remedy yet.
    pub fn error(message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, message: message.into(), span: None, remedy: None }
    }

    /// A warning without a place or a remedy yet.
    pub fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    /// The same, at a place in the file.
    pub fn at(self, span: Range<usize>) -> Self {
        Self { span: Some(span), ..self }
    }

    /// The same, with what to do about it.
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}
