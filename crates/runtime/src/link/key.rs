//! Who may speak: the token, and the keys that follow from it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of the code that ends a datagram.
pub(super) const CODE: usize = 16;

/// What both ends must know, so that no stranger drives the bench, nor a loop the wrong one.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// From its text, of any length.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key of what is said outside a session.
    pub fn key(&self) -> Key {
        Key::new(self.0.as_bytes())
    }

    /// The keys of a session, the loop's and the laboratory's. Each end has drawn one of the two
    /// numbers, so neither can be led into an old session.
    pub fn session_keys(&self, nonce: u64, session: u64) -> [Key; 2] {
        ["twinrig loop", "twinrig laboratory"].map(|sender| {
            let numbers = [nonce.to_le_bytes(), session.to_le_bytes()].concat();
            Key::new(&self.key().full_code(&[sender.as_bytes(), &numbers]))
        })
    }

    /// What a record keeps of it: two tests had the same token, or not.
    pub fn hash(&self) -> String {
        let code = self.key().full_code(&[b"twinrig record"]);
        code[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Its text is not shown.
impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Token({})", self.hash())
    }
}

/// The key of one sender: HMAC-SHA-256 (RFC 2104), whose code is cut to its first 16 bytes.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    fn new(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("an HMAC takes a key of any length"))
    }

    fn full_code(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut hmac = self.0.clone();
        parts.iter().for_each(|part| hmac.update(part));
        hmac.finalize().into_bytes().into()
    }

    /// The code of these bytes.
    pub(super) fn code(&self, bytes: &[u8]) -> [u8; CODE] {
        let code = self.full_code(&[bytes]);
        std::array::from_fn(|index| code[index])
    }

    /// Whether this is the code of these bytes, in a time that does not depend on where they
    /// differ.
    pub(super) fn fits(&self, bytes: &[u8], code: &[u8]) -> bool {
        code.len() == CODE && self.0.clone().chain_update(bytes).verify_truncated_left(code).is_ok()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2.
    #[test]
    fn the_code_is_that_of_the_standard() {
        let (key, text) = (Token::new("Jefe").key(), b"what do ya want for nothing?");
        let expected = 0x5bdc_c146_bf60_754e_6a04_2426_0895_75c7_u128.to_be_bytes();
        assert_eq!(key.code(text), expected);
        assert!(key.fits(text, &expected));
        assert!(!key.fits(text, &expected[..15]) && !key.fits(&text[1..], &expected));
    }

    #[test]
    fn keys_differ_by_token_by_both_numbers_and_by_sender() {
        let codes = |text: &str, nonce, session| {
            Token::new(text).session_keys(nonce, session).map(|key| key.code(b"moved"))
        };
        let [of_loop, of_laboratory] = codes("bench 3", 1, 2);
        assert_eq!(codes("bench 3", 1, 2), [of_loop, of_laboratory]);
        let others = [codes("bench 4", 1, 2), codes("bench 3", 2, 2), codes("bench 3", 1, 1)];
        assert!(!others.as_flattened().contains(&of_loop) && of_loop != of_laboratory);
        assert_ne!(of_loop, Token::new("bench 3").key().code(b"moved"));
    }

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::new("bench 3");
        assert_eq!(format!("{token:?} {:?}", token.key()), format!("Token({}) Key", token.hash()));
        assert!(token.hash().len() == 16 && token.hash() != Token::new("bench 4").hash());
    }
}
