//! What client and service say to each other before the control protocol begins. Each message is a length of four bytes,
//! big-endian, and as many bytes of JSON, as in the control protocol, with a limit that depends on what the peer has proved.

use std::io::{self, ErrorKind, Read};

use bitcost_model::harmless;
use bitcost_model::protocol::{PROTOCOL, encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::link::LinkToken;

/// The longest message of a client that has not yet proved who it is, in bytes.
pub const OPENING_BYTES_MAX: usize = 4 << 10;

const VERSION_LETTERS_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

pub fn frame(message: &impl Serialize) -> Vec<u8> {
    // The messages of this crate and of the control protocol are short, with no map whose keys are
    // no texts.
    encode(message).unwrap_or_default()
}

/// The text of the next message.
///
/// # Errors
/// A [`Refused`] where it states a length over the limit; nothing can be read after that.
pub fn read_frame(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes(head) as usize;
    if length > most {
        let why = format!("a message of {length} bytes; at most {most} are allowed here");
        return Err(io::Error::new(ErrorKind::InvalidData, Refused(why)));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    Ok(text)
}

/// Why a message was not taken, if that is why it was not read.
pub fn refused(error: &io::Error) -> Option<&Refused> {
    error.get_ref()?.downcast_ref()
}

/// The first message of a client. Fields that this version does not know are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub version: String,
    /// A text in this version; what another says here does not keep its version from being read.
    token: Value,
}

impl Hello {
    pub fn new(token: LinkToken) -> Hello {
        Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: token.letters().into(),
        }
    }

    pub fn token(&self) -> Option<LinkToken> {
        LinkToken::parse(self.token.as_str()?)
    }

    /// Reads a client's first message.
    pub fn read(text: &[u8]) -> Result<Hello, Refused> {
        let hello: Hello = serde_json::from_slice(text).map_err(|error| {
            let why = clean_line(&error.to_string());
            Refused(format!(
                "the first message is not that of a bitcost client: {why}"
            ))
        })?;
        if hello.protocol != PROTOCOL {
            return Err(Refused(format!(
                "the client is {}, this service is {}; use the same bitcost on both hosts",
                of_version(&hello.version, hello.protocol),
                of_version(env!("CARGO_PKG_VERSION"), PROTOCOL)
            )));
        }
        Ok(hello)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The client has the host: the control protocol follows.
    Welcome,
    /// Another test takes place; repeated while the client waits.
    Waiting,
    Refused(Refused),
}

impl Answer {
    /// Reads an answer that is not a refusal.
    pub fn read(text: &[u8]) -> Result<Answer, Refused> {
        match serde_json::from_slice(text) {
            Ok(Answer::Refused(Refused(why))) => Err(Refused(harmless(&why))),
            Ok(answer) => Ok(answer),
            Err(error) => Err(Refused(format!(
                "its answer is not one of this version of bitcost ({error}); use the same bitcost on both hosts"
            ))),
        }
    }
}

fn of_version(version: &str, protocol: u32) -> String {
    let version: String = clean_line(version)
        .chars()
        .take(VERSION_LETTERS_MAX)
        .collect();
    format!("bitcost {version} with version {protocol} of the control protocol")
}

/// A sentence with what others said, as it is shown: one line.
pub fn clean_line(text: &str) -> String {
    harmless(text).replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_out_and_long_ones_refused_by_their_head() {
        let bytes = [frame(&"a"), frame(&vec![1, 2, 3]), vec![0, 0, 0, 65]].concat();
        let mut left = &bytes[..];
        let mut next = || read_frame(&mut left, 64);
        assert_eq!(next().expect("short"), b"\"a\"");
        assert_eq!(next().expect("short"), b"[1,2,3]");
        let long = next().expect_err("long");
        assert!(refused(&long).is_some_and(|why| why.0.contains("65 bytes")));
        let cut = next().expect_err("at its end");
        assert!(refused(&cut).is_none());
    }

    #[test]
    fn another_version_is_refused_with_both_whatever_else_it_says() {
        let own = env!("CARGO_PKG_VERSION");
        let token = LinkToken([7; 16]);
        let read = |protocol: u32, token: &str| {
            let text = format!(
                r#"{{"later":[1],"protocol":{protocol},"version":"9.9.9\u001b[31m","token":{token}}}"#
            );
            Hello::read(text.as_bytes())
        };
        let letters = format!("{:?}", token.letters());
        let hello = read(PROTOCOL, &letters).expect("known");
        assert!(hello.token() == Some(token));
        for token in [letters.as_str(), r#"{"later":{"a":1}}"#] {
            let Refused(why) = read(PROTOCOL + 1, token).expect_err("another protocol");
            assert!(why.contains("bitcost 9.9.9") && why.contains(own), "{why}");
            assert!(!why.contains(char::is_control), "{why}");
        }
        assert!(read(PROTOCOL, "1").expect("known").token().is_none());
        assert!(Answer::read(br#"{"later":{}}"#).is_err());
    }
}
