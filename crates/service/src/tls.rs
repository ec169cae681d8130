//! TLS 1.3 with a raw public key of the service (RFC 8446, RFC 7250): there are no certificates, no names and no resumed sessions.
//! A client proves nothing here: it shows the secret of the link afterwards, to a service that has proved its key.

use std::sync::Arc;

use bitcost_model::protocol::PROTOCOL;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, Resumption};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage, ServerConfig};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use crate::link::Fingerprint;

/// The protocol that both sides must name (RFC 7301), with the version of the control protocol.
fn alpn() -> Vec<u8> {
    format!("bitcost/{PROTOCOL}").into_bytes()
}

/// How a service with this public key speaks TLS.
pub fn of_service(public: &[u8], key: Arc<dyn SigningKey>) -> Result<Arc<ServerConfig>, Error> {
    let chain = vec![CertificateDer::from(public.to_vec())];
    let certified = Arc::new(CertifiedKey::new(chain, key));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
    config.alpn_protocols = vec![alpn()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// How a client speaks TLS with the service that has this key.
pub fn of_client(service: Fingerprint) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let pinned = Arc::new(Pinned {
        algorithms: provider.signature_verification_algorithms,
        service,
    });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(pinned)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(Arc::new(config))
}

/// The name that the library asks for; nothing sends or compares it.
pub fn no_name() -> ServerName<'static> {
    ServerName::IpAddress(std::net::IpAddr::from([0, 0, 0, 0]).into())
}

/// Verifies that the service has this key, and its private half.
#[derive(Debug)]
struct Pinned {
    algorithms: WebPkiSupportedAlgorithms,
    service: Fingerprint,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.service == Fingerprint::of(key) {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            )),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not supported".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let public = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &public, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
