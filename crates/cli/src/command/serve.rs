//! `twinrig serve`: the host, a page and an API.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use host::{Encryption, Options, Ready, Renewal};
use serde_json::json;

use super::error::CliError;
use super::output::{Exit, Output, print};

/// Where the page is found unless told otherwise.
const USUAL_ADDRESS: &str = "127.0.0.1:7480";

/// What `serve` is told.
#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    /// Folder with experiments; records lie in `runs` below it.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Where to listen. On loopback without encryption, elsewhere with.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = USUAL_ADDRESS)]
    listen: SocketAddr,
    /// Encrypt on loopback as well, with a certificate that the host signs itself.
    #[arg(long, conflicts_with = "certificate")]
    tls: bool,
    /// Certificate (PEM), instead of one that the host signs itself.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Its key (PEM).
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Name by which browsers may call the host beside its address; may be repeated.
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Draw new tokens: those of an earlier host in this folder are good for nothing then.
    #[arg(long)]
    fresh_tokens: bool,
}

pub(super) fn serve(arguments: &ServeArguments, output: Output) -> Result<Exit, CliError> {
    let ServeArguments { folder, listen, tls, certificate, key, name, fresh_tokens } = arguments;
    let encryption = match (certificate, key) {
        (Some(certificate), Some(key)) => {
            Encryption::Own { certificate: certificate.clone(), key: key.clone() }
        }
        _ if *tls => Encryption::SelfSigned,
        _ => Encryption::Usual,
    };
    let options = Options {
        folder: folder.clone(),
        listen: *listen,
        program: std::env::current_exe().map_err(CliError::Program)?,
        names: name.clone(),
        encryption,
        tokens: if *fresh_tokens { Renewal::Fresh } else { Renewal::Kept },
    };
    host::serve(options, |ready| {
        print(&said(ready, output));
    })?;
    Ok(Exit::Done)
}

/// Where the page is.
fn said(ready: &Ready, output: Output) -> String {
    let Ready { address, operator, viewer, fingerprint } = ready;
    if output == Output::Json {
        let document = json!({
            "address": address, "operator": operator, "viewer": viewer, "fingerprint": fingerprint,
        });
        return format!("{document}\n");
    }
    let shown = fingerprint.as_ref().map_or(String::new(), |fingerprint| {
        format!(
            "The certificate has this SHA-256; browsers show the same before they go on:\n  \
             {fingerprint}\n"
        )
    });
    format!(
        "For operators:  {operator}\nFor viewers:    {viewer}\n{shown}\
         A test that is started here goes on when this program ends. End it with Ctrl-C.\n"
    )
}
