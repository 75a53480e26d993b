//! Four variants in step, where their loops are plain enough.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use model::equations::Deformation;
use runtime::hybrid_loop::HybridLoop;
use runtime::lockstep::{LANES, Lanes, Lockstep, View};

use super::row::{Row, floors};
use super::run::{Peaks, Ran, Workspace};
use super::shared::Answer;
use super::study::{Study, StudyError, Variant};
use crate::assembly::{Assembly, LoopOptions, Recording};
use crate::rehearsal::warning_constant;

/// Room for [`BATCH`] variants at a time.
pub type Workspaces = [Workspace; BATCH];

/// Variants a thread takes at once.
pub const BATCH: usize = LANES;

/// A variant ready to run.
struct Prepared {
    variant: Variant,
    assembly: Assembly,
    answer: Arc<Answer>,
    hybrid: HybridLoop,
}

impl Study {
    /// Runs up to [`BATCH`] variants and gives their rows in the same order: in
    /// step where that can be, one by one else. The rows are the same either way.
    pub fn run_some(
        &self,
        indices: &[u64],
        workspaces: &mut Workspaces,
    ) -> Vec<Result<Row, StudyError>> {
        // Values far from anything tried must not take the whole study down.
        let caught = catch_unwind(AssertUnwindSafe(|| self.in_step(indices, workspaces)));
        let mut rows = caught.ok().flatten().unwrap_or_default();
        rows.resize(indices.len(), None);
        let [workspace, ..] = workspaces;
        rows.into_iter()
            .zip(indices)
            .map(|(row, &index)| row.map_or_else(|| self.run(index, workspace), Ok))
            .collect()
    }

    /// The rows of those variants that ran to their end in step; `None` if the
    /// variants do not suit.
    fn in_step(&self, indices: &[u64], workspaces: &mut Workspaces) -> Option<Vec<Option<Row>>> {
        if indices.len() != BATCH {
            return None;
        }
        let prepared: Vec<Prepared> =
            indices.iter().map(|&index| self.prepare(index)).collect::<Option<_>>()?;
        let every = prepared[0].assembly.every;
        if prepared.iter().any(|one| one.assembly.every != every) {
            return None;
        }
        let (mut loops, mut rest) = (Vec::new(), Vec::new());
        for Prepared { variant, assembly, answer, hybrid } in prepared {
            loops.push(hybrid);
            rest.push((variant, assembly, answer));
        }
        let lockstep = Lockstep::new(&loops)?;
        let (_, assembly, _) = rest.first()?;
        let interface = *assembly.partition.interface.first()?;
        let shown = floors(assembly);
        if rest
            .iter()
            .any(|(_, other, _)| other.partition.interface != [interface] || floors(other) != shown)
        {
            return None;
        }
        for (workspace, (_, assembly, _)) in workspaces.iter_mut().zip(&rest) {
            workspace.make_room(assembly).ok()?;
        }
        let frames = assembly.ticks.div_ceil(every as usize);
        let mut kept = Kept::new(interface, shown, frames, &mut workspaces[0].lanes);
        let troubled = lockstep.run(|view| {
            if (view.tick as u64).is_multiple_of(every) {
                kept.keep(view);
            }
        });
        kept.hand_out(workspaces);
        let rows = rest.into_iter().zip(workspaces.iter()).zip(troubled);
        let row = |((variant, assembly, answer), workspace): ((_, Assembly, Arc<Answer>), _)| {
            self.row(variant, &assembly, &answer, workspace, &Ran { trip: None })
        };
        Some(rows.map(|(one, troubled)| (!troubled).then(|| row(one))).collect())
    }

    /// `None` where the ordinary way has something to say about the variant.
    fn prepare(&self, index: u64) -> Option<Prepared> {
        let variant = self.variant(index).ok()?;
        if variant.values.iter().any(Option::is_none) {
            return None;
        }
        let (_, assembly) = self.assemble(&variant).ok()?;
        let load = self.shared.load(&assembly);
        let answer = self.shared.reference(&assembly, &load).ok()?;
        let constant_j = warning_constant(&assembly, &answer.reference);
        let options = LoopOptions { constant_j, recording: Recording::Off };
        let hybrid = assembly.hybrid_loop(assembly.plant().ok()?, load, options);
        Some(Prepared { variant, assembly, answer, hybrid })
    }
}

/// The signals of four variants side by side: one store a tick for all of them.
#[derive(Debug, Default)]
pub(super) struct LaneRoom {
    desired: Vec<Lanes>,
    measured: Vec<Lanes>,
    floors: Vec<Vec<Lanes>>,
}

/// What is kept of a run.
struct Kept {
    interface: Deformation,
    shown: Vec<usize>,
    room: LaneRoom,
    force: Lanes,
    tracking_error: Lanes,
    warning: Lanes,
}

impl Kept {
    fn new(interface: Deformation, shown: Vec<usize>, frames: usize, room: &mut LaneRoom) -> Self {
        let mut room = std::mem::take(room);
        room.floors.resize_with(shown.len(), Vec::new);
        room.desired.clear();
        room.measured.clear();
        room.floors.iter_mut().for_each(Vec::clear);
        for column in room.floors.iter_mut().chain([&mut room.desired, &mut room.measured]) {
            column.reserve(frames);
        }
        let zeros = [0.0; LANES];
        Self { interface, shown, room, force: zeros, tracking_error: zeros, warning: zeros }
    }

    #[inline(always)]
    fn keep(&mut self, view: &View<'_>) {
        let of = |dof: Option<usize>| dof.map_or([0.0; LANES], |dof| view.displacement[dof]);
        let (to, from) = (of(self.interface.to), of(self.interface.from));
        let desired: Lanes = std::array::from_fn(|lane| to[lane] - from[lane]);
        self.room.desired.push(desired);
        self.room.measured.push(*view.measured);
        for (column, &dof) in self.room.floors.iter_mut().zip(&self.shown) {
            column.push(view.displacement[dof]);
        }
        let error = std::array::from_fn(|lane| view.measured[lane] - desired[lane]);
        raise(&mut self.tracking_error, &error);
        raise(&mut self.force, view.force);
        raise(&mut self.warning, view.warning);
    }

    /// Gives every variant its own signals.
    fn hand_out(self, workspaces: &mut Workspaces) {
        for (lane, workspace) in workspaces.iter_mut().enumerate() {
            let of = |column: &[Lanes], out: &mut Vec<f64>| {
                out.extend(column.iter().map(|value| value[lane]));
            };
            workspace.fill(
                |signals| of(&self.room.desired, signals),
                |signals| of(&self.room.measured, signals),
                |floor, signals| of(&self.room.floors[floor], signals),
            );
            workspace.peaks = Peaks {
                warning: self.warning[lane],
                tracking_error: self.tracking_error[lane],
                force: self.force[lane],
            };
        }
        workspaces[0].lanes = self.room;
    }
}

/// Whatever is not a number belongs to a troubled lane.
#[inline(always)]
fn raise(peak: &mut Lanes, value: &Lanes) {
    for lane in 0..LANES {
        let size = value[lane].abs();
        peak[lane] = if size > peak[lane] { size } else { peak[lane] };
    }
}
