//! A record as the report sees it: checked once, its channels found by role.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use analysis::criteria;
use runtime::record::Record;

use super::ReportError;
use crate::assembly::MODAL_UNIT;

/// A desired motion further than this from a DOF's motion is not that DOF's, in per cent.
const SAME_MOTION: f64 = 5.0;
/// Rows that are enough to tell one motion from another.
const TELLING_ROWS: usize = 4096;

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
    columns: HashMap<&'a str, &'a [f64]>,
    running: Running,
}

/// The columns of one interface DOF; one that the record lacks is empty.
pub(super) struct Interface<'a> {
    pub(super) name: &'a str,
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

/// Which rows belong to the test proper (phase 0), not to what followed a trip.
enum Running {
    /// These rows, one after the other.
    Rows(Range<usize>),
    /// The marked rows: a phase that came back to 0.
    Marked(Vec<bool>),
}

impl<'a> View<'a> {
    pub(super) fn new(record: &'a Record) -> Result<Self, ReportError> {
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
                let channel = crate::page::text::label(&channel.name);
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
        let of_loop = columns.get("loop.phase").copied();
        let running = Running::new(columns.get("phase").copied(), of_loop, rows);
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
            columns,
            running,
        };
        view.find_dofs();
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
    pub(super) fn phases(&self) -> Vec<(f64, f64, &'static str)> {
        let Some(phase) = self.column("phase") else { return Vec::new() };
        let word = |phase: f64| match phase {
            4.0 => Some("initiating"),
            5.0 => Some("ringing down"),
            6.0 => Some("going home"),
            _ => None,
        };
        let mut found: Vec<(f64, f64, &'static str)> = Vec::new();
        let mut before = f64::NAN;
        for (&phase, &time) in phase.iter().zip(self.time) {
            // A phase lasts until the next one begins.
            if let Some(last) = found.last_mut().filter(|_| word(before).is_some()) {
                last.1 = time;
            }
            if phase != before
                && let Some(word) = word(phase)
            {
                found.push((time, time, word));
            }
            before = phase;
            // A record that jumps about is damaged; so many phases no test has.
            if found.len() > 16 {
                return Vec::new();
            }
        }
        found
    }

    /// Number of rows of the test proper.
    pub(super) fn running_rows(&self) -> usize {
        match &self.running {
            Running::Rows(rows) => rows.len(),
            Running::Marked(marks) => marks.iter().filter(|mark| **mark).count(),
        }
    }

    fn find_dofs(&mut self) {
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
        let mut at_interface = vec![false; numerical.len()];
        let moving: Vec<(&str, Cow<'_, [f64]>)> =
            numerical.iter().map(|(name, column)| (*name, self.running(column))).collect();
        let named = |role: &str, name: &str| self.column(&format!("{role}.{name}"));
        let mut interfaces = Vec::new();
        for name in self.interface_names() {
            let of = |role: &str| named(role, name).unwrap_or_default();
            let desired = of("desired");
            let place = place_of(name, &self.running(desired), &moving, &at_interface);
            let dof = place.map(|place| numerical[place].0);
            let reference = named("reference.interface", name)
                .or_else(|| dof.and_then(|dof| named("reference", dof)));
            if let Some(place) = place {
                at_interface[place] = true;
            }
            interfaces.push(Interface {
                name,
                desired,
                command: of("command"),
                achieved: of("achieved"),
                measured: self.answered(of("measured")),
                force: self.answered(of("force")),
                reference,
            });
        }
        let further = numerical.iter().zip(&at_interface).filter(|(_, taken)| !**taken);
        let floors = further.map(|(&(name, numerical), _)| Floor {
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

    /// Names of the interface DOFs, in file order; either channel may be missing.
    fn interface_names(&self) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let names = ["desired.", "measured."].into_iter().flat_map(|role| self.family(role));
        names.map(|(name, _)| name).filter(|name| seen.insert(*name)).collect()
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
    fn new(phase: Option<&[f64]>, of_loop: Option<&[f64]>, rows: usize) -> Self {
        let Some(phase) = phase else { return Self::Rows(0..rows) };
        let joined: Vec<f64>;
        let phase = match of_loop {
            Some(of_loop) => {
                let both = phase.iter().zip(of_loop);
                joined = both.map(|(own, led)| if *own == 0.0 { *led } else { *own }).collect();
                &joined
            }
            None => phase,
        };
        // The rig may have been brought to its start before.
        let start = phase.iter().take_while(|value| **value == 4.0).count();
        let running = phase[start..].iter().take_while(|value| **value == 0.0).count();
        let end = start + running;
        if phase[end..].contains(&0.0) {
            Self::Marked(phase.iter().map(|value| *value == 0.0).collect())
        } else {
            Self::Rows(start..end)
        }
    }
}

/// Which DOF moves as the interface is asked to, wherever it starts from.
///
/// The interface counts its own DOFs, so its `1` may be DOF 3: the motion
/// decides, and the name only where the motion cannot (nothing moved).
fn place_of(
    name: &str,
    desired: &[f64],
    numerical: &[(&str, Cow<'_, [f64]>)],
    taken: &[bool],
) -> Option<usize> {
    // Of both columns the same rows, without their means.
    let every = desired.len().div_ceil(TELLING_ROWS).max(1);
    let motions = |column: &[f64]| -> [Vec<f64>; 2] {
        let rows = column.iter().zip(desired).step_by(every);
        let (mut own, mut asked): (Vec<f64>, Vec<f64>) =
            rows.filter(|(x, y)| !(x.is_nan() || y.is_nan())).unzip();
        for motion in [&mut own, &mut asked] {
            let mean = motion.iter().sum::<f64>() / motion.len().max(1) as f64;
            motion.iter_mut().for_each(|x| *x -= mean);
        }
        [own, asked]
    };
    let free = || numerical.iter().enumerate().filter(|(place, _)| !taken[*place]);
    let mut values = desired.iter().filter(|x| x.is_finite());
    let first = values.next();
    let moves = values.any(|x| Some(x) != first);
    let mut best: Option<(usize, f64)> = None;
    for (place, (dof, column)) in free().filter(|_| moves) {
        let [own, asked] = motions(column);
        let Some(error) = criteria::nrmse(&own, &asked) else { continue };
        // Of DOFs that move alike, the one of the same name.
        let closer =
            best.is_none_or(|(_, least)| error < least || (error <= least && *dof == name));
        if error < SAME_MOTION && closer {
            best = Some((place, error));
        }
    }
    let namesake = || free().find(|(_, (dof, _))| !moves && *dof == name);
    best.map(|(place, _)| place).or_else(|| namesake().map(|(place, _)| place))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_interface_is_found_by_its_motion() {
        // The benchmark's interface is numbered 1 and is DOF 1; move it to DOF 3.
        let mut record = sample::benchmark().rows(4096).record();
        let swap = |name: &str| match name {
            "numerical.1" => "numerical.3".to_owned(),
            "numerical.3" => "numerical.1".to_owned(),
            other => other.to_owned(),
        };
        for channel in &mut record.channels {
            channel.name = swap(&channel.name);
        }
        let view = View::new(&record).unwrap();
        let names: Vec<&str> = view.floors.iter().map(|floor| floor.name).collect();
        assert_eq!(names, ["2", "1"]);
        assert_eq!(view.dofs, 3);
    }

    #[test]
    fn amplitudes_of_modes_are_no_floors() {
        let mut record = sample::benchmark().rows(4096).record();
        for channel in record.channels.iter_mut().filter(|channel| channel.name == "numerical.3") {
            channel.unit = MODAL_UNIT.to_owned();
        }
        let view = View::new(&record).unwrap();
        let names: Vec<&str> = view.floors.iter().map(|floor| floor.name).collect();
        assert_eq!((names, view.dofs, view.modal), (vec!["2"], 2, 1));
    }

    #[test]
    fn a_record_at_rest_falls_back_on_names() {
        let mut record = sample::benchmark().rows(20).record();
        for (channel, column) in record.channels.iter().zip(&mut record.columns) {
            if channel.name != "time" {
                column.fill(0.0);
            }
        }
        let view = View::new(&record).unwrap();
        let names: Vec<&str> = view.floors.iter().map(|floor| floor.name).collect();
        assert_eq!(names, ["2", "3"]);
    }

    #[test]
    fn only_running_rows_count() {
        let mut record = sample::benchmark().rows(10).record();
        let phase = record.channels.iter().position(|c| c.name == "phase").unwrap();
        record.columns[phase] = vec![0., 0., 0., 1., 1., 2., 2., 3., 3., 3.];
        let view = View::new(&record).unwrap();
        assert_eq!(view.running_rows(), 3);
        assert_eq!(view.running(view.time).len(), 3);
        record.columns[phase] = vec![4., 4., 4., 0., 0., 0., 5., 5., 6., 3.];
        let view = View::new(&record).unwrap();
        assert_eq!((view.first(), view.running_rows()), (3, 3));
        assert_eq!(view.running(view.time), &view.time[3..6]);
        let times = |from: usize, to: usize| (view.time[from], view.time[to]);
        let named: Vec<_> = view.phases().iter().map(|p| ((p.0, p.1), p.2)).collect();
        let expected = [
            (times(0, 3), "initiating"),
            (times(6, 8), "ringing down"),
            (times(8, 9), "going home"),
        ];
        assert_eq!(named, expected);
        record.columns[phase] = vec![0., 0., 1., 0., 1., 2., 2., 3., 3., f64::NAN];
        let view = View::new(&record).unwrap();
        assert_eq!(view.running_rows(), 3);
        let kept = view.running(view.time);
        assert!(kept[2].is_nan() && kept[3].is_finite() && kept[9].is_nan());
    }

    #[test]
    fn a_broken_record_is_an_error_not_a_panic() {
        let whole = sample::benchmark().rows(10).record();
        let mut record = whole.clone();
        record.columns.pop();
        assert!(matches!(View::new(&record), Err(ReportError::ColumnCount { .. })));
        let mut record = whole.clone();
        record.columns[3].pop();
        assert!(matches!(View::new(&record), Err(ReportError::ColumnLength { .. })));
        let mut record = whole;
        record.channels[0].name = "clock".to_owned();
        assert!(matches!(View::new(&record), Err(ReportError::NoTime)));
    }
}
