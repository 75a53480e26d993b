//! `Test::serve_laboratory`: plays the laboratory of an experiment for loops elsewhere.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use runtime::laboratory::{AcceptedSession, LabServer, SessionEnd};
use runtime::record::{Existing, Record, Summary};
use runtime::stop::StopHandle;
use runtime::world::World;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::onlooker::{Event, Onlooker};
use crate::remote;
use crate::report;
use crate::run::{named_counts, write_pages};
use crate::run_folder::{RunFolder, Side};
use crate::test::Test;
use experiment::rig::USUAL_PORT;

/// Sessions that one call may record.
const MOST_FOLDERS: u64 = 100_000;

/// Where a laboratory listens and what it keeps.
pub struct LaboratoryOptions<'a> {
    /// Where it listens: this machine alone unless given.
    pub listen: Option<SocketAddr>,
    /// Whether it ends after one session.
    pub sessions: Sessions,
    /// Where its records go.
    pub folders: SessionFolders<'a>,
}

/// How many loops a laboratory serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// One.
    Once,
    /// Until it is stopped.
    UntilStopped,
}

/// Where the records of sessions go; further ones get a number behind the name.
pub enum SessionFolders<'a> {
    /// A rehearsal may replace what is there.
    Named(PathBuf),
    /// Named when a session begins.
    ByTime(&'a dyn Fn() -> PathBuf),
}

/// A session that is over.
#[derive(Debug, Serialize)]
pub struct SessionResult {
    /// Where its files are.
    pub folder: String,
    /// Who came.
    #[serde(rename = "loop")]
    pub peer: String,
    /// How long the loop had been silent when the laboratory took over, s.
    pub silent_s: Option<f64>,
    /// How long the way to safe took then, s.
    pub safe_after_s: Option<f64>,
    /// What came and went over the wire.
    pub link: Map<String, Value>,
    /// Status and peaks.
    pub summary: Value,
    /// As written to the record.
    #[serde(skip)]
    pub ended: Summary,
    /// How it ended.
    #[serde(skip)]
    pub end: SessionEnd,
}

/// What a laboratory did.
#[derive(Debug, Default, Serialize)]
pub struct LaboratoryResult {
    /// Every session.
    pub sessions: Vec<SessionResult>,
}

impl Test {
    /// Plays the laboratory until it is stopped, or for one session.
    pub fn serve_laboratory(
        &self,
        options: LaboratoryOptions<'_>,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<LaboratoryResult, Error> {
        let (experiment, assembly) = (self.experiment(), self.assembly()?);
        // What cannot be played or recorded is said before anybody knocks.
        remote::laboratory_parts(experiment, assembly)?;
        let mut folders = Folders { names: options.folders, number: 0 };
        let mut ahead = folders.ahead()?;
        let port = experiment.rig.port().unwrap_or(USUAL_PORT);
        let address = options.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into());
        let profile = remote::lab_profile(experiment, assembly);
        let mut server = LabServer::bind(&World::system(), address, profile)?;
        let _attended = stop.attend();
        onlooker.event(&Event::Listening(server.address));
        let mut result = LaboratoryResult::default();
        while let Some(accepted) = server.accept(stop) {
            let folder = folders.of(&accepted, ahead)?;
            result.sessions.push(self.serve(&mut server, accepted, &folder, stop, onlooker)?);
            if options.sessions == Sessions::Once || stop.presses() > 0 {
                break;
            }
            drop(folder);
            ahead = folders.ahead()?;
        }
        Ok(result)
    }

    /// One session: the laboratory, its record, its report.
    fn serve(
        &self,
        server: &mut LabServer,
        accepted: AcceptedSession,
        folder: &RunFolder,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<SessionResult, Error> {
        let (path, assembly) = (folder.record(), self.assembly()?);
        onlooker.event(&Event::SessionBegins(&accepted));
        let peer = accepted.peer.to_string();
        let (experiment, source) = (self.experiment(), self.source());
        let session = remote::serve(experiment, source, assembly, server, accepted, &path, stop)
            .map_err(|error| error.not_kept(None, &path))?;
        let record = Record::read(&path)?;
        write_pages(&record, folder)?;
        let (end, notices) = (&session.end, &*session.notices);
        let (record, folder) = (&record, folder.folder());
        onlooker.event(&Event::SessionEnds { end, notices, record, folder });
        Ok(SessionResult {
            folder: folder.display().to_string(),
            peer,
            silent_s: session.end.silent_s,
            safe_after_s: session.end.safe_after_s,
            link: named_counts(&session.end.counts),
            summary: report::summary_json(record),
            ended: session.summary,
            end: session.end,
        })
    }
}

/// The folders of the sessions, one after the other.
struct Folders<'a> {
    names: SessionFolders<'a>,
    number: u64,
}

impl Folders<'_> {
    /// Takes the folder of the next session before anybody is welcomed. One with
    /// the time in its name is tried and let go: it is named when it is needed.
    fn ahead(&mut self) -> Result<Option<RunFolder>, Error> {
        if let SessionFolders::Named(_) = self.names {
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
        ahead: Option<RunFolder>,
    ) -> Result<RunFolder, Error> {
        match ahead {
            // A real test replaces nothing, not even a rehearsal.
            Some(taken) if accepted.lock_step || !taken.record().exists() => Ok(taken),
            _ => self.next(Existing::Keep),
        }
    }

    /// Takes the next one. The first is where it was asked for or nowhere; of
    /// those with a number, what is kept or in use is passed over.
    fn next(&mut self, existing: Existing) -> Result<RunFolder, Error> {
        loop {
            self.number += 1;
            let taken = RunFolder::take(&self.name(), Side::Laboratory, existing);
            match taken {
                Err(Error::Write { .. }) => return taken,
                Err(_) if self.number > 1 && self.number < MOST_FOLDERS => {}
                taken => return taken,
            }
        }
    }

    fn name(&self) -> PathBuf {
        let first = match &self.names {
            SessionFolders::Named(folder) => folder.clone(),
            SessionFolders::ByTime(name) => name(),
        };
        if self.number == 1 {
            return first;
        }
        let mut name = first.into_os_string();
        name.push(format!("-{}", self.number));
        name.into()
    }
}
