//! What both ends say of their test, for the other to compare.

use super::wire::{Datagram, Handshake, Refusal};

/// What one end's experiment file says of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Ticks per second.
    pub rate_hz: f64,
    /// Per interface DOF: command in m, rate in m/s, force in N.
    pub limits: [Vec<f64>; 3],
    /// Hash of the file.
    pub file: u64,
}

impl Terms {
    /// Those of who has sent this handshake.
    pub(crate) fn of(datagram: &Datagram<'_>, handshake: &Handshake) -> Self {
        let limits = [0, 1, 2].map(|index| {
            let mut values = vec![f64::INFINITY; datagram.header.dofs.into()];
            datagram.block(index, &mut values);
            values
        });
        Self { rate_hz: handshake.rate_hz, limits, file: handshake.file }
    }

    /// Interface DOFs.
    pub fn dofs(&self) -> usize {
        self.limits[0].len()
    }

    /// Why a test is impossible, in words: the other end has so many DOFs at this rate.
    pub(crate) fn mismatch(&self, reason: Refusal, dofs: usize, rate_hz: f64) -> String {
        let differs = match reason {
            Refusal::Dofs => format!(": {} here, {dofs} there", self.dofs()),
            Refusal::Rate => format!(": {} Hz here, {rate_hz} Hz there", self.rate_hz),
            _ => String::new(),
        };
        format!("{}{differs}", reason.description())
    }
}
