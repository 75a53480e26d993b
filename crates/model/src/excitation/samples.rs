//! A recorded series played at the rate of the loop.

use keys::Keys;
use numerics::interpolate::{Grid, Series};

use super::{peak_of, scale_by};
use crate::check::{check_each, check_finite, check_not_negative, check_positive};
use crate::error::ModelError;

/// How the size of a record is set.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
pub enum Scaling {
    /// Factor on the signal; 1 if absent.
    #[key(number)]
    Scale(f64),
    /// Scales the signal so that its largest absolute value is this.
    #[key(given, positive)]
    Peak(f64),
}

/// How values between the samples are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Resampling {
    /// Straight lines between the samples.
    ///
    /// Any increasing times. Onto a coarser grid it aliases.
    Linear,
    /// The band-limited signal through the samples.
    ///
    /// Windowed sinc; regular times only, no frequency added, none folded.
    BandLimited,
}

/// Recorded samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// The record on its own clock.
    pub series: Series,
    /// Its size.
    pub scaling: Scaling,
    /// Time of the test at which the record's clock reads 0.
    pub start_s: f64,
    /// How to read between the samples.
    pub resampling: Resampling,
}

impl Samples {
    /// The record at times k/rate for k = 0 … count − 1; zero outside its own time.
    pub fn sample(&self, rate_hz: f64, count: usize) -> Result<Vec<f64>, ModelError> {
        check_positive("rate", rate_hz)?;
        check_not_negative("start", self.start_s)?;
        let factor = self.factor()?;
        let grid = Grid { start_s: -self.start_s, rate_hz, count };
        let mut values = match self.resampling {
            Resampling::Linear => self.series.linear(&grid)?,
            Resampling::BandLimited => self.series.band_limited(&grid)?,
        };
        scale_by(&mut values, factor);
        check_each(check_finite, "scaled sample", &values)?;
        Ok(values)
    }

    fn factor(&self) -> Result<f64, ModelError> {
        match self.scaling {
            Scaling::Scale(scale) => Ok(check_finite("scale", scale)?),
            Scaling::Peak(peak) => {
                check_positive("peak", peak)?;
                Ok(peak / check_positive("recorded peak", peak_of(self.series.values()))?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::BadNumber;

    fn samples(values: &[f64]) -> Samples {
        Samples {
            series: Series::regular(0.5, values.to_vec()).unwrap(),
            scaling: Scaling::Scale(1.0),
            start_s: 0.0,
            resampling: Resampling::Linear,
        }
    }

    #[test]
    fn a_record_is_scaled_shifted_and_zero_outside() {
        let source =
            Samples { scaling: Scaling::Peak(8.0), start_s: 1.0, ..samples(&[1.0, -4.0, 2.0]) };
        let found = source.sample(4.0, 12).unwrap();
        let expected = [0.0, 0.0, 0.0, 0.0, 2.0, -3.0, -8.0, -2.0, 4.0, 0.0, 0.0, 0.0];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_scale_may_be_negative_and_band_limited_keeps_the_samples() {
        let source = Samples {
            scaling: Scaling::Scale(-0.5),
            resampling: Resampling::BandLimited,
            ..samples(&[0.0, 2.0, -6.0, 0.0])
        };
        let found = source.sample(6.0, 12).unwrap();
        for (k, expected) in [(0, 0.0), (3, -1.0), (6, 3.0), (9, 0.0)] {
            assert!((found[k] - expected).abs() < 1e-12);
        }
        assert_eq!(found[10..], [0.0, 0.0]);
    }

    #[test]
    fn silence_has_no_peak_and_overflow_is_told() {
        let source = Samples { scaling: Scaling::Peak(1.0), ..samples(&[0.0, 0.0]) };
        let error = source.sample(4.0, 4).unwrap_err();
        assert!(matches!(error, ModelError::BadParameter(BadNumber { name: "recorded peak", .. })));
        let source = Samples { scaling: Scaling::Scale(1e300), ..samples(&[1e300, 0.0]) };
        assert!(source.sample(4.0, 4).is_err());
        let source = Samples { start_s: f64::NAN, ..samples(&[1.0, 0.0]) };
        assert!(source.sample(4.0, 4).is_err());
    }
}
