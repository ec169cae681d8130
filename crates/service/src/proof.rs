//! The service's side of a client's proof: it signs one handshake of each connection, and verifies what the client signed in it.

use std::io::{self, ErrorKind};
use std::time::Instant;

use ring::signature::{ED25519, UnparsedPublicKey};
use rustls::SignatureScheme;

use crate::channel::{Channel, Proof, SAID_BYTES_MAX, Said, Signed};
use crate::fingerprint::Fingerprint;
use crate::frames::{Frames, frame};
use crate::message::{Hello, clean_line};
use crate::own_key::OwnKey;
use crate::rules::Refused;
use crate::stream::Stream;

/// What a handshake's signature begins with (RFC 8446, section 4.4.3): 64 spaces, whose it is, a zero.
const SPACES: [u8; 64] = [b' '; 64];

/// Who signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Server,
    Client,
}

/// The bytes of the transcript's hash: SHA-256 or SHA-384.
const HASH_BYTES: [usize; 2] = [32, 48];

/// What an Ed25519 key begins with as a `SubjectPublicKeyInfo` (RFC 8410, section 4); 32 bytes follow.
const KEY_HEAD: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// A client that proved a key, and its first message or why it is none.
#[derive(Debug)]
pub struct Opened {
    /// The key.
    pub key: Fingerprint,
    /// The message.
    pub hello: Result<Hello, Refused>,
}

/// Has a client prove its key to the process at the other end of the channel, of which nothing is believed that is not signed.
///
/// # Errors
/// When there is no client, or the process does not say what it has to; `frames` then has the rest.
pub fn open(
    own: &OwnKey,
    channel: &mut Channel,
    frames: &mut Frames,
    until: Instant,
) -> io::Result<Opened> {
    frames.allow(SAID_BYTES_MAX);
    let Said::Sign(message) = said(channel, frames, until)? else {
        return Err(wrong("no handshake reached its signature"));
    };
    let signature = sign(own, &message)?;
    channel.send(&frame(&Signed(signature)), until)?;
    let Said::Opened { proof, hello } = said(channel, frames, until)? else {
        return Err(wrong("a second signature was requested"));
    };
    Ok(Opened {
        key: proved(&proof)?,
        hello: hello.map_err(|why| why.rule.refuses(clean_line(&why.sentence))),
    })
}

fn said(channel: &mut Channel, frames: &mut Frames, until: Instant) -> io::Result<Said> {
    let text = channel.read_frame(frames, until)?;
    match serde_json::from_slice(&text) {
        Ok(Said::Failed(why)) => Err(io::Error::other(clean_line(&why))),
        Ok(said) => Ok(said),
        Err(_) => Err(wrong("its process sent an unknown message")),
    }
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// Signs a handshake of a server, and nothing else.
fn sign(own: &OwnKey, message: &[u8]) -> io::Result<Vec<u8>> {
    if !is_of_handshake(message, By::Server) {
        return Err(wrong("what was to be signed is not a handshake"));
    }
    let signer = own
        .certified
        .key
        .choose_scheme(&[SignatureScheme::ED25519])
        .ok_or_else(|| wrong("the service's key cannot sign"))?;
    signer.sign(message).map_err(io::Error::other)
}

/// The key of a proof that holds.
fn proved(proof: &Proof) -> io::Result<Fingerprint> {
    let key = proof.key.strip_prefix(&KEY_HEAD);
    let holds = key.is_some_and(|key| {
        is_of_handshake(&proof.message, By::Client)
            && UnparsedPublicKey::new(&ED25519, key)
                .verify(&proof.message, &proof.signature)
                .is_ok()
    });
    match holds {
        true => Ok(Fingerprint::of(&proof.key)),
        false => Err(wrong("the signature by its key is not valid")),
    }
}

fn is_of_handshake(message: &[u8], by: By) -> bool {
    let whose: &[u8] = match by {
        By::Server => b"TLS 1.3, server CertificateVerify\0",
        By::Client => b"TLS 1.3, client CertificateVerify\0",
    };
    let hash = message.strip_prefix(&SPACES);
    let hash = hash.and_then(|rest| rest.strip_prefix(whose));
    hash.is_some_and(|hash| HASH_BYTES.contains(&hash.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rule;
    use std::time::Duration;

    fn own_key() -> (tempfile::TempDir, OwnKey) {
        let folder = tempfile::tempdir().expect("a folder");
        let own = OwnKey::of_folder(folder.path()).expect("a key");
        (folder, own)
    }

    fn handshake(whose: &str) -> Vec<u8> {
        let context = format!("TLS 1.3, {whose} CertificateVerify\0");
        [&SPACES[..], context.as_bytes(), &[7; 32]].concat()
    }

    /// What the service makes of a process that says this.
    fn opened(own: &OwnKey, says: &[Said]) -> io::Result<Opened> {
        let (mut channel, other) = Channel::pair().expect("a channel");
        let mut other = Channel::new(other.into()).expect("a channel");
        let until = Instant::now() + Duration::from_secs(10);
        for said in says {
            other.send(&frame(said), until).expect("room");
        }
        other.close(until);
        let mut frames = Frames::new(0);
        open(own, &mut channel, &mut frames, until)
    }

    fn signed_by(own: &OwnKey, message: &[u8]) -> Said {
        let key = own.certified.key.clone();
        let signer = key
            .choose_scheme(&[SignatureScheme::ED25519])
            .expect("ready");
        let proof = Proof {
            key: own.certified.cert[0].to_vec(),
            message: message.to_vec(),
            signature: signer.sign(message).expect("signed"),
        };
        let hello = Err(Rule::Message.refuses("none\u{1b}"));
        Said::Opened { proof, hello }
    }

    #[test]
    fn a_process_that_lies_gets_no_signature_and_no_key() {
        let (_folder, own) = own_key();
        let (_other_folder, client) = own_key();
        let sign = || Said::Sign(handshake("server"));
        let as_client = handshake("client");
        let good = opened(&own, &[sign(), signed_by(&client, &as_client)]).expect("proved");
        assert_eq!(good.key, client.fingerprint);
        assert_eq!(good.hello, Err(Rule::Message.refuses("none\u{fffd}")));
        // What the service signs can be no proof, nor anything but a handshake.
        for message in [
            as_client.clone(),
            b"a text".to_vec(),
            handshake("server")[1..].to_vec(),
        ] {
            let error = opened(&own, &[Said::Sign(message)]).expect_err("not signed");
            assert!(error.to_string().contains("not a handshake"), "{error}");
        }
        let Said::Opened { proof, .. } = signed_by(&client, &as_client) else {
            unreachable!()
        };
        let mut forged = proof.clone();
        forged.key = own.certified.cert[0].to_vec();
        let mut other_text = proof.clone();
        *other_text.message.last_mut().expect("bytes") ^= 1;
        for proof in [forged, other_text] {
            let hello = Err(Rule::Message.refuses(""));
            let error = opened(&own, &[sign(), Said::Opened { proof, hello }]);
            assert!(
                error
                    .expect_err("no proof")
                    .to_string()
                    .contains("is not valid")
            );
        }
        let twice = opened(&own, &[sign(), sign()]).expect_err("one signature");
        assert!(twice.to_string().contains("a second signature"), "{twice}");
        let early = opened(&own, &[signed_by(&client, &as_client)]).expect_err("early");
        assert!(early.to_string().contains("no handshake"), "{early}");
    }
}
