//! Which cut of a structure bears the most delay.
//!
//! The places of a structure are its springs: between two DOFs where their
//! entry of K is negative, and against the ground where a row of K has a sum.

use model::equations::RelativeDof;
use model::partition::Partition;
use model::specimen::Specimen;
use model::structure::Structure;
use numerics::Matrix;
use numerics::second_order::SecondOrder;

use crate::critical_delay::{CriticalDelay, critical_delay};
use crate::loop_stability::{LoopDescription, LoopError, Verdict, verdict};

/// A way to cut the structure.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// What stands in the laboratory, and where.
    pub partition: Partition,
    /// How it came about.
    pub origin: Origin,
}

impl Cut {
    /// Of a specimen without DOFs of its own at one place.
    fn at(place: RelativeDof, specimen: Specimen, origin: Origin) -> Self {
        let partition = Partition { interface: vec![place], specimen, inside: None };
        Self { partition, origin }
    }
}

/// How a cut came about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Origin {
    /// As declared.
    Declared,
    /// The declared specimen with this share of the mass of its DOF.
    MassSplit {
        /// Of the structure's mass there.
        share: f64,
    },
    /// The declared specimen in another place.
    Moved,
    /// The structure's own spring there, and its share of the damping.
    Element {
        /// Of the spring that is tested.
        share: f64,
    },
}

/// A cut and what it bears.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The cut.
    pub cut: Cut,
    /// The delay at which a loop with nothing but a delay loses its stability;
    /// `None` if none makes it unstable.
    pub critical: Option<CriticalDelay>,
    /// The file's own loop around this cut; `None` where it cannot be judged.
    pub own: Option<Verdict>,
}

impl Ranked {
    /// For the order: more is better.
    fn bears_s(&self) -> f64 {
        self.critical.map_or(f64::INFINITY, |critical| critical.delay_s)
    }
}

/// All cuts that were examined, and what was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The one that bears the longest delay first.
    pub ranked: Vec<Ranked>,
    /// What was not examined, and why, in words.
    pub skipped: Vec<String>,
}

/// Shares of the mass that are tried.
const MASS_SHARES: [f64; 5] = [0.0, 0.1, 0.25, 0.5, 0.75];
/// Shares of a spring that are tried.
const SPRING_SHARES: [f64; 2] = [1.0, 0.5];
/// Work that may be done, in cuts × DOFs³, and bounds on the number of cuts.
const WORK: f64 = 2e7;
const CUTS: (usize, usize) = (10, 240);

/// Ranks the cuts of a structure. `description` is the loop as declared, whose rig
/// and compensator every cut is tried with.
pub fn advise(
    structure: &Structure,
    declared: &Partition,
    description: &LoopDescription,
) -> Result<Advice, LoopError> {
    let mut skipped = vec![
        "partitions with further elements, or several elements at once, are not tried".to_owned(),
    ];
    let mut cuts = vec![Cut { partition: declared.clone(), origin: Origin::Declared }];
    let springs = springs(structure, &mut skipped);
    if declared.inside.is_some() {
        skipped.push("a specimen with DOFs of its own is neither moved nor split".to_owned());
    } else {
        mass_splits(structure, declared, &mut cuts, &mut skipped);
        moved(declared, &springs, &mut cuts, &mut skipped);
    }
    elements(&springs, &mut cuts);
    let n = structure.size() as f64;
    let most = ((WORK / (n * n * n)) as usize).clamp(CUTS.0, CUTS.1);
    if cuts.len() > most {
        skipped.push(format!(
            "{} of {} possible cuts are left out: {most} are examined for a structure of this size",
            cuts.len() - most,
            cuts.len()
        ));
        // The declared one first, then evenly through the rest.
        let rest = cuts.split_off(1);
        cuts.extend((0..most - 1).map(|i| rest[i * rest.len() / (most - 1)].clone()));
    }
    let examined = cuts.len();
    let judged = cuts.into_iter().filter_map(|cut| rank(structure, cut, description).transpose());
    let mut ranked = judged.collect::<Result<Vec<_>, _>>()?;
    let massless = examined - ranked.len();
    if massless > 0 {
        let cuts = cuts_of(massless);
        skipped.push(format!("{cuts} that would leave no mass to simulate at a DOF"));
    }
    ranked.sort_by(|a, b| b.bears_s().total_cmp(&a.bears_s()));
    Ok(Advice { ranked, skipped })
}

/// Judges a cut; `None` if it leaves no mass.
fn rank(
    structure: &Structure,
    cut: Cut,
    description: &LoopDescription,
) -> Result<Option<Ranked>, LoopError> {
    let specimen = cut.partition.specimen.linearised();
    let partition = Partition { specimen: specimen.clone(), ..cut.partition.clone() };
    let Ok(parts) = partition.split(structure, &[], &[]) else { return Ok(None) };
    let inside = cut.partition.inside.clone();
    let critical = critical_delay(&parts.numerical, &specimen, inside.as_ref())?;
    let numerical = parts.numerical;
    let own = LoopDescription { numerical, specimen, inside, ..description.clone() };
    Ok(Some(Ranked { cut, critical, own: verdict(&own).ok() }))
}

fn cuts_of(count: usize) -> String {
    if count == 1 { "1 cut".to_owned() } else { format!("{count} cuts") }
}

/// The declared specimen with other shares of the mass of its DOF.
fn mass_splits(
    structure: &Structure,
    declared: &Partition,
    cuts: &mut Vec<Cut>,
    skipped: &mut Vec<String>,
) {
    let [RelativeDof { from: None, to: Some(dof) }] = declared.interface[..] else {
        skipped.push(
            "the mass is split only where one DOF moves against the ground: a storey's \
             deformation carries none"
                .to_owned(),
        );
        return;
    };
    let whole = structure.matrices.mass[(dof, dof)];
    let linear = declared.specimen.linearised().matrices;
    let is_mass_alone = linear.stiffness[(0, 0)] == 0.0 && linear.damping[(0, 0)] == 0.0;
    for share in MASS_SHARES {
        let mass = Matrix::from_element(1, 1, share * whole);
        let same = (mass[(0, 0)] - declared.specimen.matrices.mass[(0, 0)]).abs() < 1e-9 * whole;
        // A mass without its mass is nothing to test.
        if same || (share == 0.0 && is_mass_alone) {
            continue;
        }
        let mut specimen = declared.specimen.clone();
        specimen.matrices.mass = mass;
        cuts.push(Cut::at(declared.interface[0], specimen, Origin::MassSplit { share }));
    }
}

/// A spring of the structure.
struct Spring {
    place: RelativeDof,
    stiffness: f64,
    damping: f64,
}

/// The springs that K consists of, as far as it does.
fn springs(structure: &Structure, skipped: &mut Vec<String>) -> Vec<Spring> {
    let (k, c, n) = (&structure.matrices.stiffness, &structure.matrices.damping, structure.size());
    let small = 1e-9 * k.amax();
    let (mut found, mut odd) = (Vec::new(), 0);
    for j in 0..n {
        for i in 0..j {
            if k[(i, j)] < -small {
                let place = RelativeDof { from: Some(i), to: Some(j) };
                let (stiffness, damping) = (-k[(i, j)], (-c[(i, j)]).max(0.0));
                found.push(Spring { place, stiffness, damping });
            } else if k[(i, j)] > small {
                odd += 1;
            }
        }
        let (stiffness, damping) = (k.row(j).sum(), c.row(j).sum().max(0.0));
        if stiffness > 1e3 * small {
            found.push(Spring { place: RelativeDof::of_dof(j), stiffness, damping });
        } else if stiffness < -1e3 * small {
            odd += 1;
        }
    }
    if odd > 0 {
        skipped.push(format!(
            "{odd} entries of the stiffness matrix are no spring between two DOFs (bending, \
             condensed DOFs): what they stand for cannot be cut out alone"
        ));
    }
    found
}

/// The declared specimen in every other place that is stiff enough for it.
fn moved(declared: &Partition, springs: &[Spring], cuts: &mut Vec<Cut>, skipped: &mut Vec<String>) {
    let [own] = declared.interface[..] else {
        skipped.push("a specimen with several interface DOFs is not moved elsewhere".to_owned());
        return;
    };
    let least = declared.specimen.linearised().matrices.stiffness[(0, 0)];
    let elsewhere = springs.iter().filter(|spring| spring.place != own);
    let (weak, stiff): (Vec<_>, Vec<_>) = elsewhere.partition(|spring| spring.stiffness < least);
    let specimen = &declared.specimen;
    cuts.extend(stiff.iter().map(|s| Cut::at(s.place, specimen.clone(), Origin::Moved)));
    if !weak.is_empty() {
        let cuts = cuts_of(weak.len());
        skipped.push(format!("{cuts} in places less stiff than the declared specimen"));
    }
}

/// Every spring of the structure, tested whole or in part.
fn elements(springs: &[Spring], cuts: &mut Vec<Cut>) {
    for spring in springs {
        for share in SPRING_SHARES {
            let one = |value: f64| Matrix::from_element(1, 1, value);
            let specimen = Specimen {
                matrices: SecondOrder {
                    mass: one(0.0),
                    damping: one(share * spring.damping),
                    stiffness: one(share * spring.stiffness),
                },
                elements: Vec::new(),
            };
            cuts.push(Cut::at(spring.place, specimen, Origin::Element { share }));
        }
    }
}
