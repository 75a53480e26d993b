//! Matrices put together from blocks.

use nalgebra::{ComplexField, DMatrix};

use crate::Matrix;

/// Blocks side by side; shorter ones are followed by zeros.
pub fn hstack(blocks: &[&Matrix]) -> Matrix {
    let rows = blocks.iter().map(|b| b.nrows()).max().unwrap_or(0);
    let mut joined = Matrix::zeros(rows, blocks.iter().map(|b| b.ncols()).sum());
    let mut at = 0;
    for block in blocks {
        joined.view_mut((0, at), block.shape()).copy_from(block);
        at += block.ncols();
    }
    joined
}

/// Blocks above each other; narrower ones are followed by zeros.
pub fn vstack<T: ComplexField>(blocks: &[&DMatrix<T>]) -> DMatrix<T> {
    let columns = blocks.iter().map(|b| b.ncols()).max().unwrap_or(0);
    let mut joined = DMatrix::zeros(blocks.iter().map(|b| b.nrows()).sum(), columns);
    let mut at = 0;
    for block in blocks {
        joined.view_mut((at, 0), block.shape()).copy_from(block);
        at += block.nrows();
    }
    joined
}
