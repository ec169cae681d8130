//! Requests to connect from a node of a lab, which a host answers at once, also where it refuses them: a process of its own sends
//! them, because a thread cannot enter a user namespace.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bitcost_model::ping::Pings;
use serde::{Deserialize, Serialize};

/// The hidden command on which the program must call [`main`].
pub const REQUESTS_VERB: &str = "connect-requests";

/// The port of the discard service (RFC 863), at which hardly any host listens.
const DISCARD: u16 = 9;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Requests {
    pub to: IpAddr,
    pub count: u16,
    /// The time from one request to the next, in milliseconds.
    pub interval_ms: u64,
    /// The time to wait for an answer, in milliseconds.
    pub wait_ms: u64,
}

impl Requests {
    /// The words with which this program sends them and prints [`Pings`] as JSON.
    pub fn words(&self) -> [String; 2] {
        let requests = serde_json::json!(self).to_string();
        [REQUESTS_VERB.to_owned(), requests]
    }

    /// Each has a thread, so that none waits for the answer to the one before it.
    fn send(&self) -> io::Result<Pings> {
        let rtts = std::thread::scope(|scope| {
            let numbers = 0..u64::from(self.count);
            let threads: Vec<_> = numbers
                .map(|number| scope.spawn(move || self.send_one(number)))
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            let answered = ended.map(|rtt| rtt.unwrap_or(Err(ErrorKind::Other.into())));
            answered.collect::<io::Result<Vec<_>>>()
        });
        Ok(Pings {
            to: self.to,
            sent: self.count.into(),
            rtts_us: rtts?.into_iter().flatten().collect(),
        })
    }

    /// How long the answer to this one took, in microseconds; absent where none came.
    fn send_one(&self, number: u64) -> io::Result<Option<f64>> {
        std::thread::sleep(Duration::from_millis(self.interval_ms * number));
        let begun = Instant::now();
        let wait = Duration::from_millis(self.wait_ms);
        match TcpStream::connect_timeout(&(self.to, DISCARD).into(), wait) {
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(None),
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => Err(error),
            _ => Ok(Some(begun.elapsed().as_secs_f64() * 1e6)),
        }
    }
}

/// Sends the requests that the word after the hidden command describes, and prints the round trips; fails where no answer came.
pub fn main() -> ExitCode {
    let described = std::env::args().nth(2).unwrap_or_default();
    let sent = serde_json::from_str(&described).map_err(io::Error::from);
    let printed = sent.and_then(|requests: Requests| {
        let pings = requests.send()?;
        writeln!(io::stdout(), "{}", serde_json::json!(pings))?;
        Ok(!pings.rtts_us.is_empty())
    });
    match printed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(3)
        }
    }
}
