//! ICMP echo requests in a node of a lab: a process of its own sends them, because a thread cannot
//! enter a user namespace.

use std::io::{self, Write};
use std::net::IpAddr;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use bitcost_model::ping::Pings;
use bitcost_sys::icmp::EchoSocket;
use bitcost_sys::process::{OWN_PROGRAM, wait_readable};

/// The hidden command on which the program must call [`main`].
pub const ECHO_VERB: &str = "echo-requests";

/// Data of a request, in bytes, as ping(8) has them.
const DATA_BYTES: usize = 56;

#[derive(Clone, Copy, Debug)]
pub struct Requests {
    pub to: IpAddr,
    pub count: u16,
    /// The time from one request to the next, in milliseconds.
    pub interval_ms: u64,
    /// The time to wait for the last reply, in milliseconds.
    pub wait_ms: u64,
}

impl Requests {
    /// The words with which this program sends them and prints [`Pings`] as JSON.
    pub fn words(&self) -> [String; 5] {
        [
            ECHO_VERB.to_owned(),
            self.to.to_string(),
            self.count.to_string(),
            self.interval_ms.to_string(),
            self.wait_ms.to_string(),
        ]
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(OWN_PROGRAM);
        command.args(self.words());
        command
    }

    fn of_words(words: &[String]) -> Option<Requests> {
        let [to, count, interval_ms, wait_ms] = words else {
            return None;
        };
        Some(Requests {
            to: to.parse().ok()?,
            count: count.parse().ok()?,
            interval_ms: interval_ms.parse().ok()?,
            wait_ms: wait_ms.parse().ok()?,
        })
    }

    fn send(&self) -> io::Result<Pings> {
        let socket = EchoSocket::open(self.to)?;
        let interval = Duration::from_millis(self.interval_ms);
        let mut sent: Vec<Instant> = Vec::new();
        let mut rtts: Vec<Option<f64>> = vec![None; self.count.into()];
        let begin = Instant::now();
        loop {
            let now = Instant::now();
            let number = sent.len();
            let is_last = number == rtts.len();
            let next = match is_last {
                false => begin + interval * number as u32,
                true => sent.last().copied().unwrap_or(begin) + Duration::from_millis(self.wait_ms),
            };
            if is_last && (now >= next || rtts.iter().all(Option::is_some)) {
                break;
            }
            if now >= next {
                sent.push(Instant::now());
                socket.send(number as u16 + 1, DATA_BYTES)?;
                continue;
            }
            if !wait_readable(&socket, next - now)? {
                continue;
            }
            let at = Instant::now();
            let Some(sequence) = socket.receive()? else {
                continue;
            };
            let index = usize::from(sequence).wrapping_sub(1);
            if let (Some(was), Some(slot @ None)) = (sent.get(index), rtts.get_mut(index)) {
                *slot = Some((at - *was).as_secs_f64() * 1e6);
            }
        }
        Ok(Pings {
            to: self.to,
            sent: self.count.into(),
            rtts_us: rtts.into_iter().flatten().collect(),
        })
    }
}

/// Sends the requests that the words after the hidden command name, and prints the round trips; fails
/// where no reply came.
pub fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let Some(requests) = Requests::of_words(&words) else {
        return ExitCode::from(2);
    };
    let pings = requests.send();
    let printed = pings.and_then(|pings| {
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
