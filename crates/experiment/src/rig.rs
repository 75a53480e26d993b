//! A laboratory at the end of a wire, as declared.

use runtime::link::{Bridge, Token};

use super::diagnostic::{Diagnostic, Diagnostics};
use super::tree::Branch;

/// Port of a laboratory whose file names none.
pub const USUAL_PORT: u16 = 47_071;

/// A laboratory at the end of a wire.
#[derive(Debug, Clone, PartialEq)]
pub struct RigSpec {
    /// Host and port; `None` for a rig in the same process.
    pub address: Option<String>,
    /// What both sides know.
    pub token: Token,
    /// Longest wait for the laboratory before the test.
    pub connect_s: f64,
    /// Longest wait for an answer in virtual time.
    pub timeout_s: f64,
    /// Most ticks in a row that are bridged.
    pub bridge: u64,
    /// What stands in for a missing measurement.
    pub bridge_by: Bridge,
    /// Silence after which the laboratory goes to safe.
    pub watchdog_s: f64,
}

impl RigSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        Self {
            address: branch.text("address").map(str::to_owned),
            // The checks refuse what is too long.
            token: Token::new(branch.must_text("token")).unwrap_or_default(),
            connect_s: branch.must_number("connect"),
            timeout_s: branch.must_number("timeout"),
            bridge: branch.must_count("bridge"),
            bridge_by: match branch.must_word("bridge_by") {
                "hold" => Bridge::Hold,
                "line" => Bridge::Line,
                word => unreachable!("the grammar has no bridge by {word}"),
            },
            watchdog_s: branch.must_number("watchdog"),
        }
    }

    /// The port of the declared address.
    pub fn port(&self) -> Option<u16> {
        self.address.as_deref().and_then(port)
    }
}

fn port(address: &str) -> Option<u16> {
    address.rsplit_once(':').filter(|(host, _)| !host.is_empty())?.1.parse().ok()
}

/// An address has a port, and a token fits.
pub(crate) fn check(root: &Branch, out: &mut Diagnostics) {
    let Some(rig) = root.table("rig") else { return };
    if let (Some(node), Some(address)) = (rig.node("address"), rig.text("address"))
        && port(address).is_none()
    {
        let error = Diagnostic::error(format!("\"{address}\" is no host with a port"));
        let remedy = format!("write it like \"192.168.7.2:{USUAL_PORT}\"");
        out.push(error.at(node.span.clone()).remedy(remedy));
    }
    if let (Some(node), Some(token)) = (rig.node("token"), rig.text("token"))
        && Token::new(token).is_none()
    {
        let error = Diagnostic::error(format!("the token has {} bytes", token.len()));
        out.push(error.at(node.span.clone()).remedy("choose one of at most 16 bytes"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        assert_eq!(port("127.0.0.1:5555"), Some(5555));
        assert_eq!(port("[::1]:1"), Some(1));
        assert_eq!(port("bench.local:47071"), Some(47071));
        for bad in ["", ":5", "host", "host:", "host:70000", "host:x"] {
            assert_eq!(port(bad), None, "{bad}");
        }
    }
}
