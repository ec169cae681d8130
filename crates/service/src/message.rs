//! What client and service say to each other before the control protocol begins: the client its link's secret, and the service
//! [`Answer`]s. Each message is a length of four bytes, big-endian, and as many bytes of JSON, as in the control protocol, with a
//! limit that depends on what the peer has proved.

use std::io::{self, ErrorKind, Read};

use bitcost_model::harmless;
use bitcost_model::protocol::encode;
use serde::{Deserialize, Serialize};

/// The longest message of a client that has not yet proved who it is, in bytes.
pub const OPENING_BYTES_MAX: usize = 64;

pub fn frame(message: &impl Serialize) -> Vec<u8> {
    // The messages of this crate and of the control protocol are short, with no map whose keys are
    // no texts.
    encode(message).unwrap_or_default()
}

/// The text of the next message. Nothing can be read after one that states a length over the limit.
pub fn read_frame(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes(head) as usize;
    if length > most {
        let why = format!("a message of {length} bytes; at most {most} are allowed here");
        return Err(io::Error::new(ErrorKind::InvalidData, why));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    Ok(text)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The client has the host: the control protocol follows.
    Welcome,
    /// Another test takes place; repeated while the client waits.
    Waiting,
    /// Why.
    Refused(String),
}

impl Answer {
    /// Reads an answer that is not a refusal.
    pub fn read(text: &[u8]) -> Result<Answer, String> {
        match serde_json::from_slice(text) {
            Ok(Answer::Refused(why)) => Err(harmless(&why)),
            Ok(answer) => Ok(answer),
            Err(error) => Err(format!(
                "its answer is not one of this version of bitcost ({error}); use the same bitcost on both hosts"
            )),
        }
    }
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
        assert!(long.to_string().contains("65 bytes"), "{long}");
        let cut = next().expect_err("at its end");
        assert_eq!(cut.kind(), ErrorKind::UnexpectedEof);
    }
}
