//! A record as the report sees it: checked once, its channels found by role.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use experiment::{Deformation, DofLabel, DofRef, Experiment, Interface as Place, NodeRef};
use runtime::interlock::Phase;
use runtime::record::{self, InterfaceDof, Record};

use super::ReportError;
use crate::assembly::MODAL_UNIT;
use crate::page::text::label;

/// A checked record. Every column has one length, and a time if it has any rows.
pub(super) struct View<'a> {
    pub(super) record: &'a Record,
    /// Time of every row.
    pub(super) time: &'a [f64],
    pub(super) interfaces: Vec<Interface<'a>>,
    /// Every DOF of the numerical substructure that is not at the interface.
    pub(super) floors: Vec<Floor<'a>>,
    /// Number of DOFs of the numerical substructure.
    pub(super) dofs: usize,
    /// Amplitudes of modes of a reduced structure, which are no DOFs that anybody
    /// could look at: they are recorded, not judged.
    pub(super) modal: usize,
    /// Rows whose measurement stands in for an answer of the rig that did not
    /// come in time. The loop went on with it, but nobody measured it.
    pub(super) bridged: usize,
    /// Where the test stood in each row; empty if the record does not say.
    pub(super) phases: Vec<Option<Phase>>,
    columns: HashMap<&'a str, &'a [f64]>,
    running: Running,
}

/// The columns of one interface DOF; one that the record lacks is empty.
pub(super) struct Interface<'a> {
    pub(super) name: String,
    pub(super) desired: &'a [f64],
    pub(super) command: &'a [f64],
    pub(super) achieved: &'a [f64],
    /// NaN where it was bridged; see [`View::bridged`].
    pub(super) measured: Cow<'a, [f64]>,
    /// The same.
    pub(super) force: Cow<'a, [f64]>,
    pub(super) reference: Option<&'a [f64]>,
}

/// The columns of one further DOF.
pub(super) struct Floor<'a> {
    pub(super) name: &'a str,
    pub(super) numerical: &'a [f64],
    pub(super) reference: Option<&'a [f64]>,
}

/// Which rows belong to the test proper, not to what followed a trip.
enum Running {
    /// These rows, one after the other.
    Rows(Range<usize>),
    /// The marked rows: a phase that came back to running.
    Marked(Vec<bool>),
}

impl<'a> View<'a> {
    /// Of a record with the experiment inside it, if that can be read.
    pub(super) fn new(
        record: &'a Record,
        experiment: Option<&Experiment>,
    ) -> Result<Self, ReportError> {
        if record.channels.len() != record.columns.len() {
            return Err(ReportError::ColumnCount {
                channels: record.channels.len(),
                columns: record.columns.len(),
            });
        }
        let rows = record.columns.first().map_or(0, Vec::len);
        let mut columns = HashMap::with_capacity(record.columns.len());
        for (channel, column) in record.channels.iter().zip(&record.columns) {
            if column.len() != rows {
                let channel = label(&channel.name);
                return Err(ReportError::ColumnLength {
                    channel,
                    rows: column.len(),
                    expected: rows,
                });
            }
            columns.entry(channel.name.as_str()).or_insert(column.as_slice());
        }
        let time = match columns.get("time") {
            Some(time) => *time,
            None if rows == 0 => &[],
            None => return Err(ReportError::NoTime),
        };
        let phases = record.phases();
        let running = Running::new(&phases, columns.get("loop.phase").copied(), rows);
        let bridged = columns
            .get(BRIDGED)
            .map_or(0, |column| column.iter().filter(|ticks| is_bridged(**ticks)).count());
        let mut view = Self {
            record,
            time,
            interfaces: vec![],
            floors: vec![],
            dofs: 0,
            modal: 0,
            bridged,
            phases,
            columns,
            running,
        };
        view.find_dofs(experiment);
        Ok(view)
    }

    pub(super) fn rows(&self) -> usize {
        self.time.len()
    }

    /// The column called `name`.
    pub(super) fn column(&self, name: &str) -> Option<&'a [f64]> {
        self.columns.get(name).copied()
    }

    /// The columns whose names start with `prefix`, under the rest of their names, in file order.
    pub(super) fn family(&self, prefix: &str) -> Vec<(&'a str, &'a [f64])> {
        let names = self.record.channels.iter().filter_map(|channel| {
            let rest = channel.name.strip_prefix(prefix).filter(|rest| !rest.is_empty())?;
            Some((rest, self.column(&channel.name)?))
        });
        names.collect()
    }

    /// Frames per second; `None` if neither the header nor the time tells.
    pub(super) fn frame_rate_hz(&self) -> Option<f64> {
        let header = &self.record.header;
        let told = header.rate_hz / header.every.max(1) as f64;
        let usable = |rate: &f64| rate.is_finite() && *rate > 0.0;
        let from_time = || {
            let span = self.time.last()? - self.time.first()?;
            Some((self.rows() - 1) as f64 / span).filter(usable)
        };
        Some(told).filter(usable).or_else(from_time)
    }

    /// The rows of `column` from [`first`](Self::first) on, those after the test
    /// proper left out or set to NaN.
    pub(super) fn running<'c>(&self, column: &'c [f64]) -> Cow<'c, [f64]> {
        match &self.running {
            Running::Rows(rows) => {
                let end = column.len().min(rows.end);
                Cow::Borrowed(&column[rows.start.min(end)..end])
            }
            Running::Marked(marks) => {
                let kept = |(value, mark): (&f64, &bool)| if *mark { *value } else { f64::NAN };
                Cow::Owned(column.iter().zip(marks).map(kept).collect())
            }
        }
    }

    /// The row with which [`running`](Self::running) begins.
    pub(super) fn first(&self) -> usize {
        match &self.running {
            Running::Rows(rows) => rows.start,
            Running::Marked(_) => 0,
        }
    }

    /// What came before and after the load, in the test without a trip: from and
    /// to, s, and a word.
    pub(super) fn stages(&self) -> Vec<(f64, f64, &'static str)> {
        let (mut found, mut start) = (Vec::new(), 0);
        for run in self.phases.chunk_by(|a, b| a == b) {
            let word = match run[0] {
                Some(Phase::Initiating) => Some("initiating"),
                Some(Phase::Completing) => Some("ringing down"),
                Some(Phase::Homing) => Some("going home"),
                Some(Phase::Held) => Some("held"),
                _ => None,
            };
            // A phase lasts until the next one begins.
            let end = start + run.len();
            let ends = (self.time[start], self.time[end.min(self.rows() - 1)]);
            found.extend(word.map(|word| (ends.0, ends.1, word)));
            start = end;
        }
        // A record that jumps about is damaged; so many phases no test has.
        if found.len() > 16 { Vec::new() } else { found }
    }

    /// When a phase was first reached, from a time on.
    pub(super) fn reached(&self, phase: Phase, from_s: f64) -> Option<f64> {
        let mut rows = self.phases.iter().zip(self.time);
        rows.find(|(at, time)| **at == Some(phase) && **time >= from_s).map(|(_, time)| *time)
    }

    /// The name of an interface DOF where there are several.
    pub(super) fn told_apart(&self, interface: usize) -> Option<String> {
        (self.interfaces.len() > 1).then(|| label(&self.interfaces[interface].name))
    }

    /// Words with that name.
    pub(super) fn named(&self, words: &str, interface: usize) -> String {
        match self.told_apart(interface) {
            Some(name) => format!("{words}, interface {name}"),
            None => words.to_owned(),
        }
    }

    /// Number of rows of the test proper.
    pub(super) fn running_rows(&self) -> usize {
        match &self.running {
            Running::Rows(rows) => rows.len(),
            Running::Marked(marks) => marks.iter().filter(|mark| **mark).count(),
        }
    }

    fn find_dofs(&mut self, experiment: Option<&Experiment>) {
        let is_motion =
            |name: &str| !name.starts_with("velocity.") && !name.starts_with("acceleration.");
        let mut numerical = self.family("numerical.");
        numerical.retain(|(name, _)| is_motion(name));
        let modal: HashSet<&str> = self
            .record
            .channels
            .iter()
            .filter(|channel| channel.unit == MODAL_UNIT)
            .filter_map(|channel| channel.name.strip_prefix("numerical."))
            .collect();
        let all = numerical.len();
        numerical.retain(|(name, _)| !modal.contains(name));
        self.modal = all - numerical.len();
        self.dofs = numerical.len();
        let mut at_interface = HashSet::new();
        let named = |role: &str, name: &str| self.column(&format!("{role}.{name}"));
        let mut interfaces = Vec::new();
        for InterfaceDof { name, dof } in self.interface_dofs(experiment) {
            let of = |role: &str| named(role, &name).unwrap_or_default();
            let reference = named("reference.interface", &name)
                .or_else(|| dof.as_deref().and_then(|dof| named("reference", dof)));
            at_interface.extend(dof);
            interfaces.push(Interface {
                desired: of("desired"),
                command: of("command"),
                achieved: of("achieved"),
                measured: self.answered(of("measured")),
                force: self.answered(of("force")),
                reference,
                name,
            });
        }
        let further = numerical.into_iter().filter(|(name, _)| !at_interface.contains(*name));
        let floors = further.map(|(name, numerical)| Floor {
            name,
            numerical,
            reference: named("reference", name),
        });
        self.floors = floors.collect();
        self.interfaces = interfaces;
    }

    /// A measurement without what was bridged in it.
    fn answered(&self, column: &'a [f64]) -> Cow<'a, [f64]> {
        match self.column(BRIDGED) {
            Some(bridged) if self.bridged > 0 => {
                let cells = column.iter().zip(bridged);
                cells.map(|(x, ticks)| if is_bridged(*ticks) { f64::NAN } else { *x }).collect()
            }
            _ => Cow::Borrowed(column),
        }
    }

    /// The interface DOFs of which the record has a motion. Those of a record that does
    /// not name them are what its channels and the file inside it say.
    fn interface_dofs(&self, experiment: Option<&Experiment>) -> Vec<InterfaceDof> {
        let mut seen = HashSet::new();
        let moving = ["desired.", "measured."].into_iter().flat_map(|role| self.family(role));
        let moving = moving.map(|(name, _)| name).filter(|name| seen.insert(*name));
        let known = match &*self.record.header.interface {
            [] => experiment.map_or_else(Vec::new, declared),
            named => named.to_vec(),
        };
        let dof = |name: &str| known.iter().find(|dof| dof.name == name)?.dof.clone();
        moving.map(|name| InterfaceDof { name: name.to_owned(), dof: dof(name) }).collect()
    }
}

/// The channel that counts ticks without an answer of the rig.
const BRIDGED: &str = "rig.bridged";

fn is_bridged(ticks: f64) -> bool {
    ticks > 0.0
}

impl Running {
    /// `of_loop` is where the loop stands, in the record of a laboratory: what it
    /// leads after its trip is no test any more.
    fn new(phases: &[Option<Phase>], of_loop: Option<&[f64]>, rows: usize) -> Self {
        if phases.is_empty() {
            return Self::Rows(0..rows);
        }
        let at = |row: usize| match (phases[row], of_loop) {
            (Some(Phase::Running), Some(led)) => record::phase(led[row]),
            (own, _) => own,
        };
        // The rig may have been brought to its start before.
        let is = |phase: Phase| move |row: &usize| at(*row) == Some(phase);
        let start = (0..rows).take_while(is(Phase::Initiating)).count();
        let end = start + (start..rows).take_while(is(Phase::Running)).count();
        if (end..rows).any(|row| is(Phase::Running)(&row)) {
            Self::Marked((0..rows).map(|row| is(Phase::Running)(&row)).collect())
        } else {
            Self::Rows(start..end)
        }
    }
}

/// The interface DOFs that the file inside a record of an earlier version declares: their
/// numbers are the ends of the channels' names.
fn declared(experiment: &Experiment) -> Vec<InterfaceDof> {
    let names = experiment.structure().map_or(&[][..], |structure| &structure.names);
    let dof = |dof: &DofRef| match &dof.label {
        DofLabel::Number(number) => {
            names.get(number - 1).cloned().unwrap_or_else(|| number.to_string())
        }
        DofLabel::Name(name) => name.clone(),
    };
    let of = |place: &Place| match place {
        Place::Dof(place) => Some(dof(place)),
        Place::Deformation(Deformation { from: NodeRef::Ground, to: NodeRef::Dof(place) }) => {
            Some(dof(place))
        }
        Place::Deformation(_) => None,
    };
    let places = (1..).zip(&experiment.partition.interface);
    places
        .map(|(number, place)| InterfaceDof { name: number.to_string(), dof: of(place) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    fn seen(record: &Record) -> View<'_> {
        View::new(record, None).unwrap()
    }

    fn floors(view: &View<'_>) -> Vec<String> {
        view.floors.iter().map(|floor| floor.name.to_owned()).collect()
    }

    #[test]
    fn the_interface_is_the_dof_that_the_record_names() {
        let mut record = sample::benchmark().rows(20).record();
        assert_eq!(floors(&seen(&record)), ["2", "3"]);
        record.header.interface[0].dof = Some("3".to_owned());
        assert_eq!(floors(&seen(&record)), ["1", "2"]);
        assert_eq!(seen(&record).dofs, 3);
        record.header.interface[0].dof = None;
        assert_eq!(floors(&seen(&record)), ["1", "2", "3"], "a deformation is no DOF");
    }

    #[test]
    fn amplitudes_of_modes_are_no_floors() {
        let mut record = sample::benchmark().rows(4096).record();
        for channel in record.channels.iter_mut().filter(|channel| channel.name == "numerical.3") {
            channel.unit = MODAL_UNIT.to_owned();
        }
        let view = seen(&record);
        assert_eq!((floors(&view), view.dofs, view.modal), (vec!["2".to_owned()], 2, 1));
    }

    #[test]
    fn only_running_rows_count() {
        let mut record = sample::benchmark().rows(10).record();
        let phase = record.channels.iter().position(|c| c.name == "phase").unwrap();
        record.columns[phase] = vec![0., 0., 0., 1., 1., 2., 2., 3., 3., 3.];
        let view = seen(&record);
        assert_eq!(view.running_rows(), 3);
        assert_eq!(view.running(view.time).len(), 3);
        record.columns[phase] = vec![4., 4., 4., 0., 0., 0., 5., 5., 6., 3.];
        let view = seen(&record);
        assert_eq!((view.first(), view.running_rows()), (3, 3));
        assert_eq!(view.running(view.time), &view.time[3..6]);
        let times = |from: usize, to: usize| (view.time[from], view.time[to]);
        let named: Vec<_> = view.stages().iter().map(|p| ((p.0, p.1), p.2)).collect();
        let expected = [
            (times(0, 3), "initiating"),
            (times(6, 8), "ringing down"),
            (times(8, 9), "going home"),
        ];
        assert_eq!(named, expected);
        record.columns[phase] = vec![0., 0., 1., 0., 1., 2., 2., 3., 3., f64::NAN];
        let view = seen(&record);
        assert_eq!(view.running_rows(), 3);
        let kept = view.running(view.time);
        assert!(kept[2].is_nan() && kept[3].is_finite() && kept[9].is_nan());
    }

    #[test]
    fn a_broken_record_is_an_error_not_a_panic() {
        let whole = sample::benchmark().rows(10).record();
        let mut record = whole.clone();
        record.columns.pop();
        assert!(matches!(View::new(&record, None), Err(ReportError::ColumnCount { .. })));
        let mut record = whole.clone();
        record.columns[3].pop();
        assert!(matches!(View::new(&record, None), Err(ReportError::ColumnLength { .. })));
        let mut record = whole;
        record.channels[0].name = "clock".to_owned();
        assert!(matches!(View::new(&record, None), Err(ReportError::NoTime)));
    }
}
