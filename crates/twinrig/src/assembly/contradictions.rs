//! What a file asks for in one place and makes impossible in another.

use experiment::watch::RecordedDofs;
use experiment::{Diagnostic, Diagnostics, Experiment};

/// Refuses them.
pub(super) fn refuse(experiment: &Experiment, found: &mut Diagnostics) {
    refuse_staircase(experiment, found);
    refuse_unrecovered(experiment, found);
}

/// An indicator that differences the numerical motion from tick to tick.
fn refuse_staircase(experiment: &Experiment, found: &mut Diagnostics) {
    if experiment.main_loop.is_some() && experiment.monitor.energy_error.is_some() {
        let message = "the energy error index needs the numerical motion at every tick, and a main \
                       loop gives it at its own steps only";
        let error = Diagnostic::error(message)
            .remedy("remove `energy_error`, or [main_loop]; the other indicators work");
        found.push(experiment.place("monitor.energy_error", error));
    }
}

/// Monitored DOFs of a reduced structure follow from all its coordinates.
fn refuse_unrecovered(experiment: &Experiment, found: &mut Diagnostics) {
    let monitors = experiment.reduction.as_ref().is_some_and(|spec| !spec.monitor.is_empty());
    if monitors && experiment.record.displacements == RecordedDofs::Interface {
        let message = "the monitored DOFs of a reduced structure follow from all of its \
                       displacements, and only those of the interface are recorded";
        let error = Diagnostic::error(message)
            .remedy("set displacements = \"all\" in [record], or remove `monitor`");
        found.push(experiment.place("record.displacements", error));
    }
}
