//! TLS 1.3 around the host link, where others could listen in.
//!
//! The test shows a certificate: its own, or one that is drawn when the link is opened and
//! whose fingerprint the operator is shown. A client trusts that fingerprint, or the
//! authorities of a file. The token is asked for as ever, inside.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    ServerConfig, ServerConnection, SignatureScheme, StreamOwned,
};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Bytes that wait to be encrypted at once.
const PIECE: usize = 16_384;
/// Reads of one socket before it is another one's turn.
const TURNS: usize = 16;

/// Why there is no TLS.
#[derive(Debug, Error)]
pub enum TlsError {
    /// No certificate can be made.
    #[error("no certificate can be drawn: {0}")]
    Drawn(#[from] rcgen::Error),
    /// A file of certificates or a key cannot be used.
    #[error("{0}")]
    Pem(#[from] pem::Error),
    /// It holds none.
    #[error("no certificate is in it")]
    NoCertificate,
    /// Certificate and key do not fit, or cannot be used.
    #[error("{0}")]
    Unfit(#[from] rustls::Error),
}

/// SHA-256 of a certificate, as `openssl x509 -fingerprint -sha256` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// A text that is no fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a fingerprint has 64 hexadecimal digits, with or without colons")]
pub struct BadFingerprint;

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = BadFingerprint;

    fn from_str(text: &str) -> Result<Self, BadFingerprint> {
        let digits: Option<Vec<u32>> =
            text.trim().chars().filter(|c| *c != ':').map(|c| c.to_digit(16)).collect();
        let digits = digits.filter(|digits| digits.len() == 64).ok_or(BadFingerprint)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (16 * pair[0] + pair[1]) as u8;
        }
        Ok(Self(bytes))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What a test shows of itself.
#[derive(Debug, Clone)]
pub struct Identity {
    config: Arc<ServerConfig>,
    /// By which a client may know it.
    pub fingerprint: Fingerprint,
}

impl Identity {
    /// A new one, signed by itself: nobody can foresee it, so a client must be told its
    /// fingerprint.
    pub fn drawn() -> Result<Self, TlsError> {
        let drawn = rcgen::generate_simple_self_signed(["twinrig".to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(drawn.signing_key.serialize_der());
        Self::new(vec![drawn.cert.der().clone()], key.into())
    }

    /// A certificate with those that vouch for it, and its key, both in PEM.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let certificates: Vec<_> =
            CertificateDer::pem_slice_iter(certificates).collect::<Result<_, _>>()?;
        Self::new(certificates, PrivateKeyDer::from_pem_slice(key)?)
    }

    fn new(
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsError> {
        let own = certificates.first().ok_or(TlsError::NoCertificate)?;
        let fingerprint = Fingerprint::of(own);
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_protocol_versions(&[&TLS13])?.with_no_client_auth();
        let mut config = builder.with_single_cert(certificates, key)?;
        // Nothing is kept of who has left.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), fingerprint })
    }
}

/// Whom a client takes for the test.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Whoever answers, without TLS.
    Plain,
    /// Who shows the certificate with this fingerprint.
    Fingerprint(Fingerprint),
    /// Who shows a certificate for this address that one of these authorities vouches for.
    Authorities(Arc<RootCertStore>),
}

impl Trust {
    /// The authorities of a file in PEM.
    pub fn authorities(pem: &[u8]) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots.add(certificate?)?;
        }
        if roots.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        Ok(Self::Authorities(Arc::new(roots)))
    }

    /// The connection, with TLS where that is wanted. `name` is the host as the client named it.
    pub(super) fn secure(
        &self,
        stream: TcpStream,
        name: &str,
        address: SocketAddr,
    ) -> Result<ClientStream, rustls::Error> {
        let builder = ClientConfig::builder_with_provider(provider());
        let builder = builder.with_protocol_versions(&[&TLS13])?;
        let config = match self {
            Self::Plain => return Ok(ClientStream::Plain(stream)),
            Self::Authorities(roots) => {
                builder.with_root_certificates(Arc::clone(roots)).with_no_client_auth()
            }
            Self::Fingerprint(fingerprint) => {
                let pinned = Arc::new(Pinned { fingerprint: *fingerprint, provider: provider() });
                builder.dangerous().with_custom_certificate_verifier(pinned).with_no_client_auth()
            }
        };
        let host = name.rsplit_once(':').map_or(name, |(host, _)| host);
        let host = host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).unwrap_or_else(|_| address.ip().into());
        let connection = ClientConnection::new(Arc::new(config), name)?;
        Ok(ClientStream::Tls(Box::new(StreamOwned::new(connection, stream))))
    }
}

/// Trusts one certificate, whoever vouches for it.
#[derive(Debug)]
struct Pinned {
    fingerprint: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if Fingerprint::of(end_entity) == self.fingerprint {
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // It is not offered.
        Err(rustls::PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The client's end of a connection.
pub enum ClientStream {
    /// Without TLS.
    Plain(TcpStream),
    /// With it.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl ClientStream {
    pub(super) fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        }
    }
}

impl Read for ClientStream {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(piece),
            Self::Tls(stream) => stream.read(piece),
        }
    }
}

impl Write for ClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// The test's end of a connection, which never waits.
pub(super) struct ServerStream {
    pub(super) tcp: TcpStream,
    tls: Option<Box<ServerConnection>>,
    /// Bytes that came and are not taken yet.
    readable: usize,
    /// Bytes that were taken to be sent, and are not with the system yet.
    owed: usize,
}

impl ServerStream {
    /// With TLS where the test has an identity.
    pub(super) fn new(tcp: TcpStream, identity: Option<&Identity>) -> Result<Self, rustls::Error> {
        let tls = identity.map(|own| ServerConnection::new(Arc::clone(&own.config)));
        let tls = tls.transpose()?.map(Box::new);
        Ok(Self { tcp, tls, readable: 0, owed: 0 })
    }

    /// Whether bytes can be taken though the socket has none.
    pub(super) fn has_readable(&self) -> bool {
        self.readable > 0
    }

    /// Whether it has something of its own to say.
    pub(super) fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Hands what is encrypted to the system.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        while tls.wants_write() {
            if tls.write_tls(&mut self.tcp)? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    pub(super) fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.tcp.read(piece) };
        for _ in 0..TURNS {
            match tls.reader().read(piece) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => {
                    self.readable = self.readable.saturating_sub(*done.as_ref().unwrap_or(&0));
                    return done;
                }
            }
            if tls.read_tls(&mut self.tcp)? == 0 {
                return Ok(0);
            }
            let processed = tls.process_new_packets();
            // The rest of the handshake, or why there is none. What is not taken now goes later.
            while tls.wants_write() && tls.write_tls(&mut self.tcp).is_ok_and(|sent| sent > 0) {}
            let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
            self.readable = processed.map_err(invalid)?.plaintext_bytes_to_read();
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// How many of the first bytes are with the system. Those that were taken and are not are
    /// asked for again, by the same bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.tcp.write(bytes) };
        if self.owed == 0 {
            self.owed = tls.writer().write(&bytes[..bytes.len().min(PIECE)])?;
        }
        self.send()?;
        Ok(std::mem::take(&mut self.owed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_shown() {
        let own = Identity::drawn().unwrap().fingerprint;
        assert_eq!(own.to_string().parse(), Ok(own));
        let pairs: Vec<String> = own
            .to_string()
            .as_bytes()
            .chunks(2)
            .map(|two| format!("{}", two.escape_ascii()))
            .collect();
        assert_eq!(pairs.join(":").to_uppercase().parse(), Ok(own));
        assert_ne!(Identity::drawn().unwrap().fingerprint, own, "nobody can foresee it");
        for bad in ["", "ab", &"g".repeat(64), &"a".repeat(66), &"ä".repeat(64)] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(BadFingerprint), "{bad}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        assert!(Trust::authorities(b"").is_err());
        let nonsense = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(Trust::authorities(nonsense).is_err());
        assert!(Identity::from_pem(b"", b"").is_err());
        assert!(Identity::from_pem(nonsense, nonsense).is_err());
    }
}
