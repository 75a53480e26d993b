//! What can go wrong in a command, with the options that mend it.

use std::io;

use runtime::host::{BadToken, ClientError};
use thiserror::Error;
use twinrig::load_rows::RowError;

/// What can go wrong in a command.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// In what it asks of the library.
    #[error(transparent)]
    Library(#[from] twinrig::Error),
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Usage(&'static str),
    /// The other end of a host link.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Nobody is there.
    #[error("{address}: {source}")]
    Connect { address: String, source: ClientError },
    /// A token would be sent in the open.
    #[error(
        "{address} is another machine: give --fingerprint with what `twinrig run --host` showed \
         there, or --ca; --plain sends the token for all to read"
    )]
    Unencrypted { address: String },
    /// A token is no token.
    #[error(transparent)]
    Token(#[from] BadToken),
    /// There is none.
    #[error("a token is needed: give --token-file, or set TWINRIG_TOKEN")]
    NoToken,
    /// A file cannot be read.
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    /// A row of a load is none.
    #[error("{file}: {source}")]
    Row { file: String, source: RowError },
    /// It has none.
    #[error("{file}: there is no row of numbers in it")]
    NoRows { file: String },
    /// A test has no such channel.
    #[error("the test has no channel \"{0}\"")]
    NoChannel(String),
    /// A picture cannot be written.
    #[error("{0}, or name another place with --plot")]
    Plot(twinrig::Error),
    /// The host cannot be started.
    #[cfg(feature = "host")]
    #[error(transparent)]
    Host(#[from] host::HostError),
    /// The program does not find itself.
    #[cfg(feature = "host")]
    #[error("cannot find this program: {0}")]
    Program(io::Error),
    /// The system gives no signals.
    #[error("cannot take the signals that stop a test: {0}")]
    Signals(io::Error),
}

impl From<runtime::record::RecordError> for CliError {
    fn from(error: runtime::record::RecordError) -> Self {
        Self::Library(error.into())
    }
}

impl CliError {
    /// The error, and the option that mends it.
    pub(super) fn words(&self) -> String {
        let Self::Library(error) = self else { return self.to_string() };
        if let twinrig::Error::Value { .. } = error {
            return format!("--set {error}");
        }
        let words = format!("{error}{}", advice(error));
        match option(error) {
            Some((thing, option)) => words.replace(thing, option),
            None => words,
        }
    }
}

/// What the library calls otherwise, and the option that is meant.
fn option(error: &twinrig::Error) -> Option<(&'static str, &'static str)> {
    use twinrig::Error;
    match error {
        Error::BeyondLimit { .. } => Some(("an rms of", "--rms")),
        Error::NoSize => Some(("its rms or its amplitude", "--rms or --amplitude")),
        Error::NonlinearComparison(_) | Error::StreamedComparison | Error::NoMatrices => {
            Some(("the comparison in time", "--compare"))
        }
        _ => None,
    }
}

/// What the command line can do about an error.
fn advice(error: &twinrig::Error) -> &'static str {
    use twinrig::Error;
    match error {
        Error::Write { .. } => ", or name another place with --out",
        Error::FolderBusy { .. } | Error::OtherSide { .. } => ": name another folder with --out",
        Error::JournalBusy { .. } => ", or use another --out",
        Error::OtherStudy { .. } => ". Use another --out, or --restart to throw them away",
        Error::NotAJournal { .. } => "; use another --out, or remove the file",
        Error::OverRecord { .. } => "; name another file with --out",
        Error::HostAddress { .. } => "; name another with --host=ADDRESS:PORT",
        Error::NoToken(_) => "; give one with --token-file",
        Error::NoHost => ": run it with --host, and feed it with `twinrig host feed FILE`",
        Error::NoLoopGain { .. } => "; leave --plot out",
        Error::NoGround(_) => ": leave out --ground",
        Error::TooMuch { .. } => "; or allow more with --budget, such as --budget \"16 GB\"",
        Error::NotKept { source, .. } | Error::Unfit { source, .. } => advice(source),
        _ => "",
    }
}
