//! What the tests share. Each uses its part.

pub(crate) mod benchmark;
pub(crate) mod by_hand;
pub(crate) mod link;
pub(crate) mod proxy;
pub(crate) mod simulated;

use model::channel::Channel;
use runtime::record::{EmbeddedFile, Header, InterfaceDof, Role};

pub(crate) fn header() -> Header {
    Header {
        role: Role::Loop,
        interface: vec![InterfaceDof { name: "1".into(), dof: Some("roof".into()) }],
        version: "0.1.0".into(),
        title: "Shaking".into(),
        experiment_name: "frame.toml".into(),
        experiment: "title = \"Ωmega\"\n".into(),
        inputs: vec![EmbeddedFile { name: "kobe.csv".into(), bytes: vec![0, 255, 7] }],
        seed: u64::MAX,
        rate_hz: 4096.0,
        every: 1,
        started: String::new(),
        machine: vec![("kernel".into(), "6.12".into())],
        trip_codes: vec![(3, "force limit".into())],
        prediction: vec![],
    }
}

pub(crate) fn channels() -> Vec<Channel> {
    vec![
        Channel::new("time", "s", "Time"),
        Channel::new("force.1", "N", "Measured force"),
        Channel::new("trip", "", "Reason of the trip"),
    ]
}
