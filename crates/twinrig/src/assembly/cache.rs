//! Reduced models kept on disk, by the content they came from.
//!
//! A file is written beside its place and then moved there, so that nobody reads
//! half of one; a file that is damaged, or of another version, is as good as
//! none. The model is CBOR, which keeps every bit of a number.

use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

use siphasher::sip128::{Hasher128 as _, SipHasher13};

use super::reduced::Reduced;

/// First bytes of a file; the digits are the layout's version.
const MAGIC: &[u8; 8] = b"TWINRED4";
/// Largest file that is read.
const LARGEST: u64 = 1 << 30;

/// Tells contents apart; it does not keep anybody from forging one.
#[derive(Default)]
pub(super) struct Digest(SipHasher13);

impl Digest {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.write_usize(bytes.len());
        self.0.write(bytes);
    }

    pub(super) fn finish(self) -> u128 {
        self.0.finish128().as_u128()
    }
}

/// Where a model with this digest is kept.
pub(crate) fn place(folder: &Path, key: u128) -> PathBuf {
    folder.join(format!("reduced-{key:032x}.bin"))
}

/// The model with this digest, if an undamaged one is there.
pub(super) fn load(folder: &Path, key: u128) -> Option<Reduced> {
    let path = place(folder, key);
    let bytes = experiment::source::read_regular(&path, LARGEST).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let (sum, body) = rest.split_first_chunk::<16>()?;
    let mut digest = Digest::default();
    digest.bytes(body);
    if u128::from_le_bytes(*sum) != digest.finish() {
        return None;
    }
    let reduced: Reduced = ciborium::from_reader(body).ok()?;
    (reduced.key == key).then_some(reduced)
}

/// Keeps a model; a folder that cannot be written to costs time, nothing else.
pub(super) fn save(folder: &Path, reduced: &Reduced) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut body = Vec::new();
    ciborium::into_writer(reduced, &mut body).map_err(std::io::Error::other)?;
    let mut digest = Digest::default();
    digest.bytes(&body);
    let bytes = [MAGIC, &digest.finish().to_le_bytes()[..], &body].concat();
    let path = place(folder, reduced.key);
    // Two processes may write the same model at the same time.
    let part = path.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&part, bytes)?;
    std::fs::rename(&part, &path)
}

#[cfg(test)]
mod tests {
    use experiment::DofLabel;
    use model::reduction::{ErrorEstimate, Facts, ReducedModel};
    use model::structure::DofKind;
    use nalgebra::{DMatrix, DVector};
    use numerics::second_order::SecondOrder;

    use super::*;

    fn example() -> Reduced {
        let matrix = |value: f64| DMatrix::from_fn(2, 2, |i, j| value + (2 * i + j) as f64);
        Reduced {
            model: ReducedModel {
                matrices: SecondOrder {
                    mass: matrix(1.0),
                    damping: matrix(2.0),
                    stiffness: matrix(3.0),
                },
                boundary: vec![7],
                interface: 1,
                omega_rad_s: vec![12.5],
                participation: DVector::from_vec(vec![0.5, -0.25]),
                excited_mass: 9.0,
                monitored: vec![3],
                recovery: DMatrix::from_row_slice(1, 2, &[0.1, 0.2]),
            },
            facts: Facts {
                full_size: 100,
                damper_dofs: vec![4],
                held: Some(ErrorEstimate {
                    factors: 24,
                    error: 0.01,
                    worst_rad_s: 11.0,
                    probes: 300,
                    estimate: 0.02,
                    rich_error: 1e-3,
                    rich_modes: 16,
                }),
                ..Facts::default()
            },
            seconds: 1.5,
            names: vec!["tip".to_owned()],
            kinds: vec![DofKind::Rotation],
            monitored: vec!["n2y".to_owned()],
            labels: vec![(DofLabel::Name("tip".to_owned()), 7), (DofLabel::Number(4), 3)],
            key: 0x1234_5678_9abc_def0_0fed_cba9_8765_4321,
        }
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_damaged_does_not() {
        let folder = tempfile::tempdir().expect("folder");
        let reduced = example();
        assert_eq!(load(folder.path(), reduced.key), None);
        save(folder.path(), &reduced).expect("written");
        assert_eq!(load(folder.path(), reduced.key), Some(reduced.clone()));
        assert_eq!(load(folder.path(), reduced.key + 1), None);
        let path = place(folder.path(), reduced.key);
        let whole = std::fs::read(&path).expect("read");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).expect("written");
            assert_eq!(load(folder.path(), reduced.key), None, "byte {at}");
            std::fs::write(&path, &whole[..at]).expect("written");
            assert_eq!(load(folder.path(), reduced.key), None, "cut at {at}");
        }
    }

    #[test]
    fn a_digest_tells_contents_apart() {
        let of = |parts: &[&str]| {
            let mut digest = Digest::default();
            parts.iter().for_each(|part| digest.bytes(part.as_bytes()));
            digest.finish()
        };
        let all =
            [of(&[]), of(&[""]), of(&["ab", "c"]), of(&["a", "bc"]), of(&["abc"]), of(&["\0"])];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b), "{i}");
        }
    }
}
