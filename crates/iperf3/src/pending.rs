//! Connections that have not yet shown what they are: they begin with a cookie, a control connection
//! also with parameters. Read piece by piece and never beyond, because data follow the cookie of a
//! stream. They have no thread, and there is a bounded number of them.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bitcost_sys::socket::is_passing;

use crate::control::STEP;
use crate::protocol::{COOKIE_BYTES, Cookie, code, server_error, state};
use crate::refusal::Refusal;

/// How long a refused client has to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// The most bytes of parameters; iperf3 3.21 has the same limit.
const MOST_PARAMS_BYTES: usize = 8 * 1024;

const LENGTH_BYTES: usize = 4;

#[derive(Debug, Default)]
pub struct Opening {
    received: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Cookie,
    Length(Cookie),
    Params(Cookie, usize),
    Refused,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Wait,
    Cookie(Cookie),
    /// The text of the parameters; nothing follows before the server answers.
    Params(Cookie, Vec<u8>),
    Gone,
    /// Why it is not a connection of iperf3.
    Wrong(Refusal),
}

impl Opening {
    /// Reads what there is, to the next thing that is complete.
    pub fn read(&mut self, mut stream: impl Read) -> Next {
        loop {
            let size = match self.stage {
                Stage::Cookie => COOKIE_BYTES,
                Stage::Length(_) => LENGTH_BYTES,
                Stage::Params(_, length) => length,
                Stage::Refused => {
                    return match stream.read(&mut [0; 1024]) {
                        Ok(1..) => Next::Wait,
                        Err(error) if is_passing(&error) => Next::Wait,
                        _ => Next::Gone,
                    };
                }
            };
            let missing = (size - self.received.len()) as u64;
            match stream
                .by_ref()
                .take(missing)
                .read_to_end(&mut self.received)
            {
                Ok(_) if self.received.len() == size => {}
                Err(error) if is_passing(&error) => return Next::Wait,
                _ => return Next::Gone,
            }
            let received = std::mem::take(&mut self.received);
            let stage = match self.stage {
                Stage::Cookie => cookie(&received).map(Stage::Length),
                Stage::Length(cookie) => {
                    length(&received).map(|length| Stage::Params(cookie, length))
                }
                Stage::Params(cookie, _) => {
                    self.stage = Stage::Refused;
                    return Next::Params(cookie, received);
                }
                Stage::Refused => return Next::Gone,
            };
            match stage {
                Ok(stage) => self.stage = stage,
                Err(refusal) => return Next::Wrong(refusal),
            }
            if let Stage::Length(cookie) = self.stage {
                return Next::Cookie(cookie);
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

/// The length of the parameters.
fn length(received: &[u8]) -> Result<usize, Refusal> {
    let length = received.try_into().map_or(0, u32::from_be_bytes) as usize;
    if (2..=MOST_PARAMS_BYTES).contains(&length) {
        return Ok(length);
    }
    let rule = format!("parameters of {length} bytes; at most {MOST_PARAMS_BYTES} are allowed");
    Err(Refusal::new(code::PARAMS, rule))
}

pub struct Pending {
    pub stream: TcpStream,
    pub peer: SocketAddr,
    opening: Opening,
    until: Instant,
}

impl Pending {
    pub fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<Pending> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Pending {
            stream,
            peer,
            opening: Opening::default(),
            until: Instant::now() + STEP,
        })
    }

    pub fn read(&mut self) -> Next {
        match Instant::now() >= self.until {
            true => Next::Gone,
            false => self.opening.read(&self.stream),
        }
    }

    pub fn ask_params(&mut self) -> bool {
        self.stream.write(&[state::PARAM_EXCHANGE]).is_ok()
    }

    /// Tells the client that there is no place for it, or that the connection is not of its test.
    pub fn deny(&mut self) {
        self.say(&[state::ACCESS_DENIED]);
    }

    /// Tells the client why it is not served. The connection stays for a second, because closing it
    /// with unread data would take the message from the client.
    pub fn refuse(&mut self, refusal: &Refusal) {
        self.say(&server_error(refusal.code, refusal.errno));
    }

    fn say(&mut self, bytes: &[u8]) {
        // The buffer of a connection that was sent one byte has room.
        let _ = self.stream.write(bytes);
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        self.opening.stage = Stage::Refused;
        self.until = Instant::now() + FAREWELL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOKIE: &[u8; COOKIE_BYTES] = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";

    /// A stream of which one piece after another arrives.
    struct Pieces<'a>(std::slice::Chunks<'a, u8>);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let mut piece = self.0.next().ok_or(io::ErrorKind::WouldBlock)?;
            assert!(piece.len() <= buffer.len(), "it would be read beyond");
            piece.read(buffer)
        }
    }

    #[test]
    fn cookie_and_params_come_in_any_pieces() {
        let mut sent = COOKIE.to_vec();
        sent.extend_from_slice(&[0, 0, 0, 2]);
        sent.extend_from_slice(b"{}");
        let mut opening = Opening::default();
        let mut pieces = Pieces(sent.chunks(1));
        assert_eq!(opening.read(&mut pieces), Next::Cookie(*COOKIE));
        assert_eq!(
            opening.read(&mut pieces),
            Next::Params(*COOKIE, b"{}".to_vec())
        );
        let mut opening = Opening::default();
        let mut rest = &sent[..];
        assert_eq!(opening.read(&mut rest), Next::Cookie(*COOKIE));
        assert_eq!(rest.len(), 6, "what follows the cookie stays unread");
        assert_eq!(opening.read(Pieces(rest[..1].chunks(1))), Next::Wait);
        assert_eq!(
            opening.read(&rest[1..]),
            Next::Params(*COOKIE, b"{}".to_vec())
        );
    }

    #[test]
    fn what_is_no_cookie_is_refused() {
        let request = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
        let next = Opening::default().read(&request[..]);
        assert!(matches!(next, Next::Wrong(_)), "{next:?}");
    }

    #[test]
    fn params_beyond_the_limit_are_not_awaited() {
        for length in [0, 1, MOST_PARAMS_BYTES as u32 + 1, u32::MAX] {
            let mut opening = Opening::default();
            opening.read(&COOKIE[..]);
            let next = opening.read(&length.to_be_bytes()[..]);
            assert!(matches!(next, Next::Wrong(_)), "{next:?}");
        }
    }
}
