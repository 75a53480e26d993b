//! `twinrig rig`: plays the laboratory of an experiment for loops elsewhere.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use runtime::gate::TripKind;
use runtime::laboratory::{Listener, Visit};
use runtime::realtime::{RealtimeError, SignalStop};
use runtime::record::Record;
use serde_json::{Value, json};

use super::output::{Exit, Output, cannot_write, print, write_whole};
use super::rehearse::{Loaded, load, test_name};
use crate::experiment::rig::USUAL_PORT;
use crate::remote::{self, Session};
use crate::{machine, report};

/// What `rig` is told.
#[derive(Debug, Args)]
pub(super) struct RigArguments {
    /// Experiment file (TOML), the same as the loop's.
    file: PathBuf,
    /// Address to listen at [default: this machine alone, 127.0.0.1 with the port of [rig]
    /// address]. With 0.0.0.0:PORT whoever reaches it and knows the token moves the rig.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// End after one session.
    #[arg(long)]
    once: bool,
    /// Folder for the record, report and summary of each session [default: runs/NAME-rig-START;
    /// further sessions in NAME-2, NAME-3 …].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn rig(arguments: &RigArguments, output: Output) -> Exit {
    let loaded = match load(&arguments.file, output) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let Loaded { experiment, assembly, .. } = &loaded;
    // What cannot be played is said before anybody knocks.
    if let Err(error) = remote::laboratory_parts(experiment, assembly) {
        return output.fail(error);
    }
    let port = experiment.rig.port().unwrap_or(USUAL_PORT);
    let address = arguments.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into());
    let mut listener = match Listener::bind(address, remote::house(experiment, assembly)) {
        Ok(listener) => listener,
        Err(error) => return output.fail(error),
    };
    let stop = match SignalStop::install() {
        Ok(stop) => stop,
        Err(source) => return output.fail(RealtimeError::Signals { source }),
    };
    eprintln!("listening at {}", listener.address());
    let (mut sessions, mut number) = (Vec::new(), 0);
    let exit = loop {
        let visit = match listener.accept(stop.button()) {
            Ok(Some(visit)) => visit,
            Ok(None) => break Exit::Done,
            Err(error) => break output.fail(error),
        };
        number += 1;
        let folder = folder(arguments, number);
        match play(&loaded, &mut listener, visit, &folder, &stop, output) {
            Ok((session, document)) => {
                sessions.push(document);
                let ended = exit_of(&session);
                if arguments.once || ended == Exit::Stopped {
                    break ended;
                }
            }
            Err(exit) => break exit,
        }
    };
    if output == Output::Json && exit != Exit::Failed {
        output.document(&json!({ "sessions": sessions }));
    }
    exit
}

/// One session: the laboratory, its record, its report.
fn play(
    loaded: &Loaded,
    listener: &mut Listener,
    visit: Visit,
    folder: &Path,
    stop: &SignalStop,
    output: Output,
) -> Result<(Session, Value), Exit> {
    let Loaded { experiment, assembly, folder: source, .. } = loaded;
    fs::create_dir_all(folder).map_err(|error| output.fail(cannot_write(folder, &error)))?;
    let path = folder.join("record.arrow");
    let pace = if visit.is_lock_step() { "lock-step" } else { "against the clock" };
    eprintln!("session with {}, {pace}, watchdog {} s", visit.peer(), visit.watchdog_s());
    let peer = visit.peer().to_string();
    let session = remote::host(experiment, source, assembly, listener, visit, &path, stop.button())
        .map_err(|error| output.fail(error))?;
    session.notices.iter().for_each(|notice| eprintln!("notice: {notice}"));
    let record = Record::read(&path).map_err(|error| output.fail(error))?;
    let summary = report::summary_json(&record);
    let html = report::html(&record).map_err(|error| output.fail(error))?;
    for (name, text) in [("report.html", html), ("summary.json", format!("{summary:#}\n"))] {
        let file = folder.join(name);
        write_whole(&file, &text).map_err(|error| output.fail(cannot_write(&file, &error)))?;
    }
    if output == Output::People {
        let safe = told_safe(&session);
        let written = folder.display();
        print(&format!("{}\n{safe}\nwritten to {written}\n", report::summary_text(&record)));
    }
    let counts: serde_json::Map<String, Value> =
        session.end.counts.named().iter().map(|&(name, n)| (name.to_owned(), n.into())).collect();
    let document = json!({
        "folder": folder.display().to_string(),
        "loop": peer,
        "silent_s": session.end.silent_s,
        "safe_after_s": session.end.safe_after_s,
        "link": counts,
        "summary": summary,
    });
    Ok((session, document))
}

/// How long the rig took to safe, by the clock.
fn told_safe(session: &Session) -> String {
    let way = match session.end.safe_after_s {
        Some(way_s) => format!("the rig is safe, {way_s:.3} s after the laboratory took over"),
        None => "the loop led the rig to where it stands".to_owned(),
    };
    match session.end.silent_s {
        Some(silent_s) => format!("{way}; the loop had been silent for {silent_s:.3} s"),
        None => way,
    }
}

fn exit_of(session: &Session) -> Exit {
    match &session.summary.trip {
        Some(trip) if trip.code == TripKind::Operator.code() => Exit::Stopped,
        Some(_) => Exit::Tripped,
        None if session.summary.is_complete() => Exit::Done,
        None => Exit::Incomplete,
    }
}

/// The first session's folder, or one of its name with a number.
fn folder(arguments: &RigArguments, number: u64) -> PathBuf {
    let first = arguments.out.clone().unwrap_or_else(|| {
        let mut name = test_name(&arguments.file).to_owned();
        name.push(format!("-rig-{}", machine::utc_now().replace([':', '-'], "")));
        Path::new("runs").join(name)
    });
    if number == 1 {
        return first;
    }
    let mut name = first.into_os_string();
    name.push(format!("-{number}"));
    name.into()
}
