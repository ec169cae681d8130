//! The service's hold on the process that reads what foreign hosts send: starts it, learns what it gave up, and gives it connections.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_sys::passing::{pair, send};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{Shutdown, shutdown};

/// Gives a process the connection with a client, the channel to the service, and the service's public key.
pub type Give = Box<dyn Fn(&TcpStream, OwnedFd, &[u8]) -> io::Result<()> + Send + Sync>;

/// The time in which the process must have given up its privileges, and must take a connection.
const READY: Duration = Duration::from_secs(10);

const REPORT_BYTES_MAX: usize = 4 << 10;

pub struct Fronts {
    command: fn() -> Command,
    running: Mutex<Running>,
    confined: String,
}

struct Running {
    control: OwnedFd,
    child: Child,
}

impl Fronts {
    /// Starts it by this command, which ends in its verb.
    pub fn start(command: fn() -> Command) -> Result<Fronts, Unavailable> {
        let (running, confined) = Running::start(command())?;
        Ok(Fronts {
            command,
            running: Mutex::new(running),
            confined,
        })
    }

    pub fn confined(&self) -> &str {
        &self.confined
    }

    /// Gives it the connection with a client, the channel to the service, and the service's public key.
    pub fn give(&self, socket: &TcpStream, channel: OwnedFd, key: &[u8]) -> io::Result<()> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let files = [socket.as_fd(), channel.as_fd()];
        match send(&running.control, key, files) {
            Err(error) if is_end(&error) => {
                let (other, _) = Running::start((self.command)()).map_err(io::Error::other)?;
                *running = other;
                send(&running.control, key, files)
            }
            given => given,
        }
    }
}

fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected
    )
}

impl Running {
    fn start(mut command: Command) -> Result<(Running, String), Unavailable> {
        let failed = |error: io::Error| {
            Unavailable(format!("cannot start the process for clients: {error}"))
        };
        let (control, other) = pair().map_err(failed)?;
        // A process that is stopped holds up no connection for ever.
        for direction in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&control, direction, Some(READY))
                .map_err(|error| failed(error.into()))?;
        }
        // What it could print would be the words of foreign hosts.
        let child = command
            .stdin(Stdio::from(other))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .env_clear()
            .spawn()
            .map_err(failed)?;
        // The command has the other end until here.
        drop(command);
        let running = Running { control, child };
        let confined = running.report()?;
        Ok((running, confined))
    }

    fn report(&self) -> Result<String, Unavailable> {
        let failed = |why: String| Unavailable(format!("the process for clients {why}"));
        let mut text = [0; REPORT_BYTES_MAX];
        let length = rustix::io::read(&self.control, &mut text)
            .map_err(|error| failed(format!("did not drop its privileges in time: {error}")))?;
        let confined: Result<String, String> = serde_json::from_slice(&text[..length])
            .map_err(|error| failed(format!("does not report its privileges: {error}")))?;
        confined.map_err(failed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It reads nothing but that socket, and ends with it.
        let _ = shutdown(&self.control, Shutdown::Both);
        let _ = self.child.wait();
    }
}
