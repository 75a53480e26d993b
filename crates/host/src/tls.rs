//! The certificate: the operator's own, or one that the host signs itself and shows the
//! fingerprint of.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::HostError;
use crate::private::write_private;

/// What browsers are shown.
pub(crate) struct Shown {
    pub(crate) acceptor: TlsAcceptor,
    /// SHA-256 of the certificate, as browsers show it.
    pub(crate) fingerprint: String,
}

/// Reads certificate and key.
pub(crate) fn own(certificate: &Path, key: &Path) -> Result<Shown, HostError> {
    let failed = |error: &dyn std::fmt::Display| HostError::Certificate(error.to_string());
    let chain = CertificateDer::pem_file_iter(certificate).map_err(|error| failed(&error))?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(&error))?;
    let Some(first) = chain.first() else { return Err(failed(&"the file has none")) };
    let digest = Sha256::digest(first.as_ref());
    let fingerprint: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| failed(&error))?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Ok(Shown { acceptor, fingerprint: fingerprint.join(":") })
}

/// One that is signed by itself, made once and kept in the host's folder.
pub(crate) fn self_signed(
    folder: &Path,
    names: &[String],
    address: IpAddr,
) -> Result<Shown, HostError> {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    if !(certificate.exists() && key.exists()) {
        let failed = |error: rcgen::Error| HostError::Certificate(error.to_string());
        let known = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter();
        let mut of: Vec<String> = known.chain(names.iter().cloned()).collect();
        if !address.is_unspecified() {
            of.push(address.to_string());
        }
        let pair = KeyPair::generate().map_err(failed)?;
        let made = CertificateParams::new(of).and_then(|of| of.self_signed(&pair));
        let made = made.map_err(failed)?;
        write_private(&key, pair.serialize_pem().as_bytes())?;
        fs::write(&certificate, made.pem())?;
    }
    own(&certificate, &key)
}
