//! Structure.
