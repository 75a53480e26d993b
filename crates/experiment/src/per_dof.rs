//! One value for all interface degrees of freedom, or one for each.

/// One value for all interface degrees of freedom, or one for each, in SI.
pub type PerDof = keys::value::OneOrEach<f64>;

/// Most interface degrees of freedom.
pub const MOST_INTERFACE: usize = 64;
