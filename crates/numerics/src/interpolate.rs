//! interpolate.
