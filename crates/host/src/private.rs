//! The host's own folder: what only its owner may read.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use runtime::host::Token;

use crate::error::HostError;

/// Its name, in the folder that is served.
pub(crate) const NAME: &str = ".twinrig";
/// Largest token file.
const LARGEST_TOKEN: u64 = 4096;

/// Makes it, if it is not there.
pub(crate) fn make(root: &Path) -> io::Result<PathBuf> {
    let folder = root.join(NAME);
    match fs::symlink_metadata(&folder) {
        Ok(facts) if facts.is_dir() => {}
        Ok(_) => return Err(io::Error::other("it is not a folder")),
        Err(_) => DirBuilder::new().mode(0o700).create(&folder)?,
    }
    Ok(folder)
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(contents)
}

/// The token that is kept in a file of the host; drawn if there is none, or if others are wanted.
pub(crate) fn kept_token(path: &Path, fresh: bool) -> Result<Token, HostError> {
    if !fresh && path.exists() {
        let bytes = experiment::source::read_regular(path, LARGEST_TOKEN)?;
        return Token::new(&String::from_utf8_lossy(&bytes))
            .map_err(|source| HostError::Token { path: path.to_path_buf(), source });
    }
    let token = Token::random()?;
    write_private(path, format!("{}\n", token.text()).as_bytes())?;
    Ok(token)
}
