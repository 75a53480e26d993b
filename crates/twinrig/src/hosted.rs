//! A test with a host link: load in, feedback out, and a stop from afar.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use model::channel::Channel;
use runtime::conduct::Conduct;
use runtime::host::protocol::{VERSION, Welcome};
use runtime::host::{HostLink, HostParts, Identity, Token, Trust};
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::Stage;
use runtime::record::{EventKind, EventNote};
use runtime::stop::StopHandle;
use runtime::streamed_load::Feed;
use runtime::streamed_load::LoadEnd;
use runtime::tap::Tap;
use runtime::verdict::Verdict;
use serde::{Deserialize, Serialize};

use crate::assembly::Assembly;
use crate::error::Error;
use crate::onlooker::{Event, Onlooker};
use crate::pace::Clock;
use crate::run_folder::write_whole;
use experiment::{Experiment, PerDof};

/// Where a link listens, and a client looks for it, unless told otherwise.
pub const USUAL_ADDRESS: &str = "127.0.0.1:7420";
/// Channels of a frame that go out to those who look on.
const MOST_CHANNELS: usize = 1024;
/// Time for which frames are kept on their way out of the loop.
const TAP_S: f64 = 1.0;
/// Largest file of certificates or a key.
const LONGEST_PEM: u64 = 1 << 20;
/// Largest token file.
const LONGEST_FILE: u64 = 4096;

/// The link that is asked for.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// Where it listens.
    pub address: String,
    /// What lets clients in; without one it is drawn.
    pub token: Option<Token>,
    /// When the load begins.
    pub begin: Begin,
    /// Whether the link is encrypted.
    pub security: Security,
}

/// When the load of a test with a host link begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Begin {
    /// As soon as it can.
    #[default]
    AtOnce,
    /// When the operator says so over the link.
    WhenTold,
}

/// How a link is kept from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Security {
    /// By TLS with a certificate that is drawn, unless only this machine can reach the link.
    #[default]
    ByAddress,
    /// By TLS with a certificate that is drawn.
    Drawn,
    /// By TLS with a certificate and its key, files in PEM.
    Own {
        /// The certificate, and those that vouch for it.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// By nothing: for a network of its own, or a tunnel.
    Plain,
}

impl Security {
    fn identity(&self, address: SocketAddr) -> Result<Option<Identity>, Error> {
        match self {
            Self::Plain => Ok(None),
            Self::ByAddress if address.ip().is_loopback() => Ok(None),
            Self::ByAddress | Self::Drawn => Ok(Some(Identity::drawn().map_err(Error::Tls)?)),
            Self::Own { certificate, key } => {
                let read = Identity::from_pem(&pem(certificate)?, &pem(key)?);
                let path = certificate.display().to_string();
                Ok(Some(read.map_err(|source| Error::Certificate { path, source })?))
            }
        }
    }
}

fn pem(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Pem { path: path.display().to_string(), source };
    experiment::source::read_regular(path, LONGEST_PEM).map_err(failed)
}

/// Trust in the authorities of a file in PEM.
pub fn authorities_from(path: &Path) -> Result<Trust, Error> {
    let read = Trust::authorities(&pem(path)?);
    read.map_err(|source| Error::Certificate { path: path.display().to_string(), source })
}

impl HostOptions {
    /// Takes the address, and says where the link is.
    pub(crate) fn open(self, onlooker: &mut dyn Onlooker) -> Result<Hosting, Error> {
        let drawn = self.token.is_none();
        let hosting = Hosting::new(&self.address, self.token, &self.security, self.begin)?;
        let token = drawn.then(|| hosting.token.text());
        let fingerprint = hosting.identity.as_ref().map(|own| own.fingerprint);
        onlooker.event(&Event::HostLink { address: hosting.address, token, fingerprint });
        Ok(hosting)
    }
}

/// An address that is taken, and the token that lets clients in.
pub(crate) struct Hosting {
    listener: TcpListener,
    address: SocketAddr,
    token: Token,
    identity: Option<Identity>,
    begin: Begin,
}

/// The file beside a record by which a host finds the test that runs there.
pub const BEACON: &str = "host.json";

/// What that file says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// Where the link listens.
    pub address: SocketAddr,
    /// The process of the loop.
    pub pid: u32,
    /// SHA-256 of the token: who has the token knows by it that this is the right test.
    pub token_sha256: String,
    /// Title of the test.
    pub title: String,
    /// Whether it runs against the clock.
    pub real_time: bool,
    /// How long it takes, s, but for the way home and what the operator adds.
    pub duration_s: f64,
    /// The limits of each interface DOF: name, unit and values.
    pub limits: Vec<(String, String, Vec<f64>)>,
    /// What was known against the test before it ran.
    pub prediction: Verdict,
}

/// Says where the test is found, as long as it lives.
pub(crate) struct Beacon(PathBuf);

impl Beacon {
    /// Writes the file beside the record. A folder that cannot be written to is found out
    /// elsewhere.
    pub(crate) fn light(record: &Path, found: &Found) -> Option<Self> {
        let path = record.with_file_name(BEACON);
        let text = serde_json::to_string_pretty(found).ok()?;
        write_whole(&path, text).ok()?;
        Some(Self(path))
    }
}

impl Drop for Beacon {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The limits of a test as a host shows their use.
pub fn limits(experiment: &Experiment, count: usize) -> Vec<(String, String, Vec<f64>)> {
    let limits = &experiment.limits;
    let of = |name: &str, unit: &str, limit: &Option<PerDof>| {
        Some((name.to_owned(), unit.to_owned(), limit.as_ref()?.expand(count)))
    };
    let all = [
        of("command", "m", &limits.command),
        of("rate", "m/s", &limits.rate),
        of("force", "N", &limits.force),
        of("tracking", "m", &limits.tracking_error),
    ];
    all.into_iter().flatten().collect()
}

impl Hosting {
    /// Takes the address. Without a token one is drawn.
    fn new(
        address: &str,
        token: Option<Token>,
        security: &Security,
        begin: Begin,
    ) -> Result<Self, Error> {
        let listen = |source| Error::HostAddress { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let identity = security.identity(address)?;
        let token = match token {
            Some(token) => token,
            None => Token::random().map_err(Error::NoToken)?,
        };
        Ok(Self { listener, address, token, identity, begin })
    }

    /// What a host is to find.
    pub(crate) fn found(
        &self,
        experiment: &Experiment,
        assembly: &Assembly,
        clock: Clock,
        prediction: Verdict,
    ) -> Found {
        Found {
            address: self.address,
            pid: std::process::id(),
            token_sha256: self.token.fingerprint(),
            title: experiment.title.clone(),
            real_time: clock == Clock::Real,
            duration_s: assembly.most_ticks() as f64 * assembly.integrator.step_s,
            limits: limits(experiment, assembly.count()),
            prediction,
        }
    }
}

/// Reads a token from a file.
pub fn token_from(path: &Path) -> Result<Token, Error> {
    let name = path.display().to_string();
    let bytes = experiment::source::read_regular(path, LONGEST_FILE)
        .map_err(|source| Error::TokenFile { path: name.clone(), source })?;
    Token::new(&String::from_utf8_lossy(&bytes))
        .map_err(|source| Error::Token { path: name, source })
}

/// Joins a loop with its course and, where there is one, with its host.
pub(crate) fn attach_host(
    experiment: &Experiment,
    assembly: &Assembly,
    hybrid: HybridLoop,
    hosting: Option<Hosting>,
    stop: &StopHandle,
    clock: Clock,
) -> Result<(HybridLoop, Option<HostLink>), Error> {
    let Some(Hosting { listener, token, identity, begin, .. }) = hosting else {
        return match assembly.stream {
            Some(_) => Err(Error::NoHost),
            None => Ok((assembly.whole_test(hybrid, None), None)),
        };
    };
    let (feed, stream) = assembly.stream.as_ref().map(Feed::new).unzip();
    let mut channels = assembly.channels();
    channels.truncate(MOST_CHANNELS);
    let rate_hz = experiment.integrator.rate_hz();
    let frames = (TAP_S * rate_hz / assembly.every as f64).clamp(256.0, 65_536.0);
    let (tap, reader) = Tap::new(channels.len(), frames as usize);
    let bounds = assembly.stream.iter().flat_map(|plan| &plan.bounds);
    let signals = assembly.loads.iter().zip(bounds);
    let names = |channel: Channel| (channel.name, channel.unit);
    let welcome = Welcome {
        version: VERSION,
        clock: u8::from(clock == Clock::Real),
        title: experiment.title.clone(),
        tick_hz: rate_hz,
        load_hz: experiment.excitation.stream.map_or(0.0, |stream| stream.rate_hz),
        buffer: assembly.stream.as_ref().map_or(0, |plan| plan.buffer_samples as u64),
        signals: signals
            .map(|(signal, &bound)| {
                (signal.channel.name.clone(), signal.channel.unit.clone(), bound)
            })
            .collect(),
        channels: channels.into_iter().map(names).collect(),
    };
    let conduct = match begin {
        Begin::AtOnce => Conduct::default(),
        Begin::WhenTold => Conduct::waiting(),
    };
    let hybrid = assembly.whole_test(hybrid, stream).tapped(tap);
    let hybrid = hybrid.conducted(conduct.clone(), assembly.every);
    let (stop, lost) = (stop.clone(), experiment.host.lost());
    let parts = HostParts { token, welcome, feed, tap: reader, stop, conduct, lost };
    let link = HostLink::open(listener, identity, parts).map_err(Error::HostLink)?;
    Ok((hybrid, Some(link)))
}

/// What the record keeps of the link and of a load that broke off; closes the
/// link.
pub(crate) fn close_host(link: HostLink, hybrid: &HybridLoop, step_s: f64) -> Vec<EventNote> {
    let (served, turned_away) = link.clients();
    let broken = broken_load(&link, hybrid, step_s);
    let dropped = hybrid.tap().map_or(0, |tap| tap.state.dropped());
    let notes = link
        .notes()
        .into_iter()
        .map(|(ticks, text)| EventNote::new(ticks as f64 * step_s, EventKind::Operator, text));
    let notes: Vec<EventNote> = notes.collect();
    link.close();
    let text = format!(
        "clients let in: {served}, connections turned away: {turned_away}; {dropped} frames of \
         feedback found no room on their way out, none of the record"
    );
    let of_link = EventNote::new(hybrid.time_s(), EventKind::HostLink, text);
    let of_link = EventNote { value: Some(dropped as f64), ..of_link };
    notes.into_iter().chain(broken).chain([of_link]).collect()
}

/// Says of a load that ended before its end was declared.
fn broken_load(link: &HostLink, hybrid: &HybridLoop, step_s: f64) -> Option<EventNote> {
    if hybrid.load_end() != Some(LoadEnd::Starved) {
        return None;
    }
    let begun = hybrid.source().course.as_ref().and_then(|course| course.begun(Stage::RingingDown));
    let why = link.feed_left().unwrap_or_else(|| "the host fell silent".to_owned());
    let used = hybrid.source().stream().map_or(0, |stream| stream.state.used());
    let time_s = begun.unwrap_or(hybrid.ticks()) as f64 * step_s;
    let text = format!("{why}; {used} samples had acted, and what was to follow did not");
    let note = EventNote::new(time_s, EventKind::LoadBrokeOff, text);
    Some(EventNote { value: Some(used as f64), ..note })
}
