//! What one tick leaves in the record.

use model::channel::Channel;

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

/// Names and units of what surrounds the loop, for the channels of a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct FramePlan {
    /// Name and unit (`m` or `rad`) of every numerical DOF.
    pub dofs: Vec<(String, String)>,
    /// Number of interface DOFs.
    pub interface: usize,
    /// Channel of every load signal.
    pub loads: Vec<Channel>,
    /// How much is recorded.
    pub detail: MotionDetail,
    /// Channels of the compensator's adapted parameters.
    pub parameters: Vec<Channel>,
}

impl FramePlan {
    /// The channels, in the order in which the tick writes them.
    pub fn channels(&self) -> Vec<Channel> {
        let mut channels = vec![
            Channel::new("time", "s", "Time since the start of the test"),
            Channel::new(
                "phase",
                "",
                "0 running, 1 holding after a trip, 2 ramping to safe, 3 safe",
            ),
            Channel::new("trip", "", "Code of the latched trip, 0 for none"),
        ];
        channels.extend(self.loads.iter().cloned());
        let count = self.interface;
        for (name, unit, words) in [
            ("desired", "m", "Interface displacement the numerical substructure asks for"),
            ("command", "m", "Displacement commanded to the actuator"),
            ("achieved", "m", "True displacement of the specimen, known to virtual rigs only"),
            ("measured", "m", "Displacement the sensor reports"),
            ("force", "N", "Restoring force the load cell reports"),
        ] {
            channels.extend((1..=count).map(|i| Channel::new(format!("{name}.{i}"), unit, words)));
        }
        for (name, unit, words) in [
            ("energy.feedback", "J", "Work of the measured force on the numerical substructure"),
            ("energy.input", "J", "Work of the external load"),
            ("energy.dissipated", "J", "Energy lost in damping and hysteresis"),
            ("energy.kinetic", "J", "Kinetic energy"),
            ("energy.strain", "J", "Elastic energy"),
            ("stability_warning", "%", "Feedback work over dissipated energy; stop at 100"),
        ] {
            channels.push(Channel::new(name, unit, words));
        }
        let mut add = |prefix: &str, per: &str, words: &str| {
            for (name, unit) in &self.dofs {
                channels.push(Channel::new(
                    format!("{prefix}.{name}"),
                    format!("{unit}{per}"),
                    format!("{words} of DOF {name} of the numerical substructure"),
                ));
            }
        };
        if self.detail != MotionDetail::Interface {
            add("numerical", "", "Displacement");
        }
        if self.detail == MotionDetail::Full {
            add("numerical.velocity", "/s", "Velocity");
            add("numerical.acceleration", "/s²", "Acceleration");
        }
        channels.extend(self.parameters.iter().cloned());
        channels
    }
}
