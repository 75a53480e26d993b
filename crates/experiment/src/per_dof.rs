//! One value for all interface degrees of freedom, or one for each.

use super::tree::Branch;

/// One value for all interface degrees of freedom, or one for each, in SI.
#[derive(Debug, Clone, PartialEq)]
pub enum PerDof {
    /// The same for all.
    All(f64),
    /// One for each.
    Each(Vec<f64>),
}

impl PerDof {
    pub(crate) fn read(branch: &Branch, key: &str) -> Option<Self> {
        let node = branch.node(key)?;
        node.number().map(Self::All).or_else(|| node.numbers().map(Self::Each))
    }

    /// The value for the interface degree of freedom `index`, from 0.
    pub fn get(&self, index: usize) -> Option<f64> {
        match self {
            Self::All(value) => Some(*value),
            Self::Each(values) => values.get(index).copied(),
        }
    }

    /// One value for each of `count` degrees of freedom.
    pub fn expand(&self, count: usize) -> Vec<f64> {
        match self {
            Self::All(value) => vec![*value; count],
            Self::Each(values) => values.clone(),
        }
    }
}
