//! Four variants in step, where their loops are plain enough.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use model::equations::Deformation;
use runtime::hybrid_loop::HybridLoop;
use runtime::lockstep::{LANES, Lockstep, View};

use super::row::{Row, floors};
use super::run::{Ran, Workspace};
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
        let mut lanes = Vec::with_capacity(BATCH);
        for (workspace, (_, assembly, _)) in workspaces.iter_mut().zip(&rest) {
            workspace.make_room(assembly).ok()?;
            let interface = *assembly.partition.interface.first()?;
            lanes.push(Lane { workspace, interface, floors: floors(assembly) });
        }
        let mut last = [0.0; LANES];
        let troubled = lockstep.run(|view| {
            if (view.tick as u64).is_multiple_of(every) {
                for (index, lane) in lanes.iter_mut().enumerate() {
                    lane.keep(index, view);
                }
            }
            last = *view.warning;
        });
        for (lane, warning) in lanes.into_iter().zip(last) {
            lane.workspace.end_with(warning);
        }
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

/// One variant among the four.
struct Lane<'a> {
    workspace: &'a mut Workspace,
    interface: Deformation,
    floors: Vec<usize>,
}

impl Lane<'_> {
    #[inline(always)]
    fn keep(&mut self, lane: usize, view: &View<'_>) {
        let of = |dof: Option<usize>| dof.map_or(0.0, |dof| view.displacement[dof][lane]);
        let desired = of(self.interface.to) - of(self.interface.from);
        let (force, warning) = (view.force[lane], view.warning[lane]);
        self.workspace.keep_one(desired, view.measured[lane], force, warning);
        self.workspace.keep_floors(self.floors.iter().map(|&dof| view.displacement[dof][lane]));
    }
}
