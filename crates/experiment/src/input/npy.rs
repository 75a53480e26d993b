//! NumPy's `.npy` arrays.

use nalgebra::{DMatrix, DVector};
use npyz::{NpyFile, Order};

use super::{InputError, MOST_DENSE_ENTRIES};

/// The longest header of a plain matrix; NumPy writes 118 bytes.
const LONGEST_HEADER: usize = 1024;

/// Digits in a header such that no product of its numbers overflows.
const MOST_DIGITS: usize = 18;

/// A matrix from an array of two dimensions, or a diagonal one from a vector.
///
/// float64, float32, int64 and int32 of either byte order, in C or Fortran
/// order.
pub fn npy(bytes: &[u8]) -> Result<DMatrix<f64>, InputError> {
    check_header(bytes)?;
    let file = NpyFile::new(bytes).map_err(|error| header_error(error.to_string()))?;
    let (rows, columns) = match *file.shape() {
        [length] => (length, 1),
        [rows, columns] => (rows, columns),
        ref other => return Err(InputError::NpyShape { dimensions: other.len() }),
    };
    let is_vector = file.shape().len() == 1;
    let (rows, columns) = (saturate(rows), saturate(columns));
    let dense = if is_vector { rows.saturating_mul(rows) } else { rows.saturating_mul(columns) };
    if dense > MOST_DENSE_ENTRIES {
        let columns = if is_vector { rows } else { columns };
        return Err(InputError::TooLarge { rows, columns, most: MOST_DENSE_ENTRIES });
    }
    let order = file.order();
    let values = read_values(file, rows * columns)?;
    let matrix = match order {
        Order::C => DMatrix::from_row_slice(rows, columns, &values),
        Order::Fortran => DMatrix::from_column_slice(rows, columns, &values),
    };
    if let Some(index) = matrix.iter().position(|value| !value.is_finite()) {
        let (row, column) = (index % rows + 1, index / rows + 1);
        return Err(InputError::NpyNotFinite { row, column, value: matrix[index] });
    }
    if is_vector {
        return Ok(DMatrix::from_diagonal(&DVector::from_vec(values)));
    }
    Ok(matrix)
}

/// npyz trusts the header: it reserves what the length field says, recurses
/// into brackets and multiplies the shape unchecked. So only headers that a
/// plain array can have reach it: one dict, one tuple of decimal numbers.
fn check_header(bytes: &[u8]) -> Result<(), InputError> {
    let text = header_text(bytes).ok_or_else(|| header_error("its header is damaged".into()))?;
    let count = |wanted: u8| text.iter().filter(|&&byte| byte == wanted).count();
    let plain = count(b'{') == 1 && count(b'(') == 1 && count(b'[') == 0;
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let mut shape = text.iter().skip_while(|&&byte| byte != b'(').skip(1);
    let decimal = shape
        .by_ref()
        .take_while(|&&byte| byte != b')')
        .all(|byte| byte.is_ascii_digit() || b", ".contains(byte));
    if plain && decimal && digits <= MOST_DIGITS && text.is_ascii() {
        return Ok(());
    }
    Err(header_error("its header is not that of a vector or matrix of numbers".into()))
}

fn header_text(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (length, text) = match *rest {
        [1, 0, a, b, ref text @ ..] => (usize::from(u16::from_le_bytes([a, b])), text),
        [2 | 3, 0, a, b, c, d, ref text @ ..] => {
            (usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?, text)
        }
        _ => return None,
    };
    if length > LONGEST_HEADER {
        return None;
    }
    // The format ends its header with a line break; anything else is no header.
    text.get(..length).filter(|text| text.ends_with(b"\n"))
}

fn read_values(file: NpyFile<&[u8]>, expected: usize) -> Result<Vec<f64>, InputError> {
    let dtype = file.dtype();
    let name = dtype.descr();
    let size = dtype.num_bytes().filter(|size| matches!(size, 4 | 8));
    let size = size.ok_or_else(|| InputError::NpyType { dtype: name.clone() })?;
    let (header, data) = (file.header().clone(), file.into_inner());
    let given = data.len() / size;
    if given < expected {
        return Err(InputError::NpyTruncated { given, expected });
    }
    let file = NpyFile::with_header(header, data);
    let file = match file.try_data::<f64>() {
        Ok(reader) => return collect(reader, expected),
        Err(file) => file,
    };
    let file = match file.try_data::<f32>() {
        Ok(reader) => return collect(reader.map(|item| item.map(f64::from)), expected),
        Err(file) => file,
    };
    let file = match file.try_data::<i32>() {
        Ok(reader) => return collect(reader.map(|item| item.map(f64::from)), expected),
        Err(file) => file,
    };
    match file.try_data::<i64>() {
        Ok(reader) => collect(reader.map(|item| item.map(|value| value as f64)), expected),
        Err(_) => Err(InputError::NpyType { dtype: name }),
    }
}

fn collect(
    items: impl Iterator<Item = std::io::Result<f64>>,
    expected: usize,
) -> Result<Vec<f64>, InputError> {
    let values: Vec<f64> = items.map_while(Result::ok).take(expected).collect();
    if values.len() < expected {
        return Err(InputError::NpyTruncated { given: values.len(), expected });
    }
    Ok(values)
}

fn saturate(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn header_error(reason: String) -> InputError {
    InputError::NpyHeader { reason }
}

/// What `numpy.save` writes for [[1, 2, 3], [4, 5, 6]] in float64.
#[cfg(test)]
pub(super) fn example() -> Vec<u8> {
    let data: Vec<u8> = (1..=6).flat_map(|value| f64::from(value).to_le_bytes()).collect();
    tests::file("<f8", "False", "(2, 3)", &data)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn file(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let dict =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        let header = format!("{dict:<117}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    #[test]
    fn both_orders_and_all_types_are_read() {
        let expected = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(npy(&example()), Ok(expected));
        // numpy.save(np.asfortranarray(np.array([[1, 2], [3, 4]], dtype='>i4')))
        let data: Vec<u8> = [1_i32, 3, 2, 4].iter().flat_map(|v| v.to_be_bytes()).collect();
        let square = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(npy(&file(">i4", "True", "(2, 2)", &data)), Ok(square.clone()));
        let data: Vec<u8> = [1_i64, 2, 3, 4].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(npy(&file("<i8", "False", "(2, 2)", &data)), Ok(square));
        let data: Vec<u8> = [2.5_f32, -1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let diagonal = DMatrix::from_row_slice(2, 2, &[2.5, 0.0, 0.0, -1.0]);
        assert_eq!(npy(&file("<f4", "False", "(2,)", &data)), Ok(diagonal));
    }

    #[test]
    fn hostile_headers_are_refused_before_anything_is_reserved() {
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(npy(&long), Err(InputError::NpyHeader { .. })));
        for shape in ["(99999, 99999)", "(99999,)"] {
            assert!(matches!(
                npy(&file("<f8", "False", shape, &[])),
                Err(InputError::TooLarge { .. })
            ));
        }
        for shape in [
            "(9999999999, 9999999999)",
            "(0xffffffffff, 0xffffffffff)",
            "((((((1,),),),),),)",
            "(-1,)",
            "[2]",
        ] {
            let result = npy(&file("<f8", "False", shape, &[]));
            assert!(matches!(result, Err(InputError::NpyHeader { .. })), "{shape}");
        }
    }

    #[test]
    fn other_arrays_say_what_is_wrong() {
        let mut cut = example();
        cut.truncate(cut.len() - 1);
        assert_eq!(npy(&cut), Err(InputError::NpyTruncated { given: 5, expected: 6 }));
        let result = npy(&file("<f8", "False", "(1, 1, 1)", &[0; 8]));
        assert_eq!(result, Err(InputError::NpyShape { dimensions: 3 }));
        for descr in ["<c16", "|O", "<U8", "|b1", "<u8"] {
            let result = npy(&file(descr, "False", "(1, 1)", &[0; 64]));
            assert!(matches!(result, Err(InputError::NpyType { .. })), "{descr}: {result:?}");
        }
        let mut data = 1.0_f64.to_le_bytes().to_vec();
        data.extend_from_slice(&f64::NAN.to_le_bytes());
        let error = npy(&file("<f8", "False", "(1, 2)", &data)).unwrap_err();
        assert!(matches!(error, InputError::NpyNotFinite { row: 1, column: 2, .. }));
        assert!(matches!(npy(b"time,accel"), Err(InputError::NpyHeader { .. })));
        assert_eq!(npy(&file("<f8", "False", "(0, 0)", &[])), Ok(DMatrix::zeros(0, 0)));
    }
}
