//! Feeding a record's measurements through the loop again.

use runtime::gate::TripKind;
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::{CoursePlan, Initiating};
use runtime::interlock::{Phase, Response};
use runtime::load::Load;
use runtime::numerical::Numerical;
use runtime::operator;
use runtime::record::{EventKind, Record, Role};
use runtime::rig::{ReplayRig, RigFault};

use crate::error::Error;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::assembly::{Assembly, Coupling, LoopOptions, Recording};
use crate::loop_record::Expected;
use experiment::{Diagnostics, Embedded, Experiment};

/// How the loop was fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayKind {
    /// With the recorded displacement and force.
    Measurements,
    /// From the seed: rig and numerical part are one system there, or close the loop within a tick.
    Seed,
}

impl ReplayKind {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Measurements => "fed with the recorded measurements",
            Self::Seed => {
                "run again from its seed: rig and numerical part are one system, or balance within the tick"
            }
        }
    }
}

/// The outcome of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replay {
    /// Ticks compared.
    pub ticks: usize,
    /// The first command that differs in any bit.
    pub first_difference: Option<Difference>,
    /// How the loop was fed.
    pub kind: ReplayKind,
}

/// One command that came out otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Tick, from 0.
    pub tick: usize,
    /// Interface DOF, from 0.
    pub dof: usize,
    /// In the record, m.
    pub recorded: f64,
    /// Now, m.
    pub replayed: f64,
}

impl Serialize for Replay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = json!({
            "ticks": self.ticks,
            "kind": self.kind.words(),
            "identical": self.first_difference.is_none(),
            "first_difference": self.first_difference.map(|d| json!({
                "tick": d.tick, "dof": d.dof + 1, "recorded": d.recorded, "replayed": d.replayed,
            })),
        });
        document.serialize(serializer)
    }
}

/// What stopped the test from outside the tick: the operator, or a clock that
/// missed too many deadlines or waited for a load in vain. No measurement tells of them, the record does.
struct Stops {
    /// Tick before which the test was stopped, and the code of the trip.
    trip: Option<(usize, u8)>,
    /// Tick before which the operator ended the hold.
    ramp_down: Option<usize>,
    /// Tick before which the operator froze the ramp, or in which the laboratory's did.
    freeze: Option<usize>,
}

impl Stops {
    fn of(record: &Record) -> Self {
        // In virtual time it is the clock that waits for a load in vain.
        let is_virtual = record.header.started.is_empty();
        let outside = |code: u8| match TripKind::from_code(code) {
            Some(TripKind::Operator | TripKind::Overrun) => true,
            Some(TripKind::NoLoad) => is_virtual,
            _ => false,
        };
        let first = record.column("trip").and_then(|trip| {
            let tick = trip.iter().position(|&code| code != 0.0)?;
            Some((tick, trip[tick] as u8))
        });
        let events = || record.summary.iter().flat_map(|summary| &summary.events);
        let tick = |time_s: f64| (time_s * record.header.rate_hz).round() as usize;
        let ramp = events().find(|event| event.what == EventKind::OperatorRampDown);
        let tripped = first.map_or(usize::MAX, |(tick, _)| tick);
        let freezes = [TripKind::Operator, TripKind::PeerTripped].map(|kind| Some(kind.code()));
        let second = events().find(|event| {
            event.what == EventKind::TripAbort
                && freezes.contains(&event.code)
                && tick(event.time_s) > tripped
        });
        Self {
            trip: first.filter(|(_, code)| outside(*code)),
            ramp_down: ramp.map(|event| tick(event.time_s)),
            freeze: second.map(|event| tick(event.time_s)),
        }
    }

    fn apply(&self, tick: usize, hybrid: &mut HybridLoop) {
        match self.trip {
            Some((at, code)) if at == tick && code == TripKind::Overrun.code() => {
                hybrid.trip_overrun(0, 0);
            }
            Some((at, code)) if at == tick && code == TripKind::NoLoad.code() => {
                hybrid.trip_no_load(0);
            }
            Some((at, _)) if at == tick => operator::stop(hybrid, Response::Hold),
            _ => {}
        }
        if self.ramp_down == Some(tick) {
            // Only a test that has tripped has one; a damaged record may say otherwise.
            operator::ramp_down(hybrid);
        }
        if self.freeze == Some(tick) {
            operator::freeze(hybrid);
        }
    }
}

/// Where the rig itself tripped the test, which no measurement tells.
fn rig_fault(record: &Record) -> Option<(u64, RigFault)> {
    let codes = record.column("trip")?;
    let tick = codes.iter().position(|&code| code != 0.0)?;
    let kind = TripKind::from_code(codes[tick] as u8)?;
    Some((tick as u64, RigFault::recorded(kind)?))
}

/// Rows before the load began.
fn rows_before(record: &Record) -> usize {
    let phases = record.phases();
    phases.iter().take_while(|&&phase| phase == Some(Phase::Initiating)).count()
}

/// A load that arrived while the test ran is in the record.
fn streamed_load(record: &Record, assembly: &Assembly) -> Result<Load, Error> {
    let before = rows_before(record);
    let phases = record.phases();
    let (running, completing) = (Some(Phase::Running), Some(Phase::Completing));
    let after = || phases[before..].iter();
    let ticks = after().take_while(|&&phase| phase == running).count();
    let rows = after().take_while(|&&phase| phase == running || phase == completing).count();
    let mut series = Vec::new();
    for signal in &assembly.loads {
        let name = &signal.channel.name;
        let column = record.column(name).ok_or_else(|| Error::NoChannel(name.clone()))?;
        series.push(column[before.min(column.len())..].to_vec());
    }
    let whole = Load::new(&series, rows);
    Ok(whole.ending(ticks))
}

/// The course as it was: a streamed load, and an operator, are waited for as long as it took.
fn course(record: &Record, assembly: &Assembly, plan: CoursePlan) -> CoursePlan {
    let known = rows_before(record) as u64 == assembly.ticks_before();
    if assembly.stream.is_none() && known {
        return plan;
    }
    let before = rows_before(record) as u64;
    let fetched = plan.initiating.unwrap_or(Initiating {
        rate_m_s: 0.0,
        reach_m: f64::INFINITY,
        fetch_ticks: 0,
        settle_ticks: 0,
        within_m: f64::INFINITY,
    });
    let initiating =
        Initiating { settle_ticks: before.saturating_sub(fetched.fetch_ticks), ..fetched };
    CoursePlan { initiating: Some(initiating), ..plan }
}

/// A record that cannot be replayed.
fn refuse_unfit(record: &Record) -> Result<(), Error> {
    let header = &record.header;
    if header.version != env!("CARGO_PKG_VERSION") {
        return Err(Error::OtherVersion(header.version.clone()));
    }
    match header.role {
        Role::Loop => {}
        Role::Laboratory => return Err(Error::LaboratoryRecord),
        Role::Drive => return Err(Error::DriveRecord),
        Role::Iterative | Role::Evaluations => return Err(Error::IterativeRecord),
    }
    if record.phases().contains(&Some(Phase::Held)) {
        return Err(Error::WasHeld);
    }
    if header.every != 1 {
        return Err(Error::NotEveryTick { every: header.every, why: "a replay needs all" });
    }
    if let Some(lost) = record.summary.as_ref().map(|s| s.frames_lost).filter(|&lost| lost > 0) {
        return Err(Error::FramesLost {
            lost,
            why: "the record has holes, and a replay would not mean anything",
        });
    }
    Ok(())
}

/// Replays a record through the same tick.
pub fn replay(record: &Record) -> Result<Replay, Error> {
    refuse_unfit(record)?;
    let header = &record.header;
    let source = Embedded::new(&header.inputs);
    let unreadable = |found: Diagnostics| Error::EmbeddedExperiment(Box::new(found));
    let (experiment, _) =
        Experiment::from_text(&header.experiment_name, &header.experiment, &source)
            .map_err(unreadable)?;
    let (assembly, _) = Assembly::new(&experiment, &source).map_err(unreadable)?;
    let columns = |name: &str| -> Result<Vec<Vec<f64>>, Error> {
        (1..=assembly.count())
            .map(|i| {
                let name = format!("{name}.{i}");
                let column = record.column(&name).map(<[f64]>::to_vec);
                column.ok_or(Error::NoChannel(name))
            })
            .collect()
    };
    let recorded = columns("command")?;
    // A virtual rig that answers within the tick shares the balance of forces with the numerical part:
    // its whole force gives the same acceleration but for rounding.
    let remote = record.column("rig.bridged").is_some();
    let shares = !remote && assembly.virtual_rig().is_ok_and(|rig| rig.direct_inertia().is_some());
    let (plant, kind) = match assembly.coupling {
        Coupling::Held if !shares => {
            let mut rig = ReplayRig::new(columns("measured")?, columns("force")?);
            if let Some((tick, fault)) = rig_fault(record) {
                rig = rig.failing(tick, fault);
            }
            // The recorded force is whole: nothing of it is left to be solved for.
            let mut plant = assembly.split(rig, None)?;
            if let Numerical::TwoRate(two) = &mut plant.numerical {
                // Which batch a tick used is part of what happened.
                let name = "main.batch".to_owned();
                let used = record.column(&name).ok_or(Error::NoChannel(name))?;
                two.schedule = Some(used[rows_before(record).min(used.len())..].to_vec());
            }
            (plant, ReplayKind::Measurements)
        }
        Coupling::Held | Coupling::Continuous => (assembly.plant()?, ReplayKind::Seed),
    };
    let load = match assembly.stream {
        Some(_) => streamed_load(record, &assembly)?,
        None => assembly.load(),
    };
    let Expected { constant_j, .. } = Expected::of(&assembly, &load)?;
    let options = LoopOptions { constant_j, recording: Recording::Off };
    let mut hybrid = assembly.hybrid_loop(plant, load, options);
    let plan = assembly.course.or_else(|| {
        let at_once = CoursePlan { initiating: None, completing: None };
        (rows_before(record) > 0).then_some(at_once)
    });
    if let Some(plan) = plan {
        hybrid = hybrid.along(course(record, &assembly, plan), None);
    }
    let frames = recorded.first().map_or(0, Vec::len);
    let mut outcome = Replay { ticks: 0, first_difference: None, kind };
    let stops = Stops::of(record);
    for tick in 0..frames {
        stops.apply(tick, &mut hybrid);
        hybrid.tick();
        outcome.ticks += 1;
        for (dof, column) in recorded.iter().enumerate() {
            let replayed = hybrid.command().displacement[dof];
            if replayed.to_bits() != column[tick].to_bits() {
                let recorded = column[tick];
                outcome.first_difference = Some(Difference { tick, dof, recorded, replayed });
                return Ok(outcome);
            }
        }
    }
    Ok(outcome)
}
