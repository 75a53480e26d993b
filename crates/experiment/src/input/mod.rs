//! Files an experiment names: matrices and recorded motions.
//!
//! Every reader takes bytes and gives checked numbers, or an error that names
//! the line. Memory grows with the file, never with what its header claims.

use nalgebra::DMatrix;

mod at2;
mod csv_matrix;
mod error;
mod matrix_market;
mod npy;
mod series;
mod unit;

pub use at2::at2;
pub use csv_matrix::csv_matrix;
pub use error::InputError;
pub use matrix_market::{Triplets, matrix_market};
pub use npy::npy;
pub use series::{Column, CsvOptions, TimeColumn, TimeSeries, UnitOrigin, csv_series};
pub use unit::AccelerationUnit;

/// Rows times columns of the largest dense matrix that is built.
pub const MOST_DENSE_ENTRIES: usize = 25_000_000;

/// A matrix from a file whose name tells the format: `.mtx`, `.npy` or `.csv`.
pub fn matrix(name: &str, bytes: &[u8]) -> Result<DMatrix<f64>, InputError> {
    let extension = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "mtx" => matrix_market(bytes)?.to_dense(),
        "npy" => npy(bytes),
        "csv" => csv_matrix(bytes),
        _ => Err(InputError::UnknownMatrixFormat { extension: excerpt(&extension) }),
    }
}

/// A number as laboratories write it: Fortran's `1.5D-3` is accepted.
fn parse_number(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let plain = text.len() <= 64 && text.bytes().all(|byte| b"0123456789+-.dD".contains(&byte));
    if plain { text.replace(['d', 'D'], "e").parse().ok() } else { None }
}

/// The beginning of a text, short enough for a message.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut short: String = text.trim().chars().take(LONGEST).collect();
    if text.trim().chars().count() > LONGEST {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_laboratories_are_read() {
        for (text, value) in [("1.5", 1.5), ("-1.5D-3", -1.5e-3), ("+2.", 2.0), (".5d0", 0.5)] {
            assert_eq!(parse_number(text), Some(value), "{text}");
        }
        for text in ["", "time", "1,5", "d", "1.0D", "0x10"] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = matrix_market(&bytes);
            let _ = npy(&bytes);
            let _ = at2(&bytes);
            let _ = csv_matrix(&bytes);
            let _ = csv_series(&bytes, &CsvOptions::default());
        }

        #[test]
        fn text_near_the_formats_never_panics(
            text in "[0-9eE.,;# \t\n+\\-naif\"]{0,200}",
            size in "[0-9 ]{0,24}",
        ) {
            let _ = csv_series(text.as_bytes(), &CsvOptions::default());
            let _ = csv_matrix(text.as_bytes());
            for kind in ["coordinate real general", "array integer symmetric"] {
                let file = format!("%%MatrixMarket matrix {kind}\n{size}\n{text}");
                if let Ok(triplets) = matrix_market(file.as_bytes()) {
                    let _ = triplets.to_dense();
                }
            }
            let _ = at2(format!("A\nB\nC\nNPTS={size}, DT={text}\n{text}").as_bytes());
        }

        #[test]
        fn damaged_npy_never_panics(position in 0_usize..128, byte in any::<u8>(), cut in 0_usize..200) {
            let whole = npy::example();
            let mut bytes = whole.clone();
            let last = bytes.len() - 1;
            bytes[position.min(last)] = byte;
            let _ = npy(&bytes);
            bytes.truncate(cut);
            let _ = npy(&bytes);
            // A file that is only cut off has lost numbers, and says so.
            prop_assert!(cut > last || npy(&whole[..cut]).is_err());
        }
    }
}
