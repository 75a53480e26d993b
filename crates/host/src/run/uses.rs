//! How much of each declared limit is used, frame by frame.

use serde_json::{Value, json};

/// The limits of a test and where the frames have what they bound.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    all: Vec<Use>,
    /// Time and commands of the frame before, for rates.
    before: Option<(f64, Vec<f64>)>,
    time: Option<usize>,
    commands: Vec<usize>,
}

#[derive(Debug)]
struct Use {
    name: String,
    unit: String,
    bounds: What,
    /// One for each interface DOF.
    limits: Vec<f64>,
    /// Channels of the frame, one or two for each interface DOF.
    channels: Vec<[usize; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Value,
    Rate,
    Difference,
}

impl Uses {
    pub(super) fn new(
        channels: &[(String, String)],
        limits: &[(String, String, Vec<f64>)],
    ) -> Self {
        let at = |name: String| channels.iter().position(|(known, _)| *known == name);
        let each = |count: usize, of: &str| -> Option<Vec<usize>> {
            (1..=count).map(|dof| at(format!("{of}.{dof}"))).collect()
        };
        let of = |(name, unit, limits): &(String, String, Vec<f64>)| {
            let (bounds, first, second) = match name.as_str() {
                "command" => (What::Value, "command", "command"),
                "rate" => (What::Rate, "command", "command"),
                "force" => (What::Value, "force", "force"),
                "tracking" => (What::Difference, "command", "measured"),
                _ => return None,
            };
            let (first, second) = (each(limits.len(), first)?, each(limits.len(), second)?);
            let channels = first.into_iter().zip(second).map(|(a, b)| [a, b]).collect();
            let (name, unit) = (name.clone(), unit.clone());
            Some(Use { name, unit, bounds, limits: limits.clone(), channels })
        };
        let all: Vec<Use> = limits.iter().filter_map(of).collect();
        let rate = all.iter().find(|one| one.bounds == What::Rate);
        let commands = rate.map_or(Vec::new(), |it| it.channels.iter().map(|at| at[0]).collect());
        Self { all, before: None, time: at("time".to_owned()), commands }
    }

    /// Names of the channels that show them.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.all.iter().map(|one| format!("use.{}", one.name))
    }

    /// For a page: each with the channel that shows it.
    pub(super) fn described(&self, channels: &[(String, String)]) -> Vec<Value> {
        let each = |one: &Use| {
            let of = one.channels.iter().zip(&one.limits).map(move |(at, limit)| {
                json!({
                    "channel": channels[at[0]].0, "name": one.name, "limit": limit,
                    "unit": one.unit, "use": format!("use.{}", one.name),
                })
            });
            of.collect::<Vec<_>>()
        };
        self.all.iter().flat_map(each).collect()
    }

    /// In per cent, of the interface DOF that is worst, in the order of the names.
    pub(super) fn of(&mut self, frame: &[f64]) -> Vec<f64> {
        let now_s = self.time.map_or(f64::NAN, |at| frame[at]);
        let commands: Vec<f64> = self.commands.iter().map(|&at| frame[at]).collect();
        let before = self.before.replace((now_s, commands));
        let value = |one: &Use, dof: usize| {
            let [a, b] = one.channels[dof];
            match (one.bounds, &before) {
                (What::Value, _) => frame[a],
                (What::Difference, _) => frame[a] - frame[b],
                (What::Rate, Some((then_s, then))) if now_s > *then_s => {
                    (frame[a] - then[dof]) / (now_s - then_s)
                }
                (What::Rate, _) => 0.0,
            }
        };
        let worst = |one: &Use| {
            let uses = one.limits.iter().enumerate();
            uses.map(|(dof, limit)| 100.0 * (value(one, dof) / limit).abs()).fold(0.0, f64::max)
        };
        self.all.iter().map(worst).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_interface_dof_counts_and_rates_are_between_frames() {
        let names =
            ["time", "command.1", "command.2", "measured.1", "measured.2", "force.1", "force.2"];
        let channels: Vec<(String, String)> =
            names.map(|name| (name.to_owned(), String::new())).to_vec();
        let limit =
            |name: &str, values: [f64; 2]| (name.to_owned(), "m".to_owned(), values.to_vec());
        let limits = [
            limit("command", [0.1, 0.2]),
            limit("rate", [1.0, 2.0]),
            limit("force", [10.0, 100.0]),
            limit("tracking", [0.01, 0.01]),
        ];
        let mut uses = Uses::new(&channels, &limits);
        let names: Vec<String> = uses.names().collect();
        assert_eq!(names, ["use.command", "use.rate", "use.force", "use.tracking"]);
        let close = |found: Vec<f64>, wanted: [f64; 4]| {
            let near = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(near && found.len() == 4, "{found:?} {wanted:?}");
        };
        let first = [0.0, 0.05, -0.02, 0.05, -0.021, -5.0, 20.0];
        close(uses.of(&first), [50.0, 0.0, 50.0, 10.0]);
        let second = [0.01, 0.05, -0.01, 0.05, -0.01, 0.0, 0.0];
        close(uses.of(&second), [50.0, 50.0, 0.0, 0.0]);
    }
}
