//! Frames: the boundaries between messages. An agent's record is compressed (zlib, RFC 1950): it is the longest message, and is
//! sent over paths that may be slow.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest frame that is accepted, in bytes, except for an agent's record.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// The longest agent's record ([`crate::protocol::FromAgent::Done`]), in bytes, compressed or not: an
/// hour of samples of a large host.
pub const RECORD_BYTES_MAX: usize = 32 << 20;

/// The start of the text of a record.
const RECORD: &[u8] = br#"{"from_agent":"done","#;

/// The first byte of a frame that is compressed, with which no text starts.
const COMPRESSED: u8 = 0x78;

/// The longest first frame that is accepted, in bytes: a greeting is short, and a longer frame
/// comes from another program.
const GREETING_BYTES_MAX: usize = 64 << 10;

/// The number of foreign bytes that an error shows.
const SHOWN_BYTES: usize = 60;

/// The reason why bytes are not a message. The stream cannot be used any further.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Longer than [`FRAME_BYTES_MAX`], a record that is longer than [`RECORD_BYTES_MAX`], or compressed and no record.
    #[error(
        "a frame of {0} bytes; at most {FRAME_BYTES_MAX} are allowed, and {RECORD_BYTES_MAX} for the record of a run"
    )]
    TooLong(usize),
    /// The first bytes are not a greeting.
    #[error(
        "the other side does not speak bitcost's control protocol, it begins with {0:?} (a login message, perhaps: change the shell's start-up files there so that they print nothing without a terminal)"
    )]
    Foreign(String),
    /// Not a message of this version.
    #[error("not a control message of this version of bitcost: {0}")]
    NotAMessage(#[from] serde_json::Error),
}

/// A message as a frame.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let is_record = frame[4..].starts_with(RECORD);
    let most = if is_record {
        RECORD_BYTES_MAX
    } else {
        FRAME_BYTES_MAX
    };
    if frame.len() - 4 > most {
        return Err(FrameError::TooLong(frame.len() - 4));
    }
    if is_record {
        frame = compressed(&frame[4..]).map_err(serde_json::Error::io)?;
    }
    let length = frame.len() - 4;
    frame[..4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(frame)
}

/// A compressed text, after room for its length.
fn compressed(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut into = ZlibEncoder::new(vec![0; 4], Compression::fast());
    into.write_all(text)?;
    into.finish()
}

/// The text of a record that was compressed.
fn expanded(bytes: &[u8]) -> Result<Vec<u8>, FrameError> {
    let most = RECORD_BYTES_MAX as u64 + 1;
    let mut text = Vec::new();
    let read = ZlibDecoder::new(bytes).take(most).read_to_end(&mut text);
    read.map_err(serde_json::Error::io)?;
    if text.len() > RECORD_BYTES_MAX || !text.starts_with(RECORD) {
        return Err(FrameError::TooLong(text.len()));
    }
    Ok(text)
}

/// Collects bytes until they form messages.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Whether a whole message has been received.
    is_greeted: bool,
    /// Whether no message may be a record.
    is_of_agent: bool,
}

impl Decoder {
    /// Of what an agent receives, which is never compressed.
    pub fn of_agent() -> Decoder {
        Decoder {
            is_of_agent: true,
            ..Decoder::default()
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let Some(head) = self.bytes.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head) as usize;
        if !self.is_greeted && length > GREETING_BYTES_MAX {
            let shown = &self.bytes[..self.bytes.len().min(SHOWN_BYTES)];
            return Err(FrameError::Foreign(
                String::from_utf8_lossy(shown).into_owned(),
            ));
        }
        // Whether it is compressed is known only after its first byte has arrived.
        let is_compressed = match self.is_of_agent {
            true => Some(false),
            false => self.bytes.get(4).map(|first| *first == COMPRESSED),
        };
        let most = match is_compressed {
            Some(false) => FRAME_BYTES_MAX,
            _ => RECORD_BYTES_MAX,
        };
        if length > most {
            return Err(FrameError::TooLong(length));
        }
        let Some(text) = self.bytes.get(4..4 + length) else {
            return Ok(None);
        };
        let message = match is_compressed {
            Some(true) => serde_json::from_slice(&expanded(text)?)?,
            _ => serde_json::from_slice(text)?,
        };
        self.is_greeted = true;
        self.bytes.drain(..4 + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in_however_the_bytes_are_cut(
            messages in proptest::collection::vec(proptest::collection::vec("[a-zé\"]{0,9}", 0..4), 0..6),
            cut in 1usize..50,
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(|m| encode(m).expect("encodes")).collect();
            let mut decoder = Decoder::default();
            let mut out: Vec<Vec<String>> = Vec::new();
            for piece in bytes.chunks(cut) {
                decoder.push(piece);
                while let Some(message) = decoder.take().expect("decodes") {
                    out.push(message);
                }
            }
            prop_assert_eq!(out, messages);
        }
    }

    #[test]
    fn only_a_record_may_be_long() {
        let greeted = || {
            let mut decoder = Decoder::default();
            decoder.push(&encode(&vec!["hello"]).expect("encodes"));
            assert_eq!(
                decoder.take::<Vec<String>>().expect("decodes"),
                Some(vec!["hello".to_owned()])
            );
            decoder
        };
        let head = |length: usize| (length as u32).to_be_bytes();
        let long = "a".repeat(FRAME_BYTES_MAX);
        assert!(matches!(encode(&vec![&long]), Err(FrameError::TooLong(_))));
        let mut decoder = greeted();
        decoder.push(&head(FRAME_BYTES_MAX + 1));
        decoder.push(br#"{"from_agent":"stopped"}"#);
        assert!(matches!(
            decoder.take::<serde_json::Value>(),
            Err(FrameError::TooLong(_))
        ));
        let record = serde_json::json!({ "from_agent": "done", "long": long });
        let mut decoder = greeted();
        decoder.push(&encode(&record).expect("encodes"));
        assert_eq!(
            decoder.take::<serde_json::Value>().expect("decodes"),
            Some(record)
        );
        let bomb = [RECORD, &vec![b' '; RECORD_BYTES_MAX]].concat();
        for expands in [&bomb[..], br#"{"from_agent":"stopped"}"#] {
            let mut frame = compressed(expands).expect("compresses");
            let length = frame.len() - 4;
            frame[..4].copy_from_slice(&head(length));
            let mut decoder = greeted();
            decoder.push(&frame);
            let refused = decoder.take::<serde_json::Value>();
            assert!(matches!(refused, Err(FrameError::TooLong(_))), "{length}");
        }
        let mut decoder = greeted();
        decoder.push(&head(RECORD_BYTES_MAX + 1));
        assert!(matches!(
            decoder.take::<serde_json::Value>(),
            Err(FrameError::TooLong(_))
        ));
    }

    #[test]
    fn a_login_message_is_named_as_foreign() {
        for message in ["Welcome to Ubuntu 24.04", "\n\nLast login: today"] {
            let mut decoder = Decoder::default();
            decoder.push(message.as_bytes());
            let error = decoder
                .take::<Vec<String>>()
                .expect_err("foreign")
                .to_string();
            assert!(
                error.contains("does not speak") && error.contains(&format!("{message:?}")),
                "{error}"
            );
        }
    }
}
