//! What a client must know to be let in.

use std::io;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// A secret shared by test and clients. Its text is never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    text: String,
}

/// A text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a token has {SHORTEST} to {LONGEST} printable ASCII characters without spaces; this one has \
     {characters} characters{}", if *.printable { "" } else { ", some of them others" }
)]
pub struct BadToken {
    /// How many there are.
    pub characters: usize,
    /// Whether all are allowed ones.
    pub printable: bool,
}

const SHORTEST: usize = 16;
const LONGEST: usize = 128;

impl Token {
    /// From its text; white space around it is left out.
    pub fn new(text: &str) -> Result<Self, BadToken> {
        let text = text.trim();
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if !printable || !(SHORTEST..=LONGEST).contains(&text.len()) {
            return Err(BadToken { characters: text.chars().count(), printable });
        }
        Ok(Self { text: text.to_owned() })
    }

    /// A new one from the system's random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self { text: bytes.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    /// To be shown to the operator.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its SHA-256: who has the token can tell by it that it is the right one.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.text.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether these bytes are it. Takes as long for any that are not.
    pub fn is(&self, said: &[u8]) -> bool {
        let own = self.text.as_bytes();
        let said_and_on = said.iter().chain(std::iter::repeat(&0));
        let differing = own.iter().zip(said_and_on).fold(0, |all, (a, b)| all | (a ^ b));
        differing == 0 && own.len() == said.len()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_compared_whole_and_not_shown() {
        let (a, b) = (Token::random().unwrap(), Token::random().unwrap());
        assert_ne!(a, b);
        assert!(a.is(a.text().as_bytes()) && !a.is(b.text().as_bytes()) && !a.is(b""));
        let longer = format!("{}0", a.text());
        assert!(!a.is(longer.as_bytes()) && !a.is(&a.text().as_bytes()[..31]));
        assert!(!format!("{a:?}").contains(a.text()));
        assert_eq!(Token::new(&format!(" {}\n", a.text())), Ok(a));
        for bad in ["short", "with a space inside it", "äöüäöüäöüäöüäöüäöü"] {
            assert!(Token::new(bad).is_err(), "{bad}");
        }
    }
}
