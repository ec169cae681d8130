//! The control connection: exact reads and whole writes, each with a deadline, which a server that
//! is stopped ends at once.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bitcost_sys::socket::is_passing;
use rustix::net::sockopt;
use serde::Serialize;

use crate::protocol::{Refusal, server_error, state};

/// How long each step of the control connection may take.
pub const STEP: Duration = Duration::from_secs(10);

/// The longest blocking call; then it is asked whether the server is stopped.
pub const SLICE: Duration = Duration::from_millis(100);

/// The most bytes of results; 256 streams take less than a fifth.
pub const MOST_RESULTS_BYTES: usize = 256 * 1024;

/// How long a refused client has to read why.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub enum Lost {
    Closed(String),
    Silent,
    Stopped,
}

pub struct Control {
    /// Another thread may shut it down, but holds it only for that.
    pub stream: Arc<TcpStream>,
    stop: Arc<AtomicBool>,
}

impl Control {
    /// Takes a connection. The kernel notices within about 20 s that the client's host is gone.
    pub fn new(stream: TcpStream, stop: Arc<AtomicBool>) -> io::Result<Control> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SLICE))?;
        stream.set_write_timeout(Some(SLICE))?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, Duration::from_secs(5))?;
        sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(5))?;
        sockopt::set_tcp_keepcnt(&stream, 3)?;
        let stream = Arc::new(stream);
        Ok(Control { stream, stop })
    }

    /// The next byte; absent where none came within 100 ms.
    pub fn byte(&mut self) -> Result<Option<u8>, Lost> {
        let mut byte = [0];
        Ok(self.some(&mut byte)?.map(|_| byte[0]))
    }

    /// Waits for this byte.
    ///
    /// # Errors
    /// See [`Lost`]; another byte is one, too.
    pub fn expect(&mut self, expected: u8) -> Result<(), Lost> {
        match self.exact()? {
            [byte] if byte == expected => Ok(()),
            [byte] => Err(Lost::Closed(unexpected(byte))),
        }
    }

    /// A text with its length in front.
    ///
    /// # Errors
    /// See [`Lost`]; a text that is too long is one, too.
    pub fn text(&mut self) -> Result<Vec<u8>, Lost> {
        let length = self.length()?;
        if length > MOST_RESULTS_BYTES {
            return Err(Lost::Closed(format!(
                "it announced results of {length} bytes; at most {MOST_RESULTS_BYTES} are allowed"
            )));
        }
        self.bytes(length)
    }

    /// The length in front of a text.
    pub fn length(&mut self) -> Result<usize, Lost> {
        Ok(u32::from_be_bytes(self.exact()?) as usize)
    }

    pub fn bytes(&mut self, count: usize) -> Result<Vec<u8>, Lost> {
        let mut bytes = vec![0; count];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Exactly this many bytes: data follow the cookie of a flow, which stay unread.
    pub fn exact<const N: usize>(&mut self) -> Result<[u8; N], Lost> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    pub fn send_state(&mut self, state: u8) -> Result<(), Lost> {
        self.send(&[state])
    }

    /// Sends a document as JSON with its length in front.
    pub fn send_text(&mut self, document: &impl Serialize) -> Result<(), Lost> {
        let json = serde_json::to_vec(document);
        let json = json.map_err(|error| Lost::Closed(error.to_string()))?;
        self.send(&[&(json.len() as u32).to_be_bytes()[..], &json].concat())
    }

    /// Tells the client why it is not served.
    pub fn refuse(&mut self, refusal: &Refusal) {
        self.part(&server_error(refusal.code, refusal.errno));
    }

    /// Says the last word. The connection stays for a second, because closing it with unread data
    /// would take these bytes from the client. A client that does not read is not waited for.
    pub fn part(&mut self, last: &[u8]) {
        let _ = (&*self.stream).write(last);
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until && self.some(&mut [0; 1024]).is_ok() {}
    }

    /// Tells the client that the server ends, and gives it half a second to answer.
    pub fn terminate(&mut self) {
        let _ = (&*self.stream).write(&[state::SERVER_TERMINATE]);
        let _ = self.stream.set_read_timeout(Some(SLICE * 5));
        let _ = (&*self.stream).read(&mut [0]);
    }

    /// The two numbers that follow `SERVER_ERROR`: iperf3's code and the system's `errno`.
    pub fn numbers(&mut self) -> Result<[i32; 2], Lost> {
        Ok([
            i32::from_be_bytes(self.exact()?),
            i32::from_be_bytes(self.exact()?),
        ])
    }

    fn fill(&mut self, mut buffer: &mut [u8]) -> Result<(), Lost> {
        let until = Instant::now() + STEP;
        while !buffer.is_empty() {
            if let Some(read) = self.some(buffer)? {
                buffer = &mut buffer[read..];
            }
            if !buffer.is_empty() && Instant::now() >= until {
                return Err(Lost::Silent);
            }
        }
        Ok(())
    }

    /// Reads once; absent where nothing came within 100 ms.
    fn some(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Lost> {
        if self.stop.load(Relaxed) {
            return Err(Lost::Stopped);
        }
        match (&*self.stream).read(buffer) {
            Ok(0) => Err(Lost::Closed("it closed the control connection".to_owned())),
            Ok(read) => Ok(Some(read)),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(Lost::Closed(format!(
                "the control connection failed: {error}"
            ))),
        }
    }

    pub fn send(&mut self, mut bytes: &[u8]) -> Result<(), Lost> {
        let until = Instant::now() + STEP;
        while !bytes.is_empty() {
            if self.stop.load(Relaxed) {
                return Err(Lost::Stopped);
            }
            match (&*self.stream).write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_passing(&error) && Instant::now() < until => {}
                Err(error) if is_passing(&error) => return Err(Lost::Silent),
                Err(error) => {
                    return Err(Lost::Closed(format!(
                        "the control connection failed: {error}"
                    )));
                }
            }
        }
        Ok(())
    }
}

pub fn unexpected(byte: u8) -> String {
    format!("it sent the message {byte}, which is not expected here")
}
