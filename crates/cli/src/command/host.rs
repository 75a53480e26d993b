//! `twinrig host`: feed, watch, stop or look at a test that runs elsewhere.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::ToSocketAddrs;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use runtime::gate::TripKind;
use runtime::host::{Client, Fingerprint, Reply, Token, Trust};
use runtime::interlock::Phase;
use serde_json::json;

use super::error::CliError;
use super::output::{Exit, Output};
use twinrig::hosted::{USUAL_ADDRESS, authorities_from, token_from};
use twinrig::load_rows::LoadRows;
use twinrig::words::counted;

/// What is wanted of the test.
#[derive(Debug, Subcommand)]
pub(super) enum HostCommand {
    /// Send the load of a test, row by row as it is read.
    Feed {
        /// Rows of numbers, one column for each signal of the load, with or without a column of times
        /// before them; in SI units, or in those that headings name, as "ground [g]"; - for the
        /// standard input.
        file: PathBuf,
        #[command(flatten)]
        to: Reach,
        /// Factor on every value.
        #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
        scale: f64,
    },
    /// Show the frames of a test as they come, as comma-separated text.
    Watch {
        #[command(flatten)]
        to: Reach,
        /// Show one frame in so many.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        every: u32,
        /// Channels to show [default: all].
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        channels: Vec<String>,
        /// Leave after so many frames.
        #[arg(long)]
        frames: Option<u64>,
    },
    /// Stop a test as the operator does: hold, then ramp to zero. Again: end the hold.
    Stop {
        #[command(flatten)]
        to: Reach,
    },
    /// Show where a test stands.
    Status {
        #[command(flatten)]
        to: Reach,
    },
}

/// Which test.
#[derive(Debug, Args)]
pub(super) struct Reach {
    /// Where it listens.
    #[arg(default_value = USUAL_ADDRESS)]
    address: String,
    /// File with the token that `twinrig run --host` said or was given; else the variable
    /// TWINRIG_TOKEN.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Fingerprint that the test showed, where its link is encrypted: nobody else is trusted.
    #[arg(long, value_name = "SHA-256")]
    fingerprint: Option<Fingerprint>,
    /// File with the certificates, in PEM, of who vouches for the test's own.
    #[arg(long, value_name = "FILE", conflicts_with = "fingerprint")]
    ca: Option<PathBuf>,
    /// Send the token to another machine although the link is not encrypted.
    #[arg(long, conflicts_with_all = ["fingerprint", "ca"])]
    plain: bool,
}

impl Reach {
    fn connect(&self) -> Result<Client, CliError> {
        let token = match &self.token_file {
            Some(path) => token_from(path)?,
            None => Token::new(&std::env::var("TWINRIG_TOKEN").map_err(|_| CliError::NoToken)?)?,
        };
        let failed = |source| CliError::Connect { address: self.address.clone(), source };
        Client::connect(&*self.address, &token, &self.trust()?).map_err(failed)
    }

    /// Nobody's token goes to another machine in the open unless that is said.
    fn trust(&self) -> Result<Trust, CliError> {
        if let Some(fingerprint) = self.fingerprint {
            return Ok(Trust::Fingerprint(fingerprint));
        }
        if let Some(path) = &self.ca {
            return Ok(authorities_from(path)?);
        }
        let found = self.address.to_socket_addrs();
        let beyond = found.is_ok_and(|all| all.into_iter().any(|at| !at.ip().is_loopback()));
        if beyond && !self.plain {
            return Err(CliError::Unencrypted { address: self.address.clone() });
        }
        Ok(Trust::Plain)
    }
}

pub(super) fn host(command: &HostCommand, output: Output) -> Result<Exit, CliError> {
    match command {
        HostCommand::Feed { file, to, scale } => feed(file, to, *scale, output),
        HostCommand::Watch { to, every, channels, frames } => {
            watch(to, *every, channels, frames.unwrap_or(u64::MAX), output)
        }
        HostCommand::Stop { to } => stop(to, output),
        HostCommand::Status { to } => status(to, output),
    }
}

fn feed(file: &PathBuf, to: &Reach, scale: f64, output: Output) -> Result<Exit, CliError> {
    let name = || file.display().to_string();
    let read = |source| CliError::Read { file: name(), source };
    let input: Box<dyn io::Read> = if file.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(read)?)
    };
    let mut client = to.connect()?;
    let welcome = client.welcome.clone();
    let mut sample = client.feed()?;
    let units = welcome.signals.iter().map(|(_, unit, _)| unit.as_str());
    let mut rows = LoadRows::new(units, welcome.load_hz);
    let mut input = BufReader::with_capacity(1 << 16, input);
    let (mut line, mut waiting) = (String::new(), Vec::new());
    let at = |source| CliError::Row { file: name(), source };
    loop {
        line.clear();
        let count = input.read_line(&mut line);
        let count = count.map_err(read)?;
        if count > 0 {
            rows.read(&line, scale, &mut waiting).map_err(at)?;
        }
        // What is produced live goes out at once, what lies ready in long messages.
        let more = count > 0 && !input.buffer().is_empty() && waiting.len() < 8192;
        if !more && !waiting.is_empty() {
            client.load(sample, &waiting)?;
            sample += (waiting.len() / welcome.signals.len().max(1)) as u64;
            waiting.clear();
        }
        if count == 0 {
            break;
        }
    }
    if rows.rows() == 0 {
        return Err(CliError::NoRows { file: name() });
    }
    client.end(sample)?;
    Ok(output.show(&json!({ "samples": sample }), || {
        format!("{sample} samples sent, and the end of the load").into()
    }))
}

fn watch(
    to: &Reach,
    every: u32,
    wanted: &[String],
    mut left: u64,
    output: Output,
) -> Result<Exit, CliError> {
    let mut client = to.connect()?;
    let channels = client.welcome.channels.clone();
    let mut shown = Vec::new();
    for name in wanted {
        match channels.iter().position(|(known, _)| known == name) {
            Some(place) => shown.push(place),
            None => return Err(CliError::NoChannel(name.clone())),
        }
    }
    if shown.is_empty() {
        shown = (0..channels.len()).collect();
    }
    client.watch(every)?;
    let mut out = io::stdout().lock();
    // A reader that has seen enough closes the pipe: that is an end like any other.
    let mut say = |text: &str| out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok();
    let names = shown.iter().map(|&place| {
        let (name, unit) = &channels[place];
        match (output, unit.is_empty()) {
            (Output::People, false) => format!("{name} [{unit}]"),
            _ => name.clone(),
        }
    });
    let names: Vec<String> = names.collect();
    let head = match output {
        Output::People => names.join(",") + "\n",
        Output::Json => format!("{}\n", json!({ "channels": names })),
    };
    if !say(&head) {
        return Ok(Exit::Done);
    }
    loop {
        match client.next()? {
            Reply::Frames { values, dropped, .. } => {
                let width = channels.len().max(1);
                let most = usize::try_from(left).unwrap_or(usize::MAX);
                let frames = values.chunks_exact(width).take(most);
                left -= frames.len() as u64;
                let rows = frames.map(|frame| shown.iter().map(|&at| frame[at]).collect());
                let rows: Vec<Vec<f64>> = rows.collect();
                let shown = say(&shown_frames(&rows, dropped, output));
                if !shown || left == 0 {
                    if output == Output::People && dropped > 0 {
                        eprintln!("{}", skipped(dropped, every));
                    }
                    return Ok(Exit::Done);
                }
            }
            Reply::Over { phase, trip, ticks, dropped } => {
                let end = json!({
                    "over": { "phase": phase, "trip": trip, "ticks": ticks, "dropped": dropped }
                });
                match output {
                    Output::Json => {
                        say(&format!("{end}\n"));
                    }
                    Output::People => {
                        eprintln!(
                            "the test is over after {ticks} ticks: {}; {}",
                            trip_words(trip),
                            skipped(dropped, every)
                        );
                    }
                }
                return Ok(Exit::Done);
            }
            _ => {}
        }
    }
}

/// What those who look on did not see.
fn skipped(frames: u64, every: u32) -> String {
    let of = if every > 1 { format!(" of one in {every}") } else { String::new() };
    match counted(frames as usize, "frame") {
        _ if frames == 0 => format!("every frame{of} was shown"),
        frames => format!("{frames}{of} skipped, faster than could be shown; the record has all"),
    }
}

fn shown_frames(rows: &[Vec<f64>], dropped: u64, output: Output) -> String {
    if output == Output::Json {
        return format!("{}\n", json!({ "frames": rows, "dropped": dropped }));
    }
    let line = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
    rows.iter().map(line).collect()
}

fn stop(to: &Reach, output: Output) -> Result<Exit, CliError> {
    let presses = to.connect()?.stop()?;
    Ok(output.show(&json!({ "presses": presses }), || {
        "stop requested: the rig holds, then ramps to zero".to_owned().into()
    }))
}

fn status(to: &Reach, output: Output) -> Result<Exit, CliError> {
    let mut client = to.connect()?;
    let status = client.status()?;
    let welcome = &client.welcome;
    let feeding = match status.feeding {
        0 => "nobody feeds",
        1 => "being fed",
        _ => "ended",
    };
    let document = json!({
        "title": welcome.title,
        "real_time": welcome.clock == 1,
        "time_s": status.ticks as f64 / welcome.tick_hz,
        "ticks": status.ticks,
        "phase": status.phase,
        "trip": status.trip,
        "load": (welcome.load_hz > 0.0).then(|| json!({
            "state": feeding,
            "rate_hz": welcome.load_hz,
            "samples": status.fed,
            "used": status.used,
            "starved_ticks": status.starved,
        })),
        "feedback_dropped": status.dropped,
    });
    Ok(output.show(&document, || {
        let mut text = format!(
            "{}\n{:.3} s, {}, {}",
            twinrig::page::text::label(&welcome.title),
            status.ticks as f64 / welcome.tick_hz,
            Phase::word(status.phase),
            trip_words(status.trip),
        );
        if welcome.load_hz > 0.0 {
            text += &format!(
                "\nload: {feeding}, {} samples received, {} used, {} ticks bridged",
                status.fed, status.used, status.starved
            );
        }
        text.into()
    }))
}

fn trip_words(code: u8) -> &'static str {
    let kind = TripKind::from_code(code);
    kind.map_or("no trip", |kind| kind.words())
}
