//! The loop of a hybrid test: a numerical part and a rig, closed.

mod closed_loop;
pub mod course;

pub use closed_loop::ClosedLoop;

use model::compensator::Compensator;

use crate::frame::{Block, MotionDetail};
use crate::gate::Limits;
use crate::interlock::SafePath;
use crate::load::Load;
use crate::monitor::EnergyMonitor;
use crate::numerical::{Numerical, Plant};
use crate::record::FrameSink;
use crate::streamed_load::{LoadEnd, StreamedLoad};
use crate::tick::{Frames, Loop, Observers};
use crate::two_rate::{MainLoop, TwoRateModel};
use course::CoursePlan;

/// The armed loop of a hybrid test.
pub type HybridLoop = Loop<ClosedLoop>;

/// What a loop is made of; built before arming.
pub struct LoopParts {
    /// Numerical substructure and rig.
    pub plant: Plant,
    /// Desired to command.
    pub compensator: Compensator,
    /// What may pass.
    pub limits: Limits,
    /// The way to safe.
    pub safe_path: SafePath,
    /// The energies.
    pub monitor: EnergyMonitor,
    /// The external load.
    pub load: Load,
    /// Period, s.
    pub step_s: f64,
    /// Ticks between two frames.
    pub every: u64,
    /// What a frame holds of the numerical motion.
    pub detail: MotionDetail,
}

impl HybridLoop {
    /// Arms the loop. `sink` takes the frames, if any are wanted.
    pub fn new(parts: LoopParts, sink: Option<FrameSink>) -> Self {
        let LoopParts { plant, compensator, safe_path, monitor, load, step_s, .. } = parts;
        let limits = Limits { step_s, ..parts.limits };
        let source = ClosedLoop::new(plant.numerical, load, step_s);
        let blocks = Block::hybrid(parts.detail);
        let frames = sink.map(|sink| Frames::new(sink, blocks, parts.every));
        let observers = Observers { monitor: Some(monitor), frames, ..Observers::default() };
        Self::arm(source, Some(compensator), limits, safe_path, plant.rig, observers)
    }

    /// The same loop with a course around its load, which may arrive while the
    /// test runs: `stream` then takes the place of the known load, whose length
    /// is the longest time for it.
    pub fn along(mut self, plan: CoursePlan, stream: Option<StreamedLoad>) -> Self {
        self.source.go_along(plan, stream);
        self
    }

    /// What is simulated at two rates, where it is.
    pub fn two_rates(&self) -> Option<&TwoRateModel> {
        match &self.source.numerical {
            Numerical::TwoRate(model) => Some(model),
            _ => None,
        }
    }

    /// Takes the main loop of a two-rate test out of the tick, for a thread of
    /// its own; see [`TwoRateModel::detach_main`].
    pub fn detach_main(&mut self) -> Option<MainLoop> {
        match &mut self.source.numerical {
            Numerical::TwoRate(model) => model.detach_main(),
            _ => None,
        }
    }

    /// The monitor, for those who look on.
    pub fn monitor(&self) -> &EnergyMonitor {
        self.observers.monitor.as_ref().expect("a hybrid loop has one")
    }

    /// The compensator, for those who look on.
    pub fn compensator(&self) -> &Compensator {
        self.compensator.as_ref().expect("a hybrid loop has one")
    }

    /// Why the load is over, where it arrived while the test ran.
    pub fn load_end(&self) -> Option<LoadEnd> {
        self.source.stream()?.end
    }
}
