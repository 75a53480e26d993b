//! PEER's AT2 files: four header lines, then the accelerations in rows.

use super::series::{TimeSeries, from_checked};
use super::unit::unit_in;
use super::{InputError, excerpt, parse_number};

/// Reads a PEER strong-motion record in the AT2 format.
///
/// Line 3 names the unit (`ACCELERATION TIME SERIES IN UNITS OF G`), line 4 the
/// number of points and the step: `NPTS= 4096, DT= .0100 SEC`, or in old files
/// `4096 0.0100 NPTS, DT`.
pub fn at2(bytes: &[u8]) -> Result<TimeSeries, InputError> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = (1_u64..).zip(text.lines());
    let mut header = [""; 4];
    for slot in &mut header {
        *slot = lines.next().map_or("", |(_, line)| line);
    }
    let (expected, step_s) = points_and_step(header[3])?;
    let mut values = Vec::new();
    for (line, text) in lines {
        for (column, word) in text.split_whitespace().enumerate() {
            let value = parse_number(word).ok_or_else(|| InputError::BadNumber {
                line,
                column: column + 1,
                text: excerpt(word),
            })?;
            if !value.is_finite() {
                return Err(InputError::NotFinite { line, value });
            }
            values.push(value);
        }
    }
    if values.len() != expected {
        return Err(InputError::At2Count { given: values.len(), expected });
    }
    let times_s = (0..expected).map(|k| k as f64 * step_s).collect();
    let series = from_checked(times_s, values)?;
    let unit = unit_in(header[2]).unwrap_or_else(|| "g".into());
    Ok(TimeSeries { series, unit: Some(unit) })
}

fn points_and_step(text: &str) -> Result<(usize, f64), InputError> {
    let error = |what| InputError::At2Header { line: 4, what, text: excerpt(text) };
    let upper = text.to_uppercase();
    let labelled = |label: &str| {
        let (_, rest) = upper.split_once(label)?;
        let rest = rest.trim_start().strip_prefix(['=', ':'])?.trim_start();
        Some(rest.split([',', ' ', '\t', ';']).next().unwrap_or(""))
    };
    // Old files put the two numbers before their names.
    let mut words = upper.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let unlabelled = (words.next(), words.next());
    let points = labelled("NPTS").or(unlabelled.0).and_then(|word| word.parse::<usize>().ok());
    let step = labelled("DT").or(unlabelled.1).map(|word| word.trim_end_matches("SEC"));
    let points = points.ok_or_else(|| error("the number of points, NPTS = …"))?;
    let step_s = step.and_then(parse_number).ok_or_else(|| error("the time step, DT = …"))?;
    if step_s.is_finite() && step_s > 0.0 {
        Ok((points, step_s))
    } else {
        Err(InputError::BadStep { step_s })
    }
}

#[cfg(test)]
mod tests {
    use super::super::AccelerationUnit;
    use super::*;

    fn file(fourth: &str, data: &str) -> String {
        format!(
            "PEER NGA STRONG MOTION DATABASE RECORD\nTown, 1/1/1995, Station, 90\n\
             ACCELERATION TIME SERIES IN UNITS OF G\n{fourth}\n{data}"
        )
    }

    const DATA: &str = "  .1000000E-01 -.2000000E-01  .3000000E-01 .0 1.0D-3\n  .4000000E-01\n";

    #[test]
    fn every_spelling_of_the_fourth_line_is_understood() {
        for fourth in [
            "NPTS=   6, DT=   .0100 SEC,",
            "NPTS=6, DT=0.01SEC",
            "NPTS = 6 DT = .01",
            "  6  0.0100  NPTS, DT",
            "6, 0.01, NPTS, DT",
            "npts: 6, dt: 1e-2 sec",
        ] {
            let found =
                at2(file(fourth, DATA).as_bytes()).unwrap_or_else(|e| panic!("{fourth}: {e}"));
            assert_eq!(found.series.values(), [0.01, -0.02, 0.03, 0.0, 1e-3, 0.04], "{fourth}");
            assert!((found.series.mean_step_s() - 0.01).abs() < 1e-15);
            let motion = found.acceleration(None).unwrap();
            assert!((motion.values()[0] - 0.0980665).abs() < 1e-15);
        }
    }

    #[test]
    fn another_unit_in_the_header_counts() {
        let text = file("NPTS= 6, DT= .01 SEC", DATA).replace("UNITS OF G", "UNITS OF CM/S2");
        let motion = at2(text.as_bytes()).unwrap().acceleration(None).unwrap();
        assert!((motion.values()[0] - 1e-4).abs() < 1e-18);
        let conflict = at2(text.as_bytes()).unwrap().acceleration(Some(AccelerationUnit::Gravity));
        assert!(matches!(conflict, Err(InputError::UnitConflict { .. })));
    }

    #[test]
    fn truncated_or_damaged_files_say_so() {
        let text = file("NPTS= 4000, DT= .01 SEC", DATA);
        let error = at2(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "the header promises NPTS = 4000 samples, the file holds 6");
        let error = at2(file("NPTS= 6, DT= .01 SEC", "1 2 3\n4 x 6\n").as_bytes()).unwrap_err();
        assert_eq!(error, InputError::BadNumber { line: 6, column: 2, text: "x".into() });
        let error = at2(file("NPTS= 2, DT= .01 SEC", "1 inf\n").as_bytes()).unwrap_err();
        assert!(matches!(error, InputError::NotFinite { line: 5, .. }));
        let error = at2(file("NPTS= 2, DT= 0 SEC", "1 2\n").as_bytes()).unwrap_err();
        assert_eq!(error, InputError::BadStep { step_s: 0.0 });
        assert!(matches!(at2(b""), Err(InputError::At2Header { line: 4, .. })));
        let one = at2(file("NPTS= 1, DT= .01 SEC", "1\n").as_bytes());
        assert_eq!(one, Err(InputError::TooShort { samples: 1 }));
    }
}
