//! The boundaries between messages on a connection to a service: a length of four bytes, big-endian,
//! and as many bytes of JSON, as in the control protocol, with a limit that depends on what the peer
//! has proved.

use bitcost_model::protocol::encode;
use serde::Serialize;

use crate::message::Refused;

/// The longest message of a client that has not yet proved who it is, in bytes.
pub const OPENING_BYTES_MAX: usize = 4 << 10;

/// Collects bytes until they form messages. It holds at most one message and what was pushed after
/// it: take until there is none before the next bytes are pushed.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    most: usize,
}

impl Frames {
    pub fn new(most: usize) -> Frames {
        Frames {
            bytes: Vec::new(),
            most,
        }
    }

    pub fn allow(&mut self, most: usize) {
        self.most = most;
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The text of the next whole message, if there is one.
    ///
    /// # Errors
    /// When it states a length over the limit; nothing can be read after that.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, Refused> {
        let Some(head) = self.bytes.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head) as usize;
        if length > self.most {
            let most = self.most;
            return Err(Refused(format!(
                "a message of {length} bytes; at most {most} are allowed here"
            )));
        }
        let Some(text) = self.bytes.get(4..4 + length) else {
            return Ok(None);
        };
        let text = text.to_vec();
        self.bytes.drain(..4 + length);
        Ok(Some(text))
    }

    /// The bytes of no whole message.
    pub fn rest(self) -> Vec<u8> {
        self.bytes
    }
}

pub fn frame(message: &impl Serialize) -> Vec<u8> {
    // The messages of this crate and of the control protocol are short, with no map whose keys are
    // no texts.
    encode(message).unwrap_or_default()
}

/// Follows the messages in a stream of bytes that is passed on, without keeping them, to know where
/// another message can be put between two of them.
#[derive(Debug, Default)]
pub struct Boundary {
    head: Vec<u8>,
    left: usize,
}

impl Boundary {
    pub fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let taken = self.left.min(bytes.len());
                self.left -= taken;
                bytes = &bytes[taken..];
                continue;
            }
            self.head.push(bytes[0]);
            bytes = &bytes[1..];
            if let Some(head) = self.head.first_chunk::<4>() {
                self.left = u32::from_be_bytes(*head) as usize;
                self.head.clear();
            }
        }
    }

    pub fn is_here(&self) -> bool {
        self.left == 0 && self.head.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_out_and_long_ones_refused_by_their_head() {
        let bytes = [frame(&"a"), frame(&vec![1, 2, 3])].concat();
        let (mut frames, mut boundary, mut found) =
            (Frames::new(64), Boundary::default(), Vec::new());
        for byte in &bytes {
            frames.push(&[*byte]);
            boundary.pass(&[*byte]);
            let taken = frames.take().expect("short");
            assert_eq!(boundary.is_here(), taken.is_some());
            found.extend(taken);
        }
        assert_eq!(found, [b"\"a\"".to_vec(), b"[1,2,3]".to_vec()]);
        frames.push(&65u32.to_be_bytes());
        assert!(frames.take().is_err());
    }
}
