//! Connections that have not yet shown what they are. They have no thread, and there is a bounded
//! number of them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::control::{STEP, is_passing};
use crate::opening::{Complete, Opening};
use crate::protocol::{Cookie, server_error, state};
use crate::refusal::Refusal;

/// How long a refused client has to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection that has not yet shown what it is.
pub struct Pending {
    stream: TcpStream,
    /// The client's address.
    pub peer: SocketAddr,
    opening: Opening,
    cookie: Option<Cookie>,
    is_refused: bool,
    until: Instant,
}

/// What became of a connection.
pub enum Next {
    /// More must come.
    Wait,
    /// It showed its cookie.
    Cookie(Cookie),
    /// It sent the parameters of a test.
    Params(Cookie, Vec<u8>),
    /// It ended, or its time is over.
    Gone,
    /// It is not one of iperf3.
    Wrong(Refusal),
}

impl Pending {
    /// Takes an accepted connection.
    pub fn new(stream: TcpStream, peer: SocketAddr) -> std::io::Result<Pending> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Pending {
            stream,
            peer,
            opening: Opening::default(),
            cookie: None,
            is_refused: false,
            until: Instant::now() + STEP,
        })
    }

    /// The connection itself.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Gives the connection away.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Reads what there is, to the next thing that is complete.
    pub fn read(&mut self) -> Next {
        if Instant::now() >= self.until {
            return Next::Gone;
        }
        let mut buffer = [0; 1024];
        loop {
            let room = match self.is_refused {
                true => buffer.len(),
                false => self.opening.wanted().min(buffer.len()),
            };
            match self.stream.read(&mut buffer[..room]) {
                Ok(0) => return Next::Gone,
                Ok(_) if self.is_refused => return Next::Wait,
                Ok(read) => match self.opening.take(&buffer[..read]) {
                    Ok(None) => {}
                    Ok(Some(Complete::Cookie(cookie))) => {
                        self.cookie = Some(cookie);
                        return Next::Cookie(cookie);
                    }
                    Ok(Some(Complete::Params(params))) => {
                        return self
                            .cookie
                            .map_or(Next::Gone, |cookie| Next::Params(cookie, params));
                    }
                    Err(refusal) => return Next::Wrong(refusal),
                },
                Err(error) if is_passing(&error) => return Next::Wait,
                Err(_) => return Next::Gone,
            }
        }
    }

    /// Asks for the parameters.
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
        self.is_refused = true;
        self.until = Instant::now() + FAREWELL;
    }
}
