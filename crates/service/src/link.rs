//! The link of a service, for whoever may test: `bitcost://host:port/#KEYHASH.TOKEN`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bitcost_model::Invalid;
use sha2::{Digest, Sha256};

use crate::address::{HostPort, PORT};

pub const SCHEME: &str = "bitcost://";

/// The environment variable by which a process of this program is given a link.
pub const LINK_VARIABLE: &str = "BITCOST_LINK";

/// Where a service is, which key it has, and the secret that its clients show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub at: HostPort,
    pub service: Fingerprint,
    pub token: LinkToken,
}

/// By which a service is known: SHA-256 of its SubjectPublicKeyInfo (RFC 7250, section 3), 43 letters
/// in base64url.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub fn of(public_key: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(public_key).into())
    }
}

/// Exactly `N` bytes in base64url without padding (RFC 4648, section 5).
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    // More letters than the bytes need are not decoded at all.
    if text.len() > N * 2 {
        return None;
    }
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// The secret of a link: 16 random bytes, 22 letters in base64url.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LinkToken(pub(crate) [u8; 16]);

impl LinkToken {
    pub fn parse(text: &str) -> Option<LinkToken> {
        bytes(text).map(LinkToken)
    }

    pub fn letters(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}

impl fmt::Debug for LinkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkToken(…)")
    }
}

impl Link {
    /// Reads a link; a host without a port has [`PORT`].
    pub fn parse(text: &str) -> Result<Link, Invalid> {
        let wrong = |why: &str| Invalid(why.to_owned());
        let rest = text
            .strip_prefix(SCHEME)
            .ok_or_else(|| Invalid(format!("a link begins with {SCHEME}")))?;
        let (at, secrets) = rest.split_once("/#").ok_or_else(|| wrong(
            "the link has no `/#`: it is bitcost://host:port/#KEYHASH.TOKEN, in quotation marks where the shell takes # for a comment",
        ))?;
        let at = HostPort::parse(at, PORT)?;
        let (service, token) = secrets.split_once('.').ok_or_else(|| {
            wrong("after `/#` a link has the service's key and a token with a point between them")
        })?;
        let service = bytes(service).map(Fingerprint).ok_or_else(|| {
            wrong("the link's key has 43 letters, digits, - and _; was the link cut?")
        })?;
        let token = LinkToken::parse(token).ok_or_else(|| {
            wrong("the link's token has 22 letters, digits, - and _; was the link cut?")
        })?;
        Ok(Link { at, service, token })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Link { at, service, token } = self;
        let service = URL_SAFE_NO_PAD.encode(service.0);
        write!(f, "{SCHEME}{at}/#{service}.{}", token.letters())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_reads_back_and_a_cut_one_says_so() {
        let link = Link {
            at: HostPort::parse("web.example:7000", PORT).expect("a host"),
            service: Fingerprint::of(b"key"),
            token: LinkToken([7; 16]),
        };
        let text = link.to_string();
        assert_eq!(Link::parse(&text), Ok(link));
        for length in 0..text.len() {
            let error = Link::parse(&text[..length]).expect_err("cut");
            assert!(!error.0.is_empty());
        }
        assert!(Link::parse(&format!("{text}A")).is_err());
        let other = text.replace(":7000", "");
        assert_eq!(Link::parse(&other).expect("a link").at.port, PORT);
    }
}
