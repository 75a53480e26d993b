//! The places at which both sides meet, as they are shown.

use model::structure::DofKind;

use crate::assembly::Assembly;

/// An interface DOF: its name, and the units of its motion. Numbers stay in SI; the
/// names of fields say "m" for both kinds.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// As in the file; "ground" where there is nothing on the other side.
    pub name: String,
    kind: DofKind,
}

impl Place {
    /// Those of an assembly.
    pub fn all(assembly: &Assembly) -> Vec<Self> {
        let structure = &assembly.structure;
        let name = |dof: Option<usize>| match dof {
            Some(dof) => structure.names[dof].as_str(),
            None => "ground",
        };
        let place = |place: &model::equations::RelativeDof| Self {
            name: match place.from {
                None => name(place.to).to_owned(),
                Some(_) => format!("{} – {}", name(place.to), name(place.from)),
            },
            kind: place.to.or(place.from).map_or(DofKind::Translation, |dof| structure.kinds[dof]),
        };
        assembly.partition.interface.iter().map(place).collect()
    }

    /// Unit of its motion.
    pub fn unit(&self) -> &'static str {
        motion_unit(self.kind)
    }

    /// Unit of its force.
    pub fn force_unit(&self) -> &'static str {
        match self.kind {
            DofKind::Translation => "N",
            DofKind::Rotation => "N m",
        }
    }

    /// A thousandth of its unit, in which it is shown.
    pub fn shown_unit(&self) -> String {
        format!("m{}", self.unit())
    }
}

/// Unit of the motion of a DOF.
pub(crate) fn motion_unit(kind: DofKind) -> &'static str {
    match kind {
        DofKind::Translation => "m",
        DofKind::Rotation => "rad",
    }
}

/// Unit of what several places have together, in millionths.
pub fn common_unit(places: &[Place]) -> &'static str {
    let turns = |place: &Place| place.kind == DofKind::Rotation;
    match (places.iter().all(turns), places.iter().any(turns)) {
        (true, true) => "µrad",
        (false, true) => "µm, µrad",
        _ => "µm",
    }
}
