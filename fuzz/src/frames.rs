//! Frames of the control protocol: any bytes of a control connection are read as messages or
//! refused, however they are split. A message can be written and read back, and a run that it asks
//! for is checked without a panic.

use bitcost_model::protocol::{Decoder, FromAgent, ToAgent, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Every message up to the first error, with the bytes cut into pieces of this length.
fn read<T: DeserializeOwned + Serialize>(bytes: &[u8], piece: usize) -> Vec<T> {
    let (mut decoder, mut found) = (Decoder::default(), Vec::new());
    for part in bytes.chunks(piece) {
        decoder.push(part);
        loop {
            match decoder.take::<T>() {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(_) => return found,
            }
        }
    }
    found
}

/// Writes the messages that were read, and reads them back.
fn check<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Vec<T> {
    let (whole, cut) = (read::<T>(bytes, usize::MAX), read::<T>(bytes, 7));
    assert_eq!(whole.len(), cut.len());
    for message in &whole {
        let frame = encode(message).expect("is written");
        assert_eq!(
            read::<T>(&[HELLO_FRAME, &frame].concat(), usize::MAX).len(),
            2
        );
    }
    whole
}

/// A short first frame that is a message both ways; a first frame that is long is no greeting.
const HELLO_FRAME: &[u8] =
    b"\x00\x00\x00\x48{\"to_agent\":\"renew\",\"from_agent\":\"stopped\",\"pad\":\"                    \"}";

/// Any bytes of a control connection, at either side.
pub fn frames(bytes: &[u8]) {
    check::<FromAgent>(bytes);
    for message in check::<ToAgent>(bytes) {
        if let ToAgent::Prepare(prepare) = message {
            for part in &prepare.parts {
                if part.conditions.check_bounds().is_ok() {
                    let _ = part.conditions.check(1500);
                }
            }
        }
    }
}
