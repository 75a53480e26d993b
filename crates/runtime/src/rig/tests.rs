//! The contract, over every kind of rig.

use model::sensor::{Converter, Sensor};
use model::shaken::{ShakenSpecimen, Shaker};
use model::specimen::Specimen;
use model::transfer::TransferSystem;
use nalgebra::DMatrix;
use numerics::second_order::SecondOrder;
use std::sync::{Arc, Mutex};

use super::*;

/// Notes what it is asked, and fails in its third measurement.
struct Probe {
    asked: Arc<Mutex<Vec<&'static str>>>,
    measured: u32,
    counts: LinkCounts,
}

impl Probe {
    fn new() -> (Self, Arc<Mutex<Vec<&'static str>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let probe = Self { asked: Arc::clone(&asked), measured: 0, counts: LinkCounts::default() };
        (probe, asked)
    }

    fn note(&self, what: &'static str) {
        self.asked.lock().unwrap().push(what);
    }
}

impl Rig for Probe {
    fn channels(&self) -> Vec<Channel> {
        vec![Channel::new("rig.oil_temperature", "°C", "Temperature of the oil")]
    }

    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        self.note("measure");
        self.measured += 1;
        measured.auxiliary[0] = f64::from(40 + self.measured);
        measured.acceleration[0] = 9.0;
        measured.has_acceleration = true;
        measured.round_trip_ns = Some(7);
        measured.validity = Validity::Bridged { ticks: 1, for_s: 1.0, allowed_s: 2.0 };
        if self.measured == 3 { Err(RigFault::device(17)) } else { Ok(()) }
    }

    fn actuate(&mut self, _command: &Motion) {
        self.note("actuate");
    }

    fn on_trip(&mut self, cause: TripKind) {
        assert_eq!(cause, TripKind::Force);
        self.note("on_trip");
    }

    fn disarm(&mut self, left: Phase) {
        assert_eq!(left, Phase::Frozen);
        self.note("disarm");
    }

    fn link(&self) -> Option<&LinkCounts> {
        Some(&self.counts)
    }
}

/// Puts a rig through a whole test.
fn go_through(rig: &mut RigSlot) -> Vec<Result<(), RigFault>> {
    let mut measured =
        Measured { auxiliary: vec![0.0; rig.channels().len()], ..Measured::zeros(1) };
    let command = Motion::rest(1);
    let mut health = Vec::new();
    for _ in 0..3 {
        health.push(rig.measure(&command, &mut measured));
        assert!(measured.displacement[0].is_finite() && measured.force[0].is_finite());
        rig.actuate(&command);
    }
    rig.on_trip(TripKind::Force);
    rig.disarm(Phase::Frozen);
    health
}

#[test]
fn every_wrapper_hands_on_all_of_the_contract() {
    let fault = Fault { kind: FaultKind::FrozenDisplacement, from: 0, until: u64::MAX, dof: None };
    type Wrap = fn(Probe, Fault) -> RigSlot;
    let wrap: [(&str, Wrap); 4] = [
        ("boxed", |probe, _| Box::new(probe).into()),
        ("late", |probe, _| LateForce::new(Box::new(probe), 2, 1).into()),
        ("faulty", |probe, fault| FaultyRig::new(Box::new(probe), &[fault], 1, 1).into()),
        ("both", |probe, fault| {
            FaultyRig::new(LateForce::new(Box::new(probe), 2, 1), &[fault], 1, 1).into()
        }),
    ];
    for (name, wrap) in wrap {
        let (probe, asked) = Probe::new();
        let mut rig = wrap(probe, fault);
        assert_eq!(rig.channels()[0].name, "rig.oil_temperature", "{name}");
        assert!(rig.link().is_some(), "{name}");
        let health = go_through(&mut rig);
        assert_eq!(health, [Ok(()), Ok(()), Err(RigFault::device(17))], "{name}");
        let mut measured = Measured { auxiliary: vec![0.0], ..Measured::zeros(1) };
        rig.measure(&Motion::rest(1), &mut measured).unwrap();
        assert_eq!(measured.auxiliary, [44.0], "{name}");
        assert_eq!((measured.has_acceleration, measured.round_trip_ns), (true, Some(7)));
        assert_eq!(measured.acceleration, [9.0]);
        assert!(matches!(measured.validity, Validity::Bridged { .. }), "{name}");
        let asked = asked.lock().unwrap();
        let expected = [
            "measure", "actuate", "measure", "actuate", "measure", "actuate", "on_trip", "disarm",
            "measure",
        ];
        assert_eq!(*asked, expected, "{name}");
    }
}

fn sensor() -> Vec<Sensor> {
    vec![Sensor::new(0.0, 0.0, 1, "rig")]
}

fn virtual_rig() -> VirtualRig {
    VirtualRig::new(VirtualRigParts {
        transfer_system: TransferSystem::Delay { samples: 2.0 },
        specimen: Specimen {
            matrices: SecondOrder {
                mass: DMatrix::zeros(1, 1),
                damping: DMatrix::zeros(1, 1),
                stiffness: DMatrix::from_element(1, 1, 1e3),
            },
            elements: Vec::new(),
        },
        converter: Converter::EXACT,
        displacement_sensors: sensor(),
        force_sensors: sensor(),
        step_s: 1e-3,
    })
    .unwrap()
}

fn shaken_rig() -> ShakenRig {
    let one = |value: f64| DMatrix::from_element(1, 1, value);
    let specimen = ShakenSpecimen {
        matrices: SecondOrder { mass: one(1.0), damping: one(1.0), stiffness: one(100.0) },
        interface: vec![0],
        elements: Vec::new(),
        preload_n: vec![0.0],
    };
    let shaker = Shaker {
        gain_n_per_v: 1.0,
        lag_s: 1e-3,
        proportional_v_per_m: 100.0,
        derivative_v_s_per_m: 1.0,
    };
    let sensors = ShakenSensors { displacement: sensor(), force: sensor(), acceleration: sensor() };
    ShakenRig::new(&shaker, &specimen, sensors, 1e-3).unwrap()
}

/// A new kind does not compile before it is here: see the match. The one at the end
/// of a wire has its tests in `tests/network.rs`.
#[test]
fn every_kind_goes_through_a_test_and_fills_its_channels() {
    let kinds: Vec<RigSlot> = vec![
        virtual_rig().into(),
        shaken_rig().into(),
        LateForce::new(virtual_rig(), 2, 1).into(),
        FaultyRig::new(virtual_rig(), &[], 1, 1).into(),
        ReplayRig::new(vec![vec![0.0; 3]], vec![vec![0.0; 3]]).into(),
        Box::new(virtual_rig()).into(),
    ];
    for mut rig in kinds {
        match &rig {
            RigSlot::Virtual(_)
            | RigSlot::Shaken(_)
            | RigSlot::Late(_)
            | RigSlot::Faulty(_)
            | RigSlot::Network(_)
            | RigSlot::Replay(_)
            | RigSlot::Other(_) => {}
        }
        assert_eq!(go_through(&mut rig), [Ok(()); 3]);
    }
}

#[test]
fn a_fault_of_a_rig_is_a_trip_that_a_record_knows() {
    for fault in [RigFault::silent(0.3, 0.2), RigFault::tripped(3), RigFault::device(9)] {
        let trip = fault.trip;
        assert_eq!(TripKind::from_code(trip.kind.code()), Some(trip.kind));
        let again = RigFault::recorded(trip.kind).map(|fault| fault.trip);
        assert_eq!(again.map(|trip| trip.kind), Some(trip.kind));
    }
    assert_eq!(RigFault::recorded(TripKind::Force), None);
    assert_eq!(RigFault::device(9).trip.text(), "the rig reports a fault: its number 9");
}
