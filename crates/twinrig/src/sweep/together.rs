//! Four variants in step, where their loops are plain enough.

use crate::error::Error;
use crate::evidence::Evidence;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};

use analysis::criteria::{self, Extent, Found, InStep, Target};
use numerics::lanes::{LANES, Lane, Lanes};
use runtime::batch::{BatchLoop, Onlooker, View};
use runtime::hybrid_loop::HybridLoop;

use super::row::{Judged, Row, floors};
use super::run::{ArmedVariant, Peaks, Ran, Workspace, frame_rate_hz, frames, named};
use super::shared::Answer;
use super::study::Study;
use crate::rig_limits::{Bounds, RigLimits, Seen};

/// Variants a thread takes at once.
pub const BATCH: usize = LANES;

impl Study {
    /// Runs up to [`BATCH`] variants and gives their rows in the same order: in
    /// step where that can be, one by one else. The rows are the same either way.
    pub fn run_some(&self, indices: &[u64], workspace: &mut Workspace) -> Vec<Result<Row, Error>> {
        // Values far from anything tried must not take the whole study down.
        let caught = catch_unwind(AssertUnwindSafe(|| self.in_step(indices, workspace)));
        let mut rows = caught.ok().flatten().unwrap_or_default();
        rows.resize(indices.len(), None);
        rows.into_iter()
            .zip(indices)
            .map(|(row, &index)| row.map_or_else(|| self.run(index, workspace), Ok))
            .collect()
    }

    /// The rows of those variants that ran to their end in step; `None` if the
    /// variants do not suit.
    fn in_step(&self, indices: &[u64], workspace: &mut Workspace) -> Option<Vec<Option<Row>>> {
        if indices.len() != BATCH {
            return None;
        }
        // Where the ordinary way has something to say about a variant, it says it.
        let armed = |&index: &u64| self.arm(self.variant(index).ok()?).ok();
        let tests: Vec<ArmedVariant> = indices.iter().map(armed).collect::<Option<_>>()?;
        let loops: Vec<&HybridLoop> = tests.iter().map(|test| &test.hybrid).collect();
        let batch = BatchLoop::new(&loops)?;
        let room = take(&mut workspace.lanes);
        let mut watched = Watched::new(&tests, room)?;
        let troubled = batch.run(&mut watched);
        let Watched { criteria, force, warning, seen, .. } = watched;
        let (found, room) = criteria.finish();
        let ran = |lane: usize, test: &ArmedVariant, found: Found| Ran {
            trip: None,
            warned_s: None,
            peaks: Peaks {
                warning: warning[lane],
                tracking_error: found.largest_tracking_error,
                force: force[lane],
            },
            ran_away: test.answer.peaks.iter().any(|peak| {
                let limit = self.spec().unstable_beyond * peak;
                limit > 0.0 && found.largest.iter().any(|largest| *largest > limit)
            }),
            judged: judged(test, &room.measured(lane), seen.lane(lane), found),
        };
        let lanes = tests.into_iter().zip(found).enumerate();
        let rows = lanes.map(|(lane, (mut test, found))| {
            // When a warning came is found where the variant runs alone.
            let found = found.filter(|_| !troubled[lane] && warning[lane] < 100.0)?;
            let (prediction, variant) = (take(&mut test.prediction), test.variant.clone());
            Some(self.row(variant, prediction, ran(lane, &test, found)))
        });
        let rows = rows.collect();
        workspace.lanes = room;
        Some(rows)
    }
}

/// Who looks on while the variants run.
struct Watched<'a> {
    shown: Vec<usize>,
    /// Ticks between two frames, and until the next one.
    every: u64,
    wait: u64,
    criteria: InStep<'a>,
    force: Lanes,
    warning: Lanes,
    bounds: Bounds<Lanes>,
    seen: Seen<Lanes>,
}

impl<'a> Watched<'a> {
    /// `None` if the tests differ in what there is to see.
    fn new(tests: &'a [ArmedVariant], room: criteria::Room) -> Option<Self> {
        let ArmedVariant { assembly, .. } = tests.first()?;
        let (interface, shown) = (*assembly.partition.interface.first()?, floors(assembly));
        let (every, step_s) = (assembly.every, assembly.integrator.step_s);
        let alike = |ArmedVariant { assembly: other, .. }: &ArmedVariant| {
            (other.every, other.integrator.step_s) == (every, step_s)
                && other.partition.interface == [interface]
                && floors(other) == shown
        };
        if !tests.iter().all(alike) {
            return None;
        }
        let answer = |lane: usize| &*tests[lane].answer;
        let at = |dof: usize| -> Option<Target<'a>> {
            target(assembly.simulated_name(dof), |lane| {
                let Answer { reference, displacement, .. } = answer(lane);
                Some((reference.displacement.get(dof)?, *displacement.get(dof)?))
            })
        };
        let at_interface = target("1", |lane| {
            let Answer { reference, interface, .. } = answer(lane);
            Some((reference.interface.first()?, *interface.first()?))
        });
        let criteria = InStep::new(
            frame_rate_hz(assembly),
            frames(assembly),
            at_interface?,
            shown.iter().map(|&dof| at(dof)).collect::<Option<_>>()?,
            room,
        )?;
        let zero = Lanes::ZERO;
        let (bounds, seen) = (RigLimits::bounds(|lane| &tests[lane].limits), Seen::default());
        Some(Self { shown, every, wait: 0, criteria, force: zero, warning: zero, bounds, seen })
    }
}

impl Onlooker for Watched<'_> {
    #[inline(always)]
    fn see(&mut self, view: &View<'_>) {
        if self.wait > 0 {
            self.wait -= 1;
            return;
        }
        self.wait = self.every.saturating_sub(1);
        let shown = &self.shown;
        self.criteria.push(view.desired, view.measured, |floor| view.displacement[shown[floor]]);
        self.seen.add(&self.bounds, view.command, view.measured, view.force);
        self.force = self.force.raised_to(view.force.abs());
        self.warning = self.warning.raised_to(view.warning.abs());
    }
}

/// The reference of every lane.
fn target<'a>(
    name: &'a str,
    of: impl Fn(usize) -> Option<(&'a Vec<f64>, Extent)>,
) -> Option<Target<'a>> {
    let all: Vec<(&'a [f64], Extent)> =
        (0..LANES).map(|lane| of(lane).map(|(s, e)| (s.as_slice(), e))).collect::<Option<_>>()?;
    let samples = std::array::from_fn(|lane| all[lane].0);
    Some(Target { name, samples, extents: std::array::from_fn(|lane| all[lane].1) })
}

/// What the signals of a lane say.
fn judged(test: &ArmedVariant, measured: &[f64], seen: Seen<f64>, found: Found) -> Judged {
    let ArmedVariant { assembly, answer, thresholds, limits, .. } = test;
    let Found { criteria, nrmse, .. } = found;
    let rate_hz = frame_rate_hz(assembly);
    let reference = answer.reference.interface.first().map(Vec::as_slice);
    let interfaces = &[criteria::Interface { name: "1", desired: &[], measured, reference }];
    let evidence = Evidence { thresholds, rate_hz: Some(rate_hz), interfaces, criteria: &criteria };
    let limits = limits.reasons(&named(&[seen]), thresholds);
    Judged { reasons: evidence.reasons().chain(limits).collect(), nrmse, criteria }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::{Experiment, Folder};

    const PLAIN: &str = r#"
        title = "Plain"
        duration = "1 s"
        structure = { shear_building = { storeys = 3, mass = "20 t", stiffness = "40 MN/m" }, damping = { modal = "2 %" } }
        partition = { interface = [1], mass = ["200 kg"], stiffness = ["0.8 MN/m"] }
        excitation = { ground = { synthetic = { peak = "0.3 g" } } }
        integrator = { method = "rk4", rate = "1024 Hz" }
        transfer_system = { kind = "transfer_function", numerator = [100], denominator = [1, 100] }
        limits = { command = "100 mm" }
        [sweep]
        runs = 4
        [[sweep.vary]]
        parameter = "partition.stiffness[1]"
        normal = { sd = "0.1 MN/m" }
    "#;

    fn in_step(text: &str) -> Option<usize> {
        let folder = Folder::new("");
        let (experiment, _) = Experiment::from_text("plain.toml", text, &folder).expect("it reads");
        let spec = experiment.sweep.clone().expect("a sweep");
        let study =
            Study::new(experiment, spec, &folder, std::sync::Arc::default()).expect("a study");
        let rows = study.in_step(&[1, 2, 3, 4], &mut Workspace::default())?;
        Some(rows.into_iter().flatten().count())
    }

    /// A plain file goes in step, so that sweeps have the speed that is told of them;
    /// indicators do not.
    #[test]
    fn variants_of_a_plain_file_go_in_step() {
        assert_eq!(in_step(PLAIN), Some(4));
        let watched = "[monitor]\nwindowed_warning = { window = \"1 s\", hold_at = \"100 %\" }\n";
        assert_eq!(in_step(&PLAIN.replace("[sweep]", &format!("{watched}[sweep]"))), None);
    }
}
