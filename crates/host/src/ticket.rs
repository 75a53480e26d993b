//! Tickets: an address for a report that a browser can open without a token, once and soon.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use runtime::host::Token;

/// A ticket is good for so long.
const LASTS: Duration = Duration::from_secs(60);
/// Most at a time.
const MOST: usize = 256;

/// Tickets that are good.
#[derive(Default)]
pub(crate) struct Tickets {
    given: VecDeque<(Instant, String, PathBuf)>,
}

impl Tickets {
    /// A ticket for a file; gives the address.
    pub(crate) fn give(&mut self, file: PathBuf) -> io::Result<String> {
        let now = Instant::now();
        self.given.retain(|(at, ..)| now.duration_since(*at) < LASTS);
        if self.given.len() >= MOST {
            self.given.pop_front();
        }
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let secret = Token::random()?.text().to_owned();
        let url = format!("/view/{secret}/{}", name.unwrap_or_default());
        self.given.push_back((now, secret, file));
        Ok(url)
    }

    /// The file of a ticket, which is used up.
    pub(crate) fn take(&mut self, secret: &str) -> Option<PathBuf> {
        let at = self.given.iter().position(|(_, known, _)| known == secret)?;
        let (at, _, file) = self.given.remove(at)?;
        (at.elapsed() < LASTS).then_some(file)
    }
}
