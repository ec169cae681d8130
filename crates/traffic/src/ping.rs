//! ICMP echo requests at an interval, and the round-trip time of each reply.

use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bitcost_model::ping::Pings;
pub use bitcost_sys::icmp::Source;

use bitcost_sys::icmp::EchoSocket;

/// The echo requests to send.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The destination.
    pub to: IpAddr,
    /// What the requests leave from; absent where the route decides it.
    pub from: Option<Source>,
    /// Their number.
    pub count: u16,
    /// The time from one request to the next.
    pub interval: Duration,
    /// The time to wait for the last reply.
    pub wait: Duration,
    /// The time after which it ends in any case; absent where only the number of requests ends it.
    pub deadline: Option<Duration>,
    /// Bytes of data in each request.
    pub data_bytes: usize,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The request's number, from 1.
    pub sequence: u16,
    /// The round trip, in microseconds.
    pub rtt_us: f64,
}

/// Sends the requests and calls `report` for each reply. It ends early when `go_on`, which is
/// called often, returns false.
///
/// # Errors
/// The error of the socket: `EACCES` where the caller may not ping, `ENETUNREACH` without a route.
pub fn ping(
    asked: &Asked,
    mut go_on: impl FnMut() -> bool,
    mut report: impl FnMut(Answer) -> io::Result<()>,
) -> io::Result<Pings> {
    let socket = EchoSocket::open(asked.to, asked.from.as_ref())?;
    let mut sent: Vec<Instant> = Vec::with_capacity(asked.count.into());
    let mut rtts: Vec<Option<f64>> = vec![None; asked.count.into()];
    let begin = Instant::now();
    loop {
        let now = Instant::now();
        let number = sent.len();
        let next = match number < rtts.len() {
            true => begin + asked.interval * u32::try_from(number).unwrap_or(u32::MAX),
            false => sent.last().copied().unwrap_or(begin) + asked.wait,
        };
        if now >= next && number < rtts.len() {
            sent.push(Instant::now());
            socket.send(number as u16 + 1, asked.data_bytes)?;
            continue;
        }
        let is_done = number == rtts.len() && (now >= next || rtts.iter().all(Option::is_some));
        let left = asked
            .deadline
            .map(|deadline| (begin + deadline).saturating_duration_since(now));
        if is_done || left.is_some_and(|left| left.is_zero()) || !go_on() {
            break;
        }
        let pause = next.saturating_duration_since(now);
        let pause = left.map_or(pause, |left| left.min(pause));
        if !bitcost_sys::process::wait_readable(&socket, pause)? {
            continue;
        }
        let at = Instant::now();
        let Some(sequence) = socket.receive()? else {
            continue;
        };
        let index = usize::from(sequence).wrapping_sub(1);
        if let (Some(was), Some(slot @ None)) = (sent.get(index), rtts.get_mut(index)) {
            let rtt_us = (at - *was).as_secs_f64() * 1e6;
            *slot = Some(rtt_us);
            report(Answer { sequence, rtt_us })?;
        }
    }
    let sent = u32::try_from(sent.len()).unwrap_or(u32::MAX);
    Ok(Pings {
        to: asked.to,
        sent,
        rtts_us: rtts.into_iter().flatten().collect(),
    })
}
