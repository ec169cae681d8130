//! Netlink messages as bytes: building requests, walking answers.

use std::io;
use std::net::IpAddr;

/// Length of `struct nlmsghdr`, in bytes.
pub(crate) const HEADER_BYTES: usize = 16;
const NESTED: u16 = 0x8000;
const TYPE_MASK: u16 = 0x3fff;

#[derive(Debug, Clone)]
pub(crate) struct Message {
    bytes: Vec<u8>,
    /// Whether an attribute was longer than its length field can express.
    is_too_long: bool,
}

impl Message {
    /// Starts a message of type `kind`, with the family's fixed header `fixed`.
    pub(crate) fn new(kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        let mut message = Self {
            bytes,
            is_too_long: false,
        };
        message.align();
        message
    }

    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.push(kind, value);
        self
    }

    pub(crate) fn attribute_u32(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute that is a text, ended by a zero byte.
    pub(crate) fn attribute_text(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// The bytes of the attributes alone, for a message without header.
    pub(crate) fn into_body(self) -> Vec<u8> {
        self.bytes[HEADER_BYTES..].to_vec()
    }

    /// Adds bytes that are not an attribute: the header at the start of some nested attributes.
    pub(crate) fn raw(mut self, value: &[u8]) -> Self {
        self.bytes.extend_from_slice(value);
        self.align();
        self
    }

    pub(crate) fn nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.push(kind | NESTED, &[]);
        let mut message = fill(self);
        let length = message.length(message.bytes.len() - start);
        message.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        message
    }

    /// The bytes to send, with this sequence number and these flags added.
    ///
    /// # Errors
    /// When a value is too long for an attribute, which has at most 65 531 bytes.
    pub(crate) fn finish(mut self, sequence: u32, more_flags: u16) -> io::Result<Vec<u8>> {
        let length = u32::try_from(self.bytes.len())
            .ok()
            .filter(|_| !self.is_too_long);
        let length = length.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "a value is over 64 KiB long")
        })?;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        let flags = u16_at(&self.bytes, 6).unwrap_or(0) | more_flags;
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        Ok(self.bytes)
    }

    fn push(&mut self, kind: u16, value: &[u8]) {
        let length = self.length(value.len() + 4);
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(aligned(self.bytes.len()), 0);
    }

    /// An attribute's length field; a value that does not fit makes the whole message invalid.
    fn length(&mut self, length: usize) -> u16 {
        u16::try_from(length).unwrap_or_else(|_| {
            self.is_too_long = true;
            u16::MAX
        })
    }
}

/// Netlink's alignment: the next multiple of four.
pub(crate) fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    pub(crate) payload: Vec<u8>,
}

/// Splits a received buffer into its messages; truncated ones are left out.
pub(crate) fn replies(mut buffer: &[u8]) -> Vec<Reply> {
    let mut found = Vec::new();
    while let (Some(length), Some(kind), Some(flags), Some(sequence)) = (
        u32_at(buffer, 0),
        u16_at(buffer, 4),
        u16_at(buffer, 6),
        u32_at(buffer, 8),
    ) {
        let length = length as usize;
        let Some(payload) = buffer.get(HEADER_BYTES..length) else {
            break;
        };
        found.push(Reply {
            kind,
            flags,
            sequence,
            payload: payload.to_vec(),
        });
        buffer = buffer.get(aligned(length)..).unwrap_or(&[]);
    }
    found
}

/// The attributes in `bytes`, as (type without flags, value); truncated ones are left out.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes)
        .find(|(found, _)| *found == kind)
        .map(|(_, value)| value)
}

/// The text of an attribute, without its closing zero byte.
pub(crate) fn text(value: &[u8]) -> String {
    let end = value
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

pub(crate) const AF_INET: u8 = 2;
pub(crate) const AF_INET6: u8 = 10;

/// The family of an address, and its bytes.
pub(crate) fn bytes_of(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (AF_INET6, v6.octets().to_vec()),
    }
}

/// The address with these bytes, of which there are 4 or 16.
pub(crate) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from).ok();
    v4.or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())
}

/// The number of an attribute.
pub(crate) fn number(bytes: &[u8], kind: u16) -> Option<u32> {
    u32_at(attribute(bytes, kind)?, 0)
}

fn bytes_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// The number at `offset`, in the host's byte order.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes_at(bytes, offset).map(u16::from_ne_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes_at(bytes, offset).map(u32::from_ne_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes_at(bytes, offset).map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_long_value_is_an_error() {
        let message = |length: usize| {
            Message::new(16, 1, &[]).nested(2, |m| m.attribute(3, &vec![0; length]))
        };
        assert!(message(65_524).finish(1, 0).is_ok());
        for length in [65_528, 65_532, 1 << 20] {
            let error = message(length).finish(1, 0).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{length}");
        }
    }

    #[test]
    fn truncated_or_absurd_answers_end_the_iteration() {
        assert!(replies(&[1, 2, 3]).is_empty());
        let mut bytes = Message::new(16, 0, &[])
            .attribute_u32(1, 5)
            .finish(1, 0)
            .unwrap();
        bytes[0] = 0;
        assert!(replies(&bytes).is_empty());
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0);
        assert_eq!(attributes(&[255, 0, 1, 0, 9]).count(), 0);
    }
}
