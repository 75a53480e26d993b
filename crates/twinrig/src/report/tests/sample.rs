//! Synthetic records for the tests: a damped response to a burst, tracked with a delay.

use model::channel::Channel;
use runtime::record::{EmbeddedFile, Header, InterfaceDof, Record, Role, Summary, TripNote};

const RATE_HZ: f64 = 1024.0;

/// What the record to make looks like.
#[derive(Clone)]
pub(crate) struct Sample {
    rows: usize,
    dofs: usize,
    interfaces: usize,
    reference: bool,
    trip_row: Option<usize>,
}

/// Three floors, the lowest at the interface, 40 s.
pub(crate) fn benchmark() -> Sample {
    Sample { rows: 40 * 1024, dofs: 3, interfaces: 1, reference: true, trip_row: None }
}

/// The same, unstable, stopped by the stability warning.
pub(crate) fn tripped() -> Sample {
    Sample { rows: 14 * 1024, trip_row: Some(10 * 1024 + 256), ..benchmark() }
}

impl Sample {
    pub(crate) fn rows(self, rows: usize) -> Self {
        Self { rows, ..self }
    }

    pub(crate) fn dofs(self, dofs: usize, interfaces: usize) -> Self {
        Self { dofs, interfaces, ..self }
    }

    pub(crate) fn without_reference(self) -> Self {
        Self { reference: false, ..self }
    }

    /// The record.
    pub(crate) fn record(&self) -> Record {
        let mut columns = Columns { channels: Vec::new(), columns: Vec::new(), sample: self };
        columns.push("time", "s", |row| row as f64 / RATE_HZ);
        columns.push("ground.acceleration", "m/s²", |row| {
            let t = row as f64 / RATE_HZ;
            envelope(t) * (2.9 * (19.0 * t).sin() + 1.6 * (31.0 * t + 0.4).sin() + 0.3 * noise(row))
        });
        columns.motions();
        columns.energies();
        let trip_row = self.trip_row.unwrap_or(usize::MAX);
        columns.push("phase", "", |row| match row.checked_sub(trip_row) {
            None => 0.0,
            Some(..256) => 1.0,
            Some(256..2048) => 2.0,
            Some(_) => 3.0,
        });
        columns.push("trip", "", |row| if row >= trip_row { 4.0 } else { 0.0 });
        let Columns { channels, columns, .. } = columns;
        let frames = self.rows as u64;
        let summary = Some(Summary {
            ticks: frames * 4,
            frames,
            frames_lost: 0,
            trip: self.trip_note(),
            events: Vec::new(),
            timing: None,
        });
        Record { header: self.header(), channels, columns, summary }
    }

    fn header(&self) -> Header {
        let interface = (1..=self.interfaces).map(|dof| dof.to_string());
        let interface =
            interface.map(|name| InterfaceDof { dof: Some(name.clone()), name }).collect();
        Header {
            role: Role::Loop,
            interface,
            version: "0.1.0".to_owned(),
            title: "Virtual RTHS benchmark, case IV, 40 % Kobe".to_owned(),
            experiment_name: "benchmark.toml".to_owned(),
            experiment: "title    = \"Virtual RTHS benchmark, case IV, 40 % Kobe\"\n\
                         duration = \"40 s\"\n\n[partition]\ninterface = [1]\n"
                .to_owned(),
            inputs: vec![EmbeddedFile { name: "kobe.csv".to_owned(), bytes: vec![0; 81_920] }],
            seed: 7,
            rate_hz: 4.0 * RATE_HZ,
            every: 4,
            started: "2025-03-14T09:26:53Z".to_owned(),
            machine: vec![
                ("kernel".to_owned(), "6.12.9 PREEMPT_RT".to_owned()),
                ("processor".to_owned(), "8 × 3.4 GHz".to_owned()),
            ],
            trip_codes: vec![(4, "stability warning".to_owned())],
            prediction: vec![],
        }
    }

    fn trip_note(&self) -> Option<TripNote> {
        self.trip_row.map(|row| TripNote {
            code: 4,
            text: "stability warning 100.3 % reached its limit of 100 %".to_owned(),
            time_s: row as f64 / RATE_HZ,
            value: 100.3,
            limit: 100.0,
        })
    }

    /// Displacement of the whole structure in metres, DOF counted from 0.
    fn reference(&self, dof: usize, t: f64) -> f64 {
        let shape = ((dof + 1) as f64 / self.dofs as f64 * 1.4).sin();
        let burst = |t: f64| if t < 2.0 { 0.0 } else { (t - 2.0) * (-0.35 * (t - 2.0)).exp() };
        shape * 4.2e-3 * burst(t) * (22.7 * t).sin() * (1.0 + 0.3 * (1.9 * t).sin())
    }

    /// Displacement in the hybrid test: a little late, or growing before a trip.
    fn desired(&self, dof: usize, t: f64) -> f64 {
        let hybrid = 1.03 * self.reference(dof, t - 1.5e-3);
        let Some(trip_row) = self.trip_row else { return hybrid };
        let trip = trip_row as f64 / RATE_HZ;
        let growing = 1.2e-3 * (0.35 * (t.min(trip) - 2.0)).exp() * (22.6 * t.min(trip)).sin();
        let left = ((trip + 2.0 - t) / 1.75).clamp(0.0, 1.0);
        growing * left
    }
}

struct Columns<'a> {
    channels: Vec<Channel>,
    columns: Vec<Vec<f64>>,
    sample: &'a Sample,
}

impl Columns<'_> {
    fn push(&mut self, name: &str, unit: &str, value: impl Fn(usize) -> f64) {
        self.channels.push(Channel::new(name, unit, format!("{name} of a synthetic test")));
        self.columns.push((0..self.sample.rows).map(value).collect());
    }

    fn motions(&mut self) {
        let sample = self.sample;
        let time = |row: usize| row as f64 / RATE_HZ;
        for dof in 0..sample.dofs {
            self.push(&format!("numerical.{}", dof + 1), "m", |row| sample.desired(dof, time(row)));
        }
        for dof in 0..sample.interfaces {
            let name = dof + 1;
            let at = |late: f64| move |row: usize| sample.desired(dof, time(row) - late);
            self.push(&format!("desired.{name}"), "m", at(0.0));
            self.push(&format!("command.{name}"), "m", at(-20e-3));
            self.push(&format!("achieved.{name}"), "m", at(5.0 / RATE_HZ));
            self.push(&format!("measured.{name}"), "m", |row| {
                at(5.0 / RATE_HZ)(row) + 16e-6 * noise(row + 77 * dof)
            });
            self.push(&format!("force.{name}"), "N", |row| {
                let (now, soon) = (at(5.0 / RATE_HZ)(row), at(4.0 / RATE_HZ)(row));
                1.19e6 * now + 4e3 * (soon - now) * RATE_HZ + 2.0 * noise(row + 5)
            });
        }
        if sample.reference {
            for dof in 0..sample.dofs {
                self.push(&format!("reference.{}", dof + 1), "m", |row| {
                    sample.reference(dof, time(row))
                });
            }
            for dof in 0..sample.interfaces {
                self.push(&format!("reference.interface.{}", dof + 1), "m", |row| {
                    sample.reference(dof, time(row))
                });
            }
        }
    }

    fn energies(&mut self) {
        let time = |row: usize| row as f64 / RATE_HZ;
        let rise = |t: f64| if t < 2.0 { 0.0 } else { 1.0 - (-0.3 * (t - 2.0)).exp() };
        let swing = |t: f64| 40.0 * envelope(t - 1.0);
        let growth = match self.sample.trip_row {
            Some(trip) => 100.3 / (0.5 * time(trip)).exp(),
            None => 0.0,
        };
        self.push("energy.feedback", "J", |row| 14.0 * rise(time(row)) * rise(time(row)));
        self.push("energy.input", "J", |row| {
            132.0 * rise(time(row)) - 6.0 * (3.0 * time(row)).sin() * envelope(time(row))
        });
        self.push("energy.dissipated", "J", |row| 128.0 * rise(time(row) - 1.0));
        self.push("energy.kinetic", "J", |row| swing(time(row)) * (22.7 * time(row)).cos().powi(2));
        self.push("energy.strain", "J", |row| swing(time(row)) * (22.7 * time(row)).sin().powi(2));
        let trip_row = self.sample.trip_row.unwrap_or(usize::MAX);
        self.push("stability_warning", "%", |row| {
            let settling = 13.9 * envelope(time(row) * 0.7) + 8.0 * rise(time(row) - 3.0);
            if growth > 0.0 { growth * (0.5 * time(row.min(trip_row))).exp() } else { settling }
        });
    }
}

fn envelope(t: f64) -> f64 {
    if t < 1.0 { 0.0 } else { (t - 1.0) * 0.8 * (-0.3 * (t - 1.0)).exp() }
}

/// Repeatable noise of unit size.
fn noise(row: usize) -> f64 {
    let mixed = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}
