//! Matrices as serde keeps them: rows, columns and the entries by columns.

use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct Stored {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
}

impl Stored {
    fn of(matrix: &DMatrix<f64>) -> Self {
        let (rows, columns) = matrix.shape();
        Self { rows, columns, entries: matrix.as_slice().to_vec() }
    }

    fn matrix<E: Error>(self) -> Result<DMatrix<f64>, E> {
        let Self { rows, columns, entries } = self;
        if rows.checked_mul(columns) != Some(entries.len()) {
            return Err(E::custom("the entries do not fill the matrix"));
        }
        Ok(DMatrix::from_vec(rows, columns, entries))
    }
}

/// `#[serde(with = "stored::matrix")]`
pub(super) mod matrix {
    use super::*;

    pub(in crate::reduction) fn serialize<S: Serializer>(
        matrix: &DMatrix<f64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        Stored::of(matrix).serialize(to)
    }

    pub(in crate::reduction) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<DMatrix<f64>, D::Error> {
        Stored::deserialize(from)?.matrix()
    }
}

/// `#[serde(with = "stored::matrices")]`
pub(super) mod matrices {
    use super::*;

    pub(in crate::reduction) fn serialize<S: Serializer>(
        matrices: &SecondOrder,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        matrices.each().map(Stored::of).serialize(to)
    }

    pub(in crate::reduction) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<SecondOrder, D::Error> {
        let [mass, damping, stiffness] = <[Stored; 3]>::deserialize(from)?;
        let (mass, damping) = (mass.matrix()?, damping.matrix()?);
        Ok(SecondOrder { mass, damping, stiffness: stiffness.matrix()? })
    }
}

/// `#[serde(with = "stored::vector")]`
pub(super) mod vector {
    use super::*;

    pub(in crate::reduction) fn serialize<S: Serializer>(
        vector: &DVector<f64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        vector.as_slice().serialize(to)
    }

    pub(in crate::reduction) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<DVector<f64>, D::Error> {
        Vec::deserialize(from).map(DVector::from_vec)
    }
}
