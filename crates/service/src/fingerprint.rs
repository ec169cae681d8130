//! The fingerprint of a public key: by it a service is known.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bitcost_model::Invalid;
use sha2::{Digest, Sha256};

/// SHA-256 of a SubjectPublicKeyInfo (RFC 7250, section 3), written in base64url without padding
/// (RFC 4648, section 5): 43 letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a key in its DER form.
    pub fn of(public_key: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(public_key).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Fingerprint, Invalid> {
        bytes(text)
            .map(Fingerprint)
            .ok_or_else(|| Invalid("a fingerprint has 43 letters, digits, - and _".to_owned()))
    }
}

/// Exactly `N` bytes in base64url.
pub(crate) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    // More letters than the bytes need are not decoded at all.
    if text.len() > N * 2 {
        return None;
    }
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// Bytes as base64url.
pub(crate) fn letters(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
