//! Reduced models kept on disk, by the content they came from.
//!
//! A file is written beside its place and then moved there, so that nobody reads
//! half of one; a file that is damaged, or of another version, is as good as
//! none.

use std::path::{Path, PathBuf};

use model::reduction::{ErrorEstimate, Facts, ReducedModel};
use model::structure::DofKind;
use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;

use super::reduced::Reduced;
use experiment::DofLabel;

/// First bytes of a file; the digits are the layout's version.
const MAGIC: &[u8; 8] = b"TWINRED2";
/// Largest file that is read.
const LARGEST: u64 = 1 << 30;

/// FNV-1a over 128 bits, eight bytes at a time: to tell contents apart, not to
/// keep anybody from forging one.
pub(super) struct Digest(u128);

impl Digest {
    pub(super) fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let mut add = |word: u64| {
            self.0 ^= u128::from(word);
            self.0 = self.0.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
            // A multiplication carries upwards only.
            self.0 ^= self.0 >> 67;
        };
        let chunks = bytes.chunks_exact(8);
        let rest = chunks.remainder();
        for chunk in chunks {
            add(chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
        add(rest.iter().fold(1, |word, &byte| word << 8 | u64::from(byte)));
        add(bytes.len() as u64);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn finish(self) -> u128 {
        self.0
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
    let mut digest = Digest::new();
    digest.bytes(body);
    if u128::from_le_bytes(*sum) != digest.finish() {
        return None;
    }
    let mut reader = Reader { bytes: body };
    let reduced = reader.reduced()?;
    (reader.bytes.is_empty() && reduced.key == key).then_some(reduced)
}

/// Keeps a model; a folder that cannot be written to costs time, nothing else.
pub(super) fn save(folder: &Path, reduced: &Reduced) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut writer = Writer { bytes: Vec::new() };
    writer.reduced(reduced);
    let mut digest = Digest::new();
    digest.bytes(&writer.bytes);
    let mut bytes = MAGIC.to_vec();
    bytes.extend(digest.finish().to_le_bytes());
    bytes.extend(writer.bytes);
    let path = place(folder, reduced.key);
    // Two processes may write the same model at the same time.
    let part = path.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&part, bytes)?;
    std::fs::rename(&part, &path)
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn count(&mut self, value: usize) {
        self.bytes.extend((value as u64).to_le_bytes());
    }

    fn counts(&mut self, values: &[usize]) {
        self.count(values.len());
        values.iter().for_each(|&value| self.count(value));
    }

    fn number(&mut self, value: f64) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn numbers(&mut self, values: &[f64]) {
        self.count(values.len());
        values.iter().for_each(|&value| self.number(value));
    }

    fn matrix(&mut self, matrix: &DMatrix<f64>) {
        self.count(matrix.nrows());
        self.count(matrix.ncols());
        self.numbers(matrix.as_slice());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.count(texts.len());
        texts.iter().for_each(|text| self.text(text));
    }

    fn reduced(&mut self, reduced: &Reduced) {
        self.bytes.extend(reduced.key.to_le_bytes());
        self.number(reduced.seconds);
        self.texts(&reduced.names);
        let kinds = reduced.kinds.iter();
        self.counts(&kinds.map(|kind| usize::from(*kind == DofKind::Rotation)).collect::<Vec<_>>());
        self.texts(&reduced.monitored);
        self.count(reduced.labels.len());
        for (label, dof) in &reduced.labels {
            match label {
                DofLabel::Number(number) => {
                    self.count(0);
                    self.count(*number);
                }
                DofLabel::Name(name) => {
                    self.count(1);
                    self.text(name);
                }
            }
            self.count(*dof);
        }
        let ReducedModel {
            matrices,
            boundary,
            interface,
            omega_rad_s,
            participation,
            excited_mass,
            monitored,
            recovery,
        } = &reduced.model;
        matrices.each().into_iter().chain([recovery]).for_each(|matrix| self.matrix(matrix));
        self.counts(boundary);
        self.count(*interface);
        self.numbers(omega_rad_s);
        self.numbers(participation.as_slice());
        self.number(*excited_mass);
        self.counts(monitored);
        let facts = &reduced.facts;
        self.counts(&facts.damper_dofs);
        self.counts(&facts.suppressed);
        let rest = [
            facts.full_size,
            usize::from(facts.spread_damping),
            facts.rigid_modes,
            facts.matrix_bytes,
            facts.factor_bytes,
            facts.vector_bytes,
            facts.krylov_vectors,
            facts.solves,
        ];
        self.counts(&rest);
        let held = facts.held.iter();
        let counts = held.clone().flat_map(|held| [held.factors, held.probes, held.rich_modes]);
        self.counts(&counts.collect::<Vec<_>>());
        let errors = held.flat_map(|held| [held.error, held.estimate, held.rich_error]);
        self.numbers(&errors.collect::<Vec<_>>());
    }
}

/// Takes what a [`Writer`] wrote; `None` where it cannot be.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn word(&mut self) -> Option<[u8; 8]> {
        let (word, rest) = self.bytes.split_first_chunk::<8>()?;
        self.bytes = rest;
        Some(*word)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.word()?)).ok()
    }

    /// A length: what follows has at least eight bytes for each, or one.
    fn length(&mut self, each: usize) -> Option<usize> {
        let length = self.count()?;
        (length.checked_mul(each)? <= self.bytes.len()).then_some(length)
    }

    fn counts(&mut self) -> Option<Vec<usize>> {
        let length = self.length(8)?;
        (0..length).map(|_| self.count()).collect()
    }

    fn number(&mut self) -> Option<f64> {
        Some(f64::from_le_bytes(self.word()?))
    }

    fn numbers(&mut self) -> Option<Vec<f64>> {
        let length = self.length(8)?;
        (0..length).map(|_| self.number()).collect()
    }

    fn matrix(&mut self) -> Option<DMatrix<f64>> {
        let (rows, columns) = (self.count()?, self.count()?);
        let values = self.numbers()?;
        let fits = rows.checked_mul(columns)? == values.len();
        fits.then(|| DMatrix::from_vec(rows, columns, values))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length(1)?;
        let (text, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        let length = self.length(8)?;
        (0..length).map(|_| self.text()).collect()
    }

    fn label(&mut self) -> Option<(DofLabel, usize)> {
        let label = match self.count()? {
            0 => DofLabel::Number(self.count()?),
            _ => DofLabel::Name(self.text()?),
        };
        Some((label, self.count()?))
    }

    fn reduced(&mut self) -> Option<Reduced> {
        let (low, high) = (self.word()?, self.word()?);
        let key = u128::from(u64::from_le_bytes(low)) | u128::from(u64::from_le_bytes(high)) << 64;
        let seconds = self.number()?;
        let names = self.texts()?;
        let kinds = self.counts()?;
        let kind = |turns| if turns == 1 { DofKind::Rotation } else { DofKind::Translation };
        let kinds = kinds.into_iter().map(kind).collect();
        let monitored_names = self.texts()?;
        let labels = self.length(16)?;
        let labels = (0..labels).map(|_| self.label()).collect::<Option<Vec<_>>>()?;
        let (mass, damping, stiffness) = (self.matrix()?, self.matrix()?, self.matrix()?);
        let recovery = self.matrix()?;
        let (boundary, interface) = (self.counts()?, self.count()?);
        let omega_rad_s = self.numbers()?;
        let participation = DVector::from_vec(self.numbers()?);
        let (excited_mass, monitored) = (self.number()?, self.counts()?);
        let (damper_dofs, suppressed) = (self.counts()?, self.counts()?);
        let rest: [usize; 8] = self.counts()?.try_into().ok()?;
        let held = match (self.counts()?.as_slice(), self.numbers()?.as_slice()) {
            (&[factors, probes, rich_modes], &[error, estimate, rich_error]) => {
                Some(ErrorEstimate { factors, error, probes, estimate, rich_error, rich_modes })
            }
            ([], []) => None,
            _ => return None,
        };
        let facts = Facts {
            damper_dofs,
            suppressed,
            full_size: rest[0],
            spread_damping: rest[1] == 1,
            rigid_modes: rest[2],
            matrix_bytes: rest[3],
            factor_bytes: rest[4],
            vector_bytes: rest[5],
            krylov_vectors: rest[6],
            solves: rest[7],
            held,
        };
        let model = ReducedModel {
            matrices: SecondOrder { mass, damping, stiffness },
            boundary,
            interface,
            omega_rad_s,
            participation,
            excited_mass,
            monitored,
            recovery,
        };
        Some(Reduced {
            model,
            facts,
            seconds,
            names,
            kinds,
            monitored: monitored_names,
            labels,
            key,
        })
    }
}

#[cfg(test)]
mod tests {
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
            let mut digest = Digest::new();
            parts.iter().for_each(|part| digest.text(part));
            digest.finish()
        };
        let all =
            [of(&[]), of(&[""]), of(&["ab", "c"]), of(&["a", "bc"]), of(&["abc"]), of(&["\0"])];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b), "{i}");
        }
    }
}
