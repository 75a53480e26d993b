//! A laboratory at the end of a wire, as declared.

use std::net::IpAddr;

use keys::Keys;
use keys::diagnostic::Diagnostic;
use keys::tree::Branch;
use runtime::link::{Bridge, Token};

/// Port of a laboratory whose file names none.
pub const USUAL_PORT: u16 = 47_071;
/// The token of a file that names none: known to everybody, and good on one machine only.
pub const PRESET_TOKEN: &str = "twinrig";

/// A laboratory in another process or on another machine, played by `twinrig rig` or by any target
/// that speaks the protocol of `docs/protocol.md`. `run` drives it if it has an `address`; otherwise
/// the rig is in the same process.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct RigSpec {
    /// Where the laboratory listens: host and port, such as "192.168.7.2:47071".
    #[key(text)]
    pub address: Option<String>,
    /// Text that both sides must know: whoever has it can move the rig. Every packet is signed with a
    /// key made from it. Between two machines draw it at random, such as with `openssl rand -hex 16`;
    /// the pre-set one is refused there. A record holds a hash of it.
    #[key(text, default = "twinrig")]
    token: String,
    /// Longest wait for the laboratory before the test.
    #[key(time, within = 0.01..=3600.0, default = "5 s")]
    pub connect_s: f64,
    /// In virtual time, where every tick waits for its answer: longest wait.
    #[key(time, within = 0.02..=60.0, default = "2 s")]
    pub timeout_s: f64,
    /// Against the clock: most ticks in a row without an answer, or without a command on the other
    /// side. One more trips the test.
    #[key(count = 0..=100_000, default = 10)]
    pub bridge: u64,
    /// What stands in for a measurement that is missing.
    #[key(default = "hold")]
    pub bridge_by: Bridge,
    /// Of the laboratory: silence of the loop after which it takes the rig to safe by itself.
    #[key(time, within = 0.001..=60.0, default = "200 ms")]
    pub watchdog_s: f64,
    /// The same in virtual time, where a loop may compute for longer than a period and says how long
    /// it waits itself: longest silence of the loop, whatever it says.
    #[key(time, within = 0.02..=60.0, default = "5 s")]
    pub patience_s: f64,
}

impl RigSpec {
    /// What both sides know.
    pub fn token(&self) -> Token {
        Token::new(&*self.token)
    }

    /// Whether the token is the one of a file that names none.
    pub fn has_preset_token(&self) -> bool {
        self.token == PRESET_TOKEN
    }

    /// The port of the declared address.
    pub fn port(&self) -> Option<u16> {
        self.address.as_deref().and_then(port)
    }

    /// An address has a port, and a token is a secret where others can reach it.
    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let far = self.address.as_deref().filter(|address| !is_this_machine(address));
        if let (Some(address), None) = (&self.address, self.port()) {
            let message = format!("\"{address}\" is no host with a port");
            let remedy = format!("write it like \"192.168.7.2:{USUAL_PORT}\"");
            found.push(branch.error(Self::ADDRESS, message).remedy(remedy));
        } else if let Some(address) = far.filter(|_| self.has_preset_token()) {
            let message =
                format!("the pre-set token is refused at \"{address}\": everybody knows it");
            let warning = branch.warning(Self::ADDRESS, message);
            found.push(warning.remedy("give both files a `token` drawn at random"));
        }
    }
}

/// Whether nobody else can reach an address.
fn is_this_machine(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let ip = host.trim_matches(['[', ']']).parse();
    ip.map_or(host == "localhost", |ip: IpAddr| ip.is_loopback())
}

fn port(address: &str) -> Option<u16> {
    address.rsplit_once(':').filter(|(host, _)| !host.is_empty())?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        assert_eq!(port("127.0.0.1:5555"), Some(5555));
        assert_eq!(port("[::1]:1"), Some(1));
        assert_eq!(port("bench.local:47071"), Some(47071));
        for (address, near) in [
            ("127.0.0.1:5", true),
            ("[::1]:1", true),
            ("localhost:5", true),
            ("192.168.7.2:5", false),
            ("0.0.0.0:5", false),
            ("bench.local:5", false),
        ] {
            assert_eq!(is_this_machine(address), near, "{address}");
        }
        for bad in ["", ":5", "host", "host:", "host:70000", "host:x"] {
            assert_eq!(port(bad), None, "{bad}");
        }
    }
}
