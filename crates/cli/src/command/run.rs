//! `twinrig run`: rehearse in virtual time, or run against the clock.

use std::path::PathBuf;

use clap::Args;
use twinrig::hosted::{Begin, HostOptions, Security, USUAL_ADDRESS, token_from};
use twinrig::{RunOptions, Unstable, report};

use super::error::CliError;
use super::file::{ExperimentFile, Pacing, folder, load, started};
use super::onlooker::Looker;
use super::output::{Exit, Output, written};
use super::signals::stop_on_signals;

/// What `run` is told.
#[derive(Debug, Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    experiment: ExperimentFile,
    /// Folder for record.arrow, report.html and summary.json [default: runs/NAME, and in
    /// real time runs/NAME-START].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pacing: Pacing,
    /// Open a link for a host: feed the load, watch, stop [default address: 127.0.0.1:7420].
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = USUAL_ADDRESS
    )]
    host: Option<String>,
    /// File with the token that clients of the link must know; without it one is drawn and
    /// shown.
    #[arg(long, value_name = "FILE", requires = "host")]
    token_file: Option<PathBuf>,
    /// With --host: the load begins when the operator says so over the link.
    #[arg(long, requires = "host")]
    wait: bool,
    #[command(flatten)]
    tls: Tls,
    /// Start a real test although its loop is predicted to be unstable.
    #[arg(long)]
    accept_unstable: bool,
}

/// How the host link is encrypted.
#[derive(Debug, Args)]
struct Tls {
    /// Encrypt the link on loopback too, with a certificate that is drawn and whose fingerprint is
    /// shown. A link that other machines can reach is encrypted in any case.
    #[arg(long, requires = "host")]
    tls: bool,
    /// Encrypt the link with this certificate, in PEM.
    #[arg(long, value_name = "FILE", requires_all = ["host", "key"])]
    certificate: Option<PathBuf>,
    /// Key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Do not encrypt the link: for a network of its own, or a tunnel.
    #[arg(long, requires = "host", conflicts_with_all = ["tls", "certificate"])]
    plain: bool,
}

impl Tls {
    fn security(&self) -> Security {
        match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                Security::Own { certificate: certificate.clone(), key: key.clone() }
            }
            _ if self.tls => Security::Drawn,
            _ if self.plain => Security::Plain,
            _ => Security::ByAddress,
        }
    }
}

pub(super) fn run(arguments: &RunArguments, output: Output) -> Result<Exit, CliError> {
    let stop = stop_on_signals()?;
    let ExperimentFile { file, set } = &arguments.experiment;
    let (clock, rig) = (arguments.pacing.clock(), arguments.pacing.rig.clone());
    let test = arguments.pacing.bench.test(load(file, set, output)?);
    let host = match arguments.host.clone() {
        None => None,
        Some(address) => {
            let token = arguments.token_file.as_deref().map(token_from).transpose()?;
            let begin = if arguments.wait { Begin::WhenTold } else { Begin::AtOnce };
            let security = arguments.tls.security();
            Some(HostOptions { address, token, security, begin })
        }
    };
    let folder = folder(arguments.out.as_ref(), file, &started(clock));
    let assembly = test.assembly()?;
    let step_s = assembly.integrator.step_s;
    let duration_s = match assembly.course {
        Some(_) => assembly.most_ticks() as f64 * step_s,
        None => test.experiment().duration_s,
    };
    let mut looker = Looker::new(output, "rehearsing").timed(step_s, duration_s);
    let unstable = if arguments.accept_unstable { Unstable::Accepted } else { Unstable::Refused };
    let options = RunOptions { clock, rig, host, unstable };
    let run = test.run_into(&folder, options, &stop, &mut looker)?;
    drop(looker);
    let shown = output.show(&run, || {
        let mut words = report::summary_words(&run.record);
        words.line(format!("\n{}", written(&run.folder, &run.files)));
        words
    });
    let judged = Exit::of_verdict(&run.summary.verdict, shown);
    Ok(Exit::of(&run.ended.summary, judged))
}
