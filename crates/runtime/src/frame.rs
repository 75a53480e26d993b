//! What one tick leaves in the record.

use model::channel::Channel;
use model::compensator::Compensator;
use model::motion::Motion;

use crate::monitor::{EnergyMonitor, IndicatorSet};
use crate::rig::Measured;
use crate::source::Source;

/// How much of the numerical motion is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MotionDetail {
    /// Displacement of every DOF.
    Displacement,
    /// Displacement, velocity and acceleration of every DOF.
    Full,
    /// Nothing beyond the interface.
    Interface,
}

/// One piece of a frame. Its channels and its values stand side by side below:
/// what is written where is said once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// Time, phase and trip.
    State,
    /// Load signals.
    Load,
    /// Desired displacement of every interface DOF.
    Desired,
    /// Command, achieved and measured displacement, force of every interface DOF.
    Rig,
    /// The energies and the stability warning.
    Energies,
    /// Displacement of every simulated DOF.
    Displacement,
    /// Velocity and acceleration of every simulated DOF.
    Rates,
    /// Parameters of an adaptive compensator.
    Parameters,
    /// Indicators beyond the energies.
    Indicators,
    /// Channels of the source.
    Source,
    /// Channels of the rig.
    Auxiliary,
}

impl Block {
    /// The frame of a hybrid test.
    pub fn hybrid(detail: MotionDetail) -> Vec<Self> {
        let mut blocks = vec![Self::State, Self::Load, Self::Desired, Self::Rig, Self::Energies];
        match detail {
            MotionDetail::Interface => {}
            MotionDetail::Displacement => blocks.push(Self::Displacement),
            MotionDetail::Full => blocks.extend([Self::Displacement, Self::Rates]),
        }
        blocks.extend([Self::Parameters, Self::Indicators, Self::Source, Self::Auxiliary]);
        blocks
    }

    /// The frame of a test without a numerical part in its loop.
    pub const DRIVEN: &[Self] =
        &[Self::State, Self::Desired, Self::Rig, Self::Source, Self::Auxiliary];
    /// The frame of a laboratory at the end of a wire.
    pub const LABORATORY: &[Self] = &[Self::State, Self::Rig, Self::Source];

    fn channels(self, plan: &FramePlan, channels: &mut Vec<Channel>) {
        let of_dofs = |channels: &mut Vec<Channel>, prefix: &str, per: &str, words: &str| {
            channels.extend(plan.dofs.iter().map(|(name, unit)| {
                Channel::new(
                    format!("{prefix}.{name}"),
                    format!("{unit}{per}"),
                    format!("{words} of DOF {name} of the numerical substructure"),
                )
            }));
        };
        let of_interface = |channels: &mut Vec<Channel>, name: &str, unit: &str, words: &str| {
            let channel = |i: usize| Channel::new(format!("{name}.{i}"), unit, words);
            channels.extend((1..=plan.interface).map(channel));
        };
        match self {
            Self::State => {
                let phases =
                    "0 running, 1 holding after a trip, 2 ramping to safe, 3 safe, 7 frozen";
                channels.extend([
                    Channel::new("time", "s", "Time since the start of the test"),
                    Channel::new("phase", "", phases),
                    Channel::new("trip", "", "Code of the latched trip, 0 for none"),
                ]);
            }
            Self::Load => channels.extend(plan.loads.iter().cloned()),
            Self::Desired => {
                let words = "Interface displacement the numerical substructure asks for";
                of_interface(channels, "desired", "m", words);
            }
            Self::Rig => {
                let truth = "True displacement of the specimen, known to virtual rigs only";
                of_interface(channels, "command", "m", "Displacement commanded to the actuator");
                of_interface(channels, "achieved", "m", truth);
                of_interface(channels, "measured", "m", "Displacement the sensor reports");
                of_interface(channels, "force", "N", "Restoring force the load cell reports");
            }
            Self::Energies => {
                for (name, words) in [
                    ("feedback", "Work of the measured force on the numerical substructure"),
                    ("input", "Work of the external load"),
                    ("dissipated", "Energy lost in damping and hysteresis"),
                    ("kinetic", "Kinetic energy"),
                    ("strain", "Elastic energy"),
                    ("numerical", "Energy that the integration method itself dissipates"),
                ] {
                    channels.push(Channel::new(format!("energy.{name}"), "J", words));
                }
                let words = "Feedback work over dissipated energy; stop at 100";
                channels.push(Channel::new("stability_warning", "%", words));
            }
            Self::Displacement => of_dofs(channels, "numerical", "", "Displacement"),
            Self::Rates => {
                of_dofs(channels, "numerical.velocity", "/s", "Velocity");
                of_dofs(channels, "numerical.acceleration", "/s²", "Acceleration");
            }
            Self::Parameters => channels.extend(plan.parameters.iter().cloned()),
            Self::Indicators => channels.extend(plan.indicators.iter().cloned()),
            Self::Source => channels.extend(plan.source.iter().cloned()),
            Self::Auxiliary => channels.extend(plan.auxiliary.iter().cloned()),
        }
    }

    /// Appends its values. Allocates nothing in a frame that has room.
    #[inline(always)]
    pub(crate) fn write<S: Source>(self, view: &mut View<'_, S>, frame: &mut Vec<f64>) {
        match self {
            Self::State => append(frame, &view.state),
            Self::Load => append(frame, view.source.load(view.tick)),
            Self::Desired => append(frame, &view.source.desired().displacement),
            Self::Rig => {
                append(frame, &view.command.displacement);
                append(frame, &view.measured.achieved);
                append(frame, &view.measured.displacement);
                append(frame, &view.measured.force);
            }
            Self::Energies => {
                if let Some(monitor) = view.monitor {
                    let energies = monitor.energies();
                    frame.extend_from_slice(&[
                        energies.feedback,
                        energies.input,
                        energies.dissipated,
                        energies.kinetic,
                        energies.strain,
                        energies.numerical,
                        monitor.stability_warning,
                    ]);
                }
            }
            Self::Displacement => view.source.show(0, view.tick, view.measured, frame),
            Self::Rates => {
                view.source.show(1, view.tick, view.measured, frame);
                view.source.show(2, view.tick, view.measured, frame);
            }
            Self::Parameters => view.compensator.iter().for_each(|it| it.write_parameters(frame)),
            Self::Indicators => view.indicators.iter().for_each(|it| it.write(frame)),
            Self::Source => view.source.write(frame),
            Self::Auxiliary => append(frame, &view.measured.auxiliary),
        }
    }
}

/// Appends a few numbers: one or three, as there often are, without a call to the
/// system's `memcpy`.
#[inline(always)]
pub(crate) fn append(frame: &mut Vec<f64>, values: &[f64]) {
    match values {
        [value] => frame.push(*value),
        [a, b, c] => frame.extend_from_slice(&[*a, *b, *c]),
        _ => frame.extend_from_slice(values),
    }
}

/// What a frame shows.
pub(crate) struct View<'a, S> {
    pub(crate) tick: u64,
    /// Time, phase and trip.
    pub(crate) state: [f64; 3],
    pub(crate) source: &'a mut S,
    pub(crate) command: &'a Motion,
    pub(crate) measured: &'a Measured,
    pub(crate) monitor: Option<&'a EnergyMonitor>,
    pub(crate) compensator: Option<&'a Compensator>,
    pub(crate) indicators: Option<&'a IndicatorSet>,
}

/// Names and units of what surrounds the loop, for the channels of a frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FramePlan {
    /// Name and unit (`m` or `rad`) of every numerical DOF.
    pub dofs: Vec<(String, String)>,
    /// Number of interface DOFs.
    pub interface: usize,
    /// Channel of every load signal.
    pub loads: Vec<Channel>,
    /// Channels of the compensator's adapted parameters.
    pub parameters: Vec<Channel>,
    /// Channels of the indicators.
    pub indicators: Vec<Channel>,
    /// Channels of the source.
    pub source: Vec<Channel>,
    /// Channels of the rig.
    pub auxiliary: Vec<Channel>,
}

impl FramePlan {
    /// The channels of these blocks, in the order in which the tick writes them.
    pub fn channels(&self, blocks: &[Block]) -> Vec<Channel> {
        let mut channels = Vec::new();
        for block in blocks {
            block.channels(self, &mut channels);
        }
        channels
    }
}
