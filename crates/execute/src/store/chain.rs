//! The checksum at the end of each line of a log: it covers the line and, through the checksum
//! before it, all lines before.
//!
//! It protects against accidents and casual edits: anybody can compute it again.

use sha2::{Digest, Sha256};

const BEFORE: &[u8] = b",\"checksum\":\"";

const AFTER: &[u8] = b"\"}\n";

/// Number of hexadecimal digits: the first 8 bytes of a SHA-256.
const DIGITS: usize = 16;

/// The checksum of the last line of a log; empty before the first line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain(Vec<u8>);

impl Chain {
    /// The checksum of the next line: of this one's digits and of the line without its own
    /// checksum, that is up to the comma before `"checksum"`.
    fn next(&self, body: &[u8]) -> Chain {
        let digest = Sha256::new()
            .chain_update(&self.0)
            .chain_update(body)
            .finalize();
        Chain(hexadecimal(&digest[..DIGITS / 2]).into_bytes())
    }

    /// Completes a line with its checksum and its line break. The line is a JSON object without
    /// both.
    pub fn seal(&mut self, line: &mut Vec<u8>) {
        line.pop();
        *self = self.next(line);
        line.extend([BEFORE, &self.0, AFTER].concat());
    }

    /// Advances to a line; false if the line's checksum is not that of the line after this one.
    pub(crate) fn advance(&mut self, (body, digits): (&[u8], &[u8])) -> bool {
        let expected = self.next(body);
        *self = Chain(digits.to_owned());
        expected == *self
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A line without its checksum, and the checksum's digits; absent if the line has none.
pub(crate) fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(AFTER)?;
    let (body, digits) = line.split_at(line.len().checked_sub(DIGITS)?);
    Some((body.strip_suffix(BEFORE)?, digits))
}

/// The lines of a log with their checksums computed again, for tests, which edit logs on purpose.
/// Every line is a JSON object.
pub fn seal_again(text: &str) -> String {
    let mut chain = Chain::default();
    let mut sealed = Vec::new();
    for line in text.lines() {
        let whole = format!("{line}\n");
        let body = split(whole.as_bytes()).map_or(
            line.strip_suffix('}').unwrap_or(line).as_bytes(),
            |(body, _)| body,
        );
        let mut line = [body, b"}"].concat();
        chain.seal(&mut line);
        sealed.extend(line);
    }
    String::from_utf8_lossy(&sealed).into_owned()
}
