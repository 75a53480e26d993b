//! What the sensors of a rig say.

/// What the sensors say in one tick, one entry per interface DOF.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Displacement, m.
    pub displacement: Vec<f64>,
    /// Restoring force, N.
    pub force: Vec<f64>,
    /// Where the specimen truly is, m: known to virtual rigs only, NaN elsewhere.
    pub achieved: Vec<f64>,
}

impl Measured {
    /// Zeros for `count` interface DOFs.
    pub fn zeros(count: usize) -> Self {
        let zeros = vec![0.0; count];
        Self { displacement: zeros.clone(), force: zeros.clone(), achieved: zeros }
    }
}
