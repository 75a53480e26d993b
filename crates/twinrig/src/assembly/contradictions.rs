//! What a file asks for in one place and makes impossible in another.

use experiment::watch::RecordedDofs;
use experiment::{Diagnostic, Diagnostics, Experiment};
use runtime::monitor::{IndicatorKind, KINDS};

/// Refuses them.
pub(super) fn refuse(experiment: &Experiment, found: &mut Diagnostics) {
    refuse_staircase(experiment, found);
    refuse_unrecovered(experiment, found);
}

/// An indicator that differences the numerical motion from tick to tick.
fn refuse_staircase(experiment: &Experiment, found: &mut Diagnostics) {
    let asked = |kind: &&IndicatorKind| (kind.is_asked)(&experiment.monitor);
    let differencing = KINDS.iter().filter(|kind| kind.about.needs_every_tick).filter(asked);
    for IndicatorKind { key, .. } in differencing.filter(|_| experiment.main_loop.is_some()) {
        let error = Diagnostic::error(format!(
            "`{key}` needs the numerical motion at every tick, and a main loop gives it at its own \
             steps only"
        ));
        let remedy = format!("remove `{key}`, or [main_loop]; the other indicators work");
        found.push(experiment.place(&format!("monitor.{key}"), error.remedy(remedy)));
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
