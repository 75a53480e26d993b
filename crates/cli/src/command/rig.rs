//! `twinrig rig`: plays the laboratory of an experiment for loops elsewhere.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use runtime::laboratory::{AcceptedSession, LabServer};
use runtime::record::{Existing, Record};
use runtime::stop::StopHandle;
use runtime::world::World;
use serde_json::{Value, json};

use super::output::{Exit, Output, print};
use super::rehearse::{Loaded, OtherValues, load, test_name, write_pages};
use super::signals::stop_on_signals;
use experiment::rig::USUAL_PORT;
use twinrig::claim::{Claim, ClaimError, Side};
use twinrig::remote::{self, Session, TRIP_OF_LOOP};
use twinrig::{machine, report};

/// Sessions that one call may record.
const MOST_FOLDERS: u64 = 100_000;

/// What `rig` is told.
#[derive(Debug, Args)]
pub(super) struct RigArguments {
    /// Experiment file (TOML), the same as the loop's.
    file: PathBuf,
    #[command(flatten)]
    set: OtherValues,
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
    let loaded = match load(&arguments.file, &arguments.set, output) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let Loaded { experiment, assembly, .. } = &loaded;
    // What cannot be played or recorded is said before anybody knocks.
    if let Err(error) = remote::laboratory_parts(experiment, assembly) {
        return output.fail(error);
    }
    let mut folders = Folders::new(arguments);
    let mut ahead = match folders.ahead() {
        Ok(claim) => claim,
        Err(error) => return output.fail(error),
    };
    let port = experiment.rig.port().unwrap_or(USUAL_PORT);
    let address = arguments.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into());
    let profile = remote::lab_profile(experiment, assembly);
    let mut server = match LabServer::bind(&World::system(), address, profile) {
        Ok(server) => server,
        Err(error) => return output.fail(error),
    };
    let stop = match stop_on_signals(output) {
        Ok(stop) => stop,
        Err(exit) => return exit,
    };
    let _attended = stop.attend();
    eprintln!("listening at {}", server.address);
    let mut sessions = Vec::new();
    let exit = loop {
        let Some(accepted) = server.accept(&stop) else { break Exit::Done };
        let claim = match folders.of(&accepted, ahead) {
            Ok(claim) => claim,
            Err(error) => break output.fail(error),
        };
        match serve(&loaded, &mut server, accepted, &claim, &stop, output) {
            Ok((session, document)) => {
                sessions.push(document);
                if arguments.once || stop.presses() > 0 {
                    break Exit::of(&session.summary, Exit::Done);
                }
            }
            Err(exit) => break exit,
        }
        drop(claim);
        ahead = match folders.ahead() {
            Ok(claim) => claim,
            Err(error) => break output.fail(error),
        };
    };
    if output == Output::Json && exit != Exit::Failed {
        output.document(&json!({ "sessions": sessions }));
    }
    exit
}

/// One session: the laboratory, its record, its report.
fn serve(
    loaded: &Loaded,
    server: &mut LabServer,
    accepted: AcceptedSession,
    claim: &Claim,
    stop: &StopHandle,
    output: Output,
) -> Result<(Session, Value), Exit> {
    let Loaded { experiment, assembly, folder: source, .. } = loaded;
    let (folder, path) = (claim.folder(), claim.record());
    let pace = if accepted.lock_step { "lock-step" } else { "against the clock" };
    eprintln!("session with {}, {pace}, watchdog {} s", accepted.peer, accepted.watchdog_s);
    let peer = accepted.peer.to_string();
    let session = remote::serve(experiment, source, assembly, server, accepted, &path, stop)
        .map_err(|error| output.fail_to_keep(&error, error.unrecorded(), &path))?;
    session.notices.iter().for_each(|notice| eprintln!("notice: {notice}"));
    let record = Record::read(&path).map_err(|error| output.fail(error))?;
    let summary = write_pages(&record, claim, output)?;
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
    let led = session.summary.events.iter().any(|event| event.what == TRIP_OF_LOOP);
    let way = match session.end.safe_after_s {
        Some(_) if led && session.end.silent_s.is_none() => {
            "the loop led the rig to where it stands".to_owned()
        }
        Some(way_s) => format!("the rig is safe, {way_s:.3} s after the laboratory took over"),
        None => "the loop led the rig to where it stands".to_owned(),
    };
    match session.end.silent_s {
        Some(silent_s) => format!("{way}; the loop had been silent for {silent_s:.3} s"),
        None => way,
    }
}

/// The folders of the sessions, one after the other.
struct Folders<'a> {
    arguments: &'a RigArguments,
    number: u64,
}

impl<'a> Folders<'a> {
    fn new(arguments: &'a RigArguments) -> Self {
        Self { arguments, number: 0 }
    }

    /// Takes the folder of the next session before anybody is welcomed. One with
    /// the time in its name is tried and let go: it is named when it is needed.
    fn ahead(&mut self) -> Result<Option<Claim>, ClaimError> {
        if self.arguments.out.is_some() {
            return self.next(Existing::Replace).map(Some);
        }
        let number = self.number;
        self.next(Existing::Keep)?;
        self.number = number;
        Ok(None)
    }

    /// The folder of a session that begins.
    fn of(
        &mut self,
        accepted: &AcceptedSession,
        ahead: Option<Claim>,
    ) -> Result<Claim, ClaimError> {
        match ahead {
            // A real test replaces nothing, not even a rehearsal.
            Some(claim) if accepted.lock_step || !claim.record().exists() => Ok(claim),
            _ => self.next(Existing::Keep),
        }
    }

    /// Takes the next one. The first is where it was asked for or nowhere; of
    /// those with a number, what is kept or in use is passed over.
    fn next(&mut self, existing: Existing) -> Result<Claim, ClaimError> {
        loop {
            self.number += 1;
            let claimed = Claim::take(&self.name(), Side::Laboratory, existing);
            match claimed {
                Err(ClaimError::Folder { .. }) => return claimed,
                Err(_) if self.number > 1 && self.number < MOST_FOLDERS => {}
                claimed => return claimed,
            }
        }
    }

    fn name(&self) -> PathBuf {
        let first = self.arguments.out.clone().unwrap_or_else(|| {
            let mut name = test_name(&self.arguments.file).to_owned();
            name.push(format!("-rig-{}", machine::utc_now().replace([':', '-'], "")));
            Path::new("runs").join(name)
        });
        if self.number == 1 {
            return first;
        }
        let mut name = first.into_os_string();
        name.push(format!("-{}", self.number));
        name.into()
    }
}
