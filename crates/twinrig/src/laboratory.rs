//! `Test::serve_laboratory`: plays the laboratory of an experiment for loops elsewhere.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use runtime::gate::{Trip, TripKind};
use runtime::laboratory::{
    AcceptedSession, LabProfile, LabServer, Laboratory, LaboratoryParts, SessionEnd, Start,
};
use runtime::link::wire::{KNOWS_ACHIEVED, LOCK_STEP, PACED, VIRTUAL};
use runtime::link::{LinkCounts, Terms};
use runtime::realtime::{Driver, RealtimePlan, prepare_thread};
use runtime::record::{
    EventKind, EventNote, Header, Options, Purpose, Record, Recorder, RecorderHandle, Role,
    Summary, TripNote,
};
use runtime::stop::StopHandle;
use runtime::world;
use serde::Serialize;

use crate::error::Error;
use crate::iterative::Setup;
use crate::machine;
use crate::notes::{header, link_note};
use crate::onlooker::{Event, Onlooker};
use crate::pace::{Clock, plan, recording};
use crate::remote::{differences, refuse_preset_token, terms};
use crate::report;
use crate::run::write_pages;
use crate::run_folder::RunFolder;
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
    pub link: LinkCounts,
    /// Status and peaks.
    pub summary: report::Summary,
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
        // What cannot be played or recorded is said before anybody knocks.
        self.demand_limits()?;
        self.laboratory_parts()?;
        let mut folders = Folders { names: options.folders, number: 0 };
        let mut ahead = folders.ahead()?;
        let port = self.experiment().rig.port().unwrap_or(USUAL_PORT);
        let address = options.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into());
        refuse_preset_token(self.experiment(), address)?;
        let mut server = LabServer::bind(&world::system(), address, self.lab_profile()?)?;
        let _attended = stop.attend();
        onlooker.event(&Event::Listening(server.address));
        let mut result = LaboratoryResult::default();
        loop {
            let accepted = server.accept(stop, &mut |refused| {
                onlooker.event(&Event::Refused(refused));
            });
            let Some(accepted) = accepted else { break };
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

    /// What its file says to the other end.
    fn terms(&self) -> Result<Terms, Error> {
        Ok(terms(self.experiment(), self.source(), self.assembly()?))
    }

    /// What its laboratory says of itself.
    fn lab_profile(&self) -> Result<LabProfile, Error> {
        let experiment = self.experiment();
        Ok(LabProfile {
            terms: self.terms()?,
            watchdog_s: experiment.rig.watchdog_s,
            patience_s: experiment.rig.patience_s,
            token: experiment.rig.token(),
            modes: LOCK_STEP | PACED | KNOWS_ACHIEVED | VIRTUAL,
            auxiliary: self.laboratory_parts()?.rig.channels().len(),
        })
    }

    /// Its laboratory, at rest.
    fn laboratory_parts(&self) -> Result<LaboratoryParts, Error> {
        let (experiment, assembly) = (self.experiment(), self.assembly()?);
        // The laboratory of an iterative test may have a shaker.
        let shaker = experiment.trace.as_ref().and_then(|trace| trace.shaker.as_ref());
        let rig = if shaker.is_some() && !experiment.transfer_system.stated {
            Setup::new(experiment, assembly)?.rig()?
        } else {
            assembly.rig_alone()?.ok_or(Error::AnswersAtOnce)?
        };
        Ok(LaboratoryParts {
            rig,
            limits: assembly.limits.clone(),
            safe_path: assembly.safe_path,
            every: assembly.every,
            start: if assembly.stands_at_m == 0.0 { Start::Zero } else { Start::WhereItStands },
            bridge: experiment.rig.bridge,
        })
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
        let differences = differences(&self.terms()?, &accepted.terms);
        onlooker.event(&Event::SessionBegins { accepted: &accepted, differences: &differences });
        let (path, peer) = (folder.record(), accepted.peer.to_string());
        let (end, ended, notices) = self
            .move_laboratory(server, accepted, &path, stop)
            .map_err(|error| error.not_kept(None, &path))?;
        let record = Record::read(&path)?;
        write_pages(&record, folder)?;
        let folder = folder.folder();
        onlooker.event(&Event::SessionEnds {
            end: &end,
            notices: &notices,
            record: &record,
            folder,
        });
        Ok(SessionResult {
            folder: folder.display().to_string(),
            peer,
            silent_s: end.silent_s,
            safe_after_s: end.safe_after_s,
            link: end.counts,
            summary: report::summary(&record)?,
            ended,
            end,
        })
    }

    /// Moves the laboratory for one loop and writes its record; says what the system
    /// refused.
    fn move_laboratory(
        &self,
        server: &mut LabServer,
        accepted: AcceptedSession,
        record: &Path,
        stop: &StopHandle,
    ) -> Result<(SessionEnd, Summary, Vec<String>), Error> {
        let experiment = self.experiment();
        let clock = if accepted.lock_step { Clock::Virtual } else { Clock::Real };
        // A laboratory may be alone for long: what it has is flushed by the clock.
        let flush = recording(experiment, Clock::Real).flush;
        let options = Options { flush, ..recording(experiment, clock) };
        let channels = Laboratory::channels(self.assembly()?.count());
        let header = self.laboratory_header(&accepted)?;
        let (sink, mut handle) = Recorder::create(record, &header, &channels, vec![], &options)?;
        let laboratory = Laboratory::new(self.laboratory_parts()?, Some(sink));
        let real = (!accepted.lock_step).then_some(experiment.realtime.priority);
        // A thread of its own: what it is granted must not pass to the writer's.
        let ((laboratory, end), granted) = std::thread::scope(|scope| {
            let served = scope.spawn(move || {
                let granted = real.map(prepare_thread);
                (server.serve(accepted, laboratory, stop), granted)
            });
            served.join().map_err(|_| Error::Panicked)
        })?;
        if let Some(granted) = &granted {
            let plan = RealtimePlan { overrun_limit: experiment.rig.bridge, ..plan(experiment) };
            handle.note_timing(Driver::note(&plan, granted, &end.timing));
        }
        let summary = end_session(handle, laboratory, &end)?;
        Ok((end, summary, granted.unwrap_or_default().notices))
    }

    fn laboratory_header(&self, accepted: &AcceptedSession) -> Result<Header, Error> {
        let pace = if accepted.lock_step { "lock-step" } else { "against the clock" };
        let mut header = header(self.experiment(), self.source(), self.assembly()?)?;
        header.role = Role::Laboratory;
        header.title = format!("Laboratory: {}", self.experiment().title);
        header.machine.extend([
            ("loop".into(), accepted.peer.to_string()),
            ("pace".into(), pace.into()),
            ("watchdog".into(), format!("{} s", accepted.watchdog_s)),
            ("experiment hash".into(), format!("{:016x}", self.terms()?.file)),
            ("experiment hash of the loop".into(), format!("{:016x}", accepted.terms.file)),
            ("token hash".into(), self.experiment().rig.token().hash()),
        ]);
        if !accepted.lock_step {
            header.started = machine::utc_now();
        }
        Ok(header)
    }
}

/// Notes what happened in a session, and ends its record.
fn end_session(
    mut handle: RecorderHandle,
    laboratory: Laboratory,
    end: &SessionEnd,
) -> Result<Summary, Error> {
    let step_s = laboratory.step_s();
    for event in &laboratory.events().events {
        let text = in_the_laboratory(&event.cause);
        handle.note(EventNote { text, ..EventNote::of(event, step_s) });
    }
    let left = laboratory.tripped().filter(|(trip, _)| trip.kind == TripKind::PeerLeft);
    if let Some((trip, time_s)) = left {
        handle.note(EventNote::new(time_s, EventKind::Goodbye, trip.text()));
    }
    let of_loop = laboratory.loop_tripped().map(|(trip, time_s)| of_loop(&trip, time_s));
    if let Some(trip) = &of_loop {
        handle.note(EventNote::new(trip.time_s, EventKind::TripOfLoop, trip.text.clone()));
    }
    handle.note(link_note(&end.counts, laboratory.ticks() as f64 * step_s));
    let trip = laboratory.tripped().map(|(trip, time_s)| TripNote {
        text: in_the_laboratory(&trip),
        ..TripNote::of(&trip, time_s)
    });
    // That the loop said goodbye is how a session should end; that it tripped is not.
    let trip = trip.filter(|trip| trip.code != TripKind::PeerLeft.code()).or(of_loop);
    let ticks = laboratory.ticks();
    drop(laboratory);
    Ok(handle.finish(ticks, trip)?)
}

/// Why the laboratory tripped: it misses the loop, where the loop misses the laboratory.
fn in_the_laboratory(trip: &Trip) -> String {
    trip.text().replace("reply from the laboratory", "command from the loop")
}

/// A trip of the loop as the laboratory remembers it.
fn of_loop(trip: &Trip, time_s: f64) -> TripNote {
    // A float-to-integer cast saturates: an unknown code stays unknown.
    let cause = TripKind::from_code(trip.value as u8);
    let text = match cause {
        Some(TripKind::Operator) => "the operator of the loop stopped the test".to_owned(),
        Some(cause) => format!("the loop tripped: {}", cause.words()),
        None => "the loop tripped, and does not say why".to_owned(),
    };
    TripNote { text, ..TripNote::of(trip, time_s) }
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
            return self.next(Purpose::Rehearsal).map(Some);
        }
        let number = self.number;
        self.next(Purpose::RealTest)?;
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
            _ => self.next(Purpose::RealTest),
        }
    }

    /// Takes the next one. The first is where it was asked for or nowhere; of
    /// those with a number, what is kept or in use is passed over.
    fn next(&mut self, purpose: Purpose) -> Result<RunFolder, Error> {
        loop {
            self.number += 1;
            let taken = RunFolder::take(&self.name(), Role::Laboratory, purpose);
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
