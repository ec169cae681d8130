//! The responder: HTTP/1.1, one request a connection, a bounded number of connections, each with a
//! deadline. `GET /metrics` answers with the figures.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::monitor::text::MEDIA_TYPE;

/// The most connections at the same time; one more is closed without an answer.
const MOST_CONNECTIONS: usize = 16;

/// How long a connection may take.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// The most bytes of a request with its fields.
const MOST_REQUEST_BYTES: usize = 8 << 10;

/// How often it is asked whether the responder is to stop, and whether a new connection is there.
const TURN: Duration = Duration::from_millis(50);

/// Bytes of a thread's stack.
const STACK_BYTES: usize = 128 << 10;

/// A responder that is bound to its address.
pub struct Responder {
    listener: TcpListener,
    address: SocketAddr,
}

impl Responder {
    /// Binds to this address.
    pub fn open(address: SocketAddr) -> io::Result<Responder> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Responder { listener, address })
    }

    /// The address with the port that the kernel gave.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes connections in its own thread until `stop` is true; `answer` is called in a thread of each connection, such as with
    /// [`answer()`].
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(self, answer: Answer, stop: Arc<AtomicBool>) -> io::Result<JoinHandle<()>> {
        Builder::new().spawn(move || self.respond(&answer, &stop))
    }

    fn respond(&self, answer: &Answer, stop: &AtomicBool) {
        let present = Arc::new(AtomicUsize::new(0));
        while !stop.load(Relaxed) {
            // Also where no descriptor is free.
            let Ok((stream, _)) = self.listener.accept() else {
                thread::sleep(TURN);
                continue;
            };
            if present.load(Relaxed) >= MOST_CONNECTIONS {
                continue;
            }
            present.fetch_add(1, Relaxed);
            let (answer, of_thread) = (answer.clone(), present.clone());
            let thread = Builder::new().stack_size(STACK_BYTES).spawn(move || {
                // A client that went away needs no answer.
                let _ = answer(stream);
                of_thread.fetch_sub(1, Relaxed);
            });
            if thread.is_err() {
                present.fetch_sub(1, Relaxed);
            }
        }
    }
}

/// Answers one connection.
pub type Answer = Arc<dyn Fn(TcpStream) -> io::Result<()> + Send + Sync>;

/// Reads the request of a connection and answers it with these figures.
///
/// # Errors
/// The connection is gone, or takes too long.
pub fn answer(mut stream: TcpStream, figures: &str) -> io::Result<()> {
    let until = Instant::now() + DEADLINE;
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(DEADLINE))?;
    let request = request(&mut stream, until)?;
    stream.write_all(response(&request, figures).as_bytes())
}

/// The request with its fields, as far as it came in time.
fn request(stream: &mut TcpStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut bytes = [0; 1024];
    while !is_whole(&request) && request.len() < MOST_REQUEST_BYTES {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => request.extend_from_slice(&bytes[..length]),
        }
    }
    Ok(request)
}

fn is_whole(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n")
}

/// The whole response to a request.
pub fn response(request: &[u8], figures: &str) -> String {
    let line = request.split(|byte| *byte == b'\r').next();
    let line = line.and_then(|line| std::str::from_utf8(line).ok());
    let words: Vec<&str> = line.unwrap_or_default().split(' ').collect();
    let (method, target) = match words[..] {
        [method, target, version] if version.starts_with("HTTP/1.") && is_whole(request) => {
            (method, target.split('?').next().unwrap_or_default())
        }
        _ => return page("400 Bad Request", "", "this is not an HTTP request\n", true),
    };
    let has_body = method != "HEAD";
    match (method, target) {
        ("GET" | "HEAD", "/metrics" | "/") => page("200 OK", "", figures, has_body),
        ("GET" | "HEAD", _) => {
            let body = "there is nothing here; /metrics has the figures\n";
            page("404 Not Found", "", body, has_body)
        }
        _ => page(
            "405 Method Not Allowed",
            "Allow: GET, HEAD\r\n",
            "only GET is answered\n",
            true,
        ),
    }
}

fn page(status: &str, fields: &str, body: &str, has_body: bool) -> String {
    let length = body.len();
    let body = if has_body { body } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {length}\r\n{fields}Connection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_for_the_figures_get_them() {
        for (request, status) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200"),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "200"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200"),
            ("GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /metrics HTTP/1.1\r\n", "400"),
            ("GET /metrics\r\n\r\n", "400"),
            ("\0\u{ff}\r\n\r\n", "400"),
            ("", "400"),
        ] {
            let response = response(request.as_bytes(), "figures\n");
            let expected = format!("HTTP/1.1 {status} ");
            assert!(response.starts_with(&expected), "{request:?}: {response}");
            let (_, body) = response.split_once("\r\n\r\n").unwrap();
            assert_eq!(body.is_empty(), request.starts_with("HEAD"), "{request:?}");
        }
    }

    #[test]
    fn connections_are_bounded_and_others_are_answered_afterwards() {
        let responder = Responder::open(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = responder.address();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = responder
            .start(Arc::new(|stream| answer(stream, "figures\n")), stop.clone())
            .unwrap();
        let ask = || {
            let mut answer = String::new();
            let stream = TcpStream::connect(address);
            let _ = stream.and_then(|mut stream| {
                stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
                stream.read_to_string(&mut answer)
            });
            answer
        };
        let silent: Vec<TcpStream> = (0..MOST_CONNECTIONS)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        assert_eq!(ask(), "");
        drop(silent);
        let until = Instant::now() + 2 * DEADLINE;
        while ask().is_empty() {
            assert!(Instant::now() < until, "nobody is answered any more");
        }
        assert!(ask().contains("figures"));
        stop.store(true, Relaxed);
        thread.join().unwrap();
    }
}
