//! What each connection to the server begins with: a cookie, and on a control connection the
//! parameters. Read piece by piece and never beyond, because data follow the cookie of a stream.

use crate::protocol::{COOKIE_BYTES, Cookie, code};
use crate::refusal::Refusal;

/// The most bytes of parameters; iperf3 3.21 has the same limit.
pub const MOST_PARAMS_BYTES: usize = 8 * 1024;

const LENGTH_BYTES: usize = 4;

/// The beginning of one connection, as far as it came.
#[derive(Debug, Default)]
pub struct Opening {
    received: Vec<u8>,
    stage: Stage,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Cookie,
    Length,
    Params(usize),
}

/// What has come to its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Complete {
    /// The cookie, which each connection sends.
    Cookie(Cookie),
    /// The text of the parameters; nothing follows before the server answers.
    Params(Vec<u8>),
}

impl Opening {
    /// The number of bytes to read next, at least 1.
    pub fn wanted(&self) -> usize {
        self.size() - self.received.len()
    }

    fn size(&self) -> usize {
        match self.stage {
            Stage::Cookie => COOKIE_BYTES,
            Stage::Length => LENGTH_BYTES,
            Stage::Params(length) => length,
        }
    }

    /// Takes bytes, at most [`wanted`](Self::wanted); the rest is left out.
    ///
    /// # Errors
    /// Why the connection is not one of iperf3; it must not be read further.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Complete>, Refusal> {
        let taken = &bytes[..bytes.len().min(self.wanted())];
        self.received.extend_from_slice(taken);
        if self.wanted() > 0 {
            return Ok(None);
        }
        let received = std::mem::take(&mut self.received);
        match self.stage {
            Stage::Cookie => {
                self.stage = Stage::Length;
                cookie(&received).map(|cookie| Some(Complete::Cookie(cookie)))
            }
            Stage::Length => {
                let length = received.try_into().map_or(0, u32::from_be_bytes);
                match usize::try_from(length) {
                    Ok(length @ 2..=MOST_PARAMS_BYTES) => self.stage = Stage::Params(length),
                    _ => {
                        let most = MOST_PARAMS_BYTES;
                        let rule =
                            format!("parameters of {length} bytes; at most {most} are allowed");
                        return Err(Refusal::new(code::PARAMS, rule));
                    }
                }
                Ok(None)
            }
            Stage::Params(_) => {
                self.stage = Stage::Length;
                Ok(Some(Complete::Params(received)))
            }
        }
    }
}

/// Characters as iperf3 has had them: `hostname.seconds.random` at first, now only letters and
/// digits; a NUL at the end.
fn cookie(received: &[u8]) -> Result<Cookie, Refusal> {
    let is_cookie = |cookie: &Cookie| {
        let (characters, end) = cookie.split_at(COOKIE_BYTES - 1);
        characters.iter().all(u8::is_ascii_graphic) && end == [0]
    };
    received.try_into().ok().filter(is_cookie).ok_or_else(|| {
        let rule = "a connection that does not begin with iperf3's cookie";
        Refusal::new(code::PARAMS, rule.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOKIE: &[u8; COOKIE_BYTES] = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";

    #[test]
    fn cookie_and_params_come_in_any_pieces() {
        let mut sent = COOKIE.to_vec();
        sent.extend_from_slice(&[0, 0, 0, 2]);
        sent.extend_from_slice(b"{}");
        for piece in [1, 3, 100] {
            let mut opening = Opening::default();
            let (mut complete, mut rest) = (Vec::new(), &sent[..]);
            while !rest.is_empty() {
                let (now, later) = rest.split_at(piece.min(opening.wanted()).min(rest.len()));
                complete.extend(opening.take(now).unwrap());
                rest = later;
            }
            assert_eq!(
                complete,
                [Complete::Cookie(*COOKIE), Complete::Params(b"{}".to_vec())]
            );
        }
    }

    #[test]
    fn params_beyond_the_limit_are_not_awaited() {
        for length in [0, 1, MOST_PARAMS_BYTES as u32 + 1, u32::MAX] {
            let mut opening = Opening::default();
            opening.take(COOKIE).unwrap();
            assert!(opening.take(&length.to_be_bytes()).is_err());
        }
    }
}
