//! Frames made few: the least and the greatest value of each stretch of time, so that no peak is
//! hidden.

use bytes::{BufMut, Bytes, BytesMut};

/// Version of the layout of a message.
const LAYOUT: u8 = 1;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// What has happened since the message before.
    Curves = 1,
    /// Everything so far.
    History = 2,
}

/// Stretches of time, one after the other, with the least and the greatest value of every channel.
#[derive(Debug, Clone)]
pub(crate) struct Curves {
    channels: usize,
    /// Shortest stretch, s; it doubles when there are too many.
    width_s: f64,
    most: usize,
    begins: Vec<f64>,
    /// Stretch by stretch, channel by channel.
    values: Vec<[f32; 2]>,
}

impl Curves {
    pub(crate) fn new(channels: usize, width_s: f64, most: usize) -> Self {
        // A stretch without length would never join its neighbour.
        let (most, width_s) = (most.max(2), width_s.max(1e-9));
        Self { channels, width_s, most, begins: Vec::new(), values: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// When the first stretch begins, s.
    pub(crate) fn begins_s(&self) -> Option<f64> {
        self.begins.first().copied()
    }

    /// Takes a frame, with one value for each channel.
    pub(crate) fn push(&mut self, time_s: f64, frame: impl Iterator<Item = f64>) {
        if !time_s.is_finite() {
            return;
        }
        // A time that goes back belongs to the stretch before it.
        let fits = |begin: &f64| time_s < begin + self.width_s * (1.0 - 1e-9);
        if !self.begins.last().is_some_and(fits) {
            if self.begins.len() >= self.most {
                self.halve();
                return self.push(time_s, frame);
            }
            self.begins.push(time_s);
            self.values.extend(std::iter::repeat_n([f32::NAN; 2], self.channels));
        }
        let first = self.values.len() - self.channels;
        for (pair, value) in self.values[first..].iter_mut().zip(frame) {
            *pair = [pair[0].min(value as f32), pair[1].max(value as f32)];
        }
    }

    /// Joins neighbours, as often as it takes to halve their number.
    fn halve(&mut self) {
        self.width_s *= 2.0;
        let (channels, before) = (self.channels, self.begins.len());
        let mut kept = 0;
        for at in 0..before {
            let joins = kept > 0 && self.begins[at] < self.begins[kept - 1] + self.width_s * 0.999;
            let from = at * channels;
            if joins {
                for channel in 0..channels {
                    let [least, greatest] = self.values[from + channel];
                    let into = &mut self.values[(kept - 1) * channels + channel];
                    *into = [into[0].min(least), into[1].max(greatest)];
                }
            } else {
                self.begins[kept] = self.begins[at];
                self.values.copy_within(from..from + channels, kept * channels);
                kept += 1;
            }
        }
        self.begins.truncate(kept);
        self.values.truncate(kept * channels);
    }

    pub(crate) fn clear(&mut self, width_s: f64) {
        self.width_s = width_s;
        self.begins.clear();
        self.values.clear();
    }

    /// As a message, in the layout that the documents describe.
    pub(crate) fn message(&self, content: Content, number: u64, lost: u64) -> Bytes {
        let stretches = self.begins.len();
        let mut out = BytesMut::with_capacity(24 + 8 * stretches * (1 + self.channels));
        out.put_u8(content as u8);
        out.put_u8(LAYOUT);
        out.put_u16_le(self.channels as u16);
        out.put_u32_le(stretches as u32);
        out.put_u64_le(number);
        out.put_u64_le(lost);
        self.begins.iter().for_each(|begin| out.put_f64_le(*begin));
        for channel in 0..self.channels {
            for stretch in 0..stretches {
                let [least, greatest] = self.values[stretch * self.channels + channel];
                out.put_f32_le(least);
                out.put_f32_le(greatest);
            }
        }
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_peak_is_hidden_however_few_stretches_are_left() {
        let mut curves = Curves::new(2, 0.005, 64);
        for tick in 0..100_000u32 {
            let time_s = f64::from(tick) / 4096.0;
            let peak = if tick == 77_777 { 9.0 } else { 0.0 };
            let dip = if tick == 123 { f64::NAN } else { -f64::from(tick % 7) };
            curves.push(time_s, [peak, dip].into_iter());
        }
        assert!(curves.begins.len() <= 64 && curves.begins.len() > 16, "{}", curves.begins.len());
        assert_eq!(curves.begins[0], 0.0);
        assert!(curves.begins.is_sorted());
        let greatest = curves.values.iter().step_by(2).map(|pair| pair[1]).fold(0.0, f32::max);
        assert_eq!(greatest, 9.0);
        let at = curves.begins.iter().rposition(|begin| *begin <= 77_777.0 / 4096.0).unwrap();
        assert_eq!(curves.values[2 * at][1], 9.0, "in its own stretch");
        assert!(curves.values.iter().skip(1).step_by(2).all(|pair| pair[0] == -6.0));
    }

    #[test]
    fn a_message_has_the_layout_of_the_documents() {
        let mut curves = Curves::new(2, 1.0, 8);
        curves.push(0.0, [1.0, 5.0].into_iter());
        curves.push(0.5, [-1.0, 6.0].into_iter());
        curves.push(1.0, [f64::NAN, 7.0].into_iter());
        let message = curves.message(Content::History, 3, 4);
        assert_eq!(message[..8], [2, 1, 2, 0, 2, 0, 0, 0]);
        assert_eq!((message[8], message[16], message.len()), (3, 4, 24 + 16 + 32));
        let value = |at: usize| f32::from_le_bytes(message[at..at + 4].try_into().unwrap());
        assert_eq!([value(40), value(44)], [-1.0, 1.0], "channel 0, stretch 0");
        assert!(value(48).is_nan() && value(52).is_nan());
        assert_eq!([value(56), value(60), value(64), value(68)], [5.0, 6.0, 7.0, 7.0]);
    }
}
