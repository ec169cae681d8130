//! TLS 1.3 with raw public keys (RFC 8446, RFC 7250): both sides prove a key, there are no
//! certificates, no names and no resumed sessions.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, ClientConfig, Resumption};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage, ServerConfig};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use rustls::sign::{CertifiedKey, SigningKey};

use crate::channel::Proof;
use crate::fingerprint::Fingerprint;
use crate::own_key::OwnKey;

/// The protocol that both sides must name (RFC 7301).
const ALPN: &[u8] = b"bitcost/1";

/// Where the proof of a client's key is left by the handshake.
pub type Proved = Arc<Mutex<Option<Proof>>>;

/// How a service speaks TLS with one client. Any that proves a key is let through, and the proof left in `proved`: the service
/// looks the key up afterwards.
///
/// # Errors
/// The library's own sentence.
pub fn of_service(
    public: &[u8],
    key: Arc<dyn SigningKey>,
    proved: Proved,
) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let keys = Keys::new(&provider, None, proved);
    let chain = vec![CertificateDer::from(public.to_vec())];
    let certified = Arc::new(CertifiedKey::new(chain, key));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(keys)
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// How a client speaks TLS with the service that has this key.
///
/// # Errors
/// The library's own sentence.
pub fn of_client(own: &OwnKey, service: Fingerprint) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let keys = Keys::new(&provider, Some(service), Proved::default());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(keys)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
            own.certified.clone(),
        )));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(Arc::new(config))
}

/// The name that the library asks for; nothing sends or compares it.
pub fn no_name() -> ServerName<'static> {
    ServerName::IpAddress(std::net::IpAddr::from([0, 0, 0, 0]).into())
}

/// Verifies that a peer has the private half of its key, and which key that is.
#[derive(Debug)]
struct Keys {
    algorithms: WebPkiSupportedAlgorithms,
    pinned: Option<Fingerprint>,
    proved: Proved,
}

impl Keys {
    fn new(provider: &CryptoProvider, pinned: Option<Fingerprint>, proved: Proved) -> Arc<Keys> {
        Arc::new(Keys {
            algorithms: provider.signature_verification_algorithms,
            pinned,
            proved,
        })
    }

    fn check(&self, key: &CertificateDer<'_>) -> Result<(), Error> {
        match self.pinned {
            Some(pinned) if pinned != Fingerprint::of(key) => Err(Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            )),
            _ => Ok(()),
        }
    }

    fn proved(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let public = SubjectPublicKeyInfoDer::from(key.as_ref());
        let valid =
            verify_tls13_signature_with_raw_key(message, &public, signature, &self.algorithms)?;
        let mut proved = self.proved.lock().unwrap_or_else(PoisonError::into_inner);
        *proved = Some(Proof {
            key: key.to_vec(),
            message: message.to_vec(),
            signature: signature.signature().to_vec(),
        });
        Ok(valid)
    }
}

/// The methods that the verifiers of both sides share: which signatures are accepted.
macro_rules! signatures {
    () => {
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
            self.proved(message, key, signature)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Keys {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(key).map(|()| ServerCertVerified::assertion())
    }

    signatures!();
}

impl ClientCertVerifier for Keys {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(key).map(|()| ClientCertVerified::assertion())
    }

    signatures!();
}
