//! The checksum that each line of a log ends with: of the line and, through the checksum before it, of all lines before.
//!
//! It is against accidents and casual edits: whoever wants to can compute it again.

use sha2::{Digest, Sha256};

/// What stands before the digits.
const BEFORE: &[u8] = b",\"checksum\":\"";

/// What stands after them.
const AFTER: &[u8] = b"\"}\n";

/// Hexadecimal digits: the first 8 bytes of a SHA-256.
const DIGITS: usize = 16;

/// The checksum of the last line of a log; empty before the first line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain(Vec<u8>);

impl Chain {
    /// The checksum of the next line: of this one's digits and the line as it is without its own checksum, that is up to the
    /// comma before `"checksum"`.
    fn next(&self, body: &[u8]) -> Chain {
        let digest = Sha256::new().chain_update(&self.0).chain_update(body).finalize();
        Chain(digest.iter().take(DIGITS / 2).flat_map(|byte| format!("{byte:02x}").into_bytes()).collect())
    }

    /// Closes a line that is a JSON object without its checksum and without a line break.
    pub fn seal(&mut self, line: &mut Vec<u8>) {
        line.pop();
        *self = self.next(line);
        line.extend([BEFORE, &self.0, AFTER].concat());
    }

    /// Goes on to a line; false where the line's checksum is not that of the line after this one.
    pub fn advance(&mut self, (body, digits): (&[u8], &[u8])) -> bool {
        let expected = self.next(body);
        *self = Chain(digits.to_owned());
        expected == *self
    }
}

/// A line without its checksum, and the checksum's digits; absent where the line has none.
pub(crate) fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (body, digits) = line.strip_suffix(AFTER)?.split_at_checked(line.len() - AFTER.len() - DIGITS)?;
    Some((body.strip_suffix(BEFORE)?, digits))
}

/// The lines of a log with their checksums computed anew, for who edits a log on purpose. Every line is a JSON object.
pub fn seal_again(text: &str) -> String {
    let mut chain = Chain::default();
    let mut sealed = Vec::new();
    for line in text.lines() {
        let whole = format!("{line}\n");
        let body = split(whole.as_bytes()).map_or(line.strip_suffix('}').unwrap_or(line).as_bytes(), |(body, _)| body);
        let mut line = [body, b"}"].concat();
        chain.seal(&mut line);
        sealed.extend(line);
    }
    String::from_utf8_lossy(&sealed).into_owned()
}
