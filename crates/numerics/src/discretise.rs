//! discretise.
