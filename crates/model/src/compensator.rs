//! Compensators: from the desired motion to the command.

use crate::motion::Motion;

/// Turns the *desired* interface motion into the *command*, so that the
/// *achieved* motion follows the desired one. A closed set, chosen by the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Compensator {
    /// The command is the desired motion.
    None,
}

impl Compensator {
    /// One tick: no allocation, no blocking, no panic.
    #[inline]
    pub fn step(&mut self, desired: &Motion, _measured: &[f64], command: &mut Motion) {
        match self {
            Self::None => command.copy_from(desired),
        }
    }
}
