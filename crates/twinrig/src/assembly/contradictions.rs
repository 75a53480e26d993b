//! What a file asks for in one place and makes impossible in another.

use experiment::watch::RecordedDofs;
use experiment::{Diagnostic, Diagnostics, Experiment};

/// Refuses them.
pub(super) fn refuse(experiment: &Experiment, found: &mut Diagnostics) {
    refuse_unrecovered(experiment, found);
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
