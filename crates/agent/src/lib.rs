//! The agent: plays one end of each run, and puts its host back afterwards.
//!
//! It speaks the control protocol over its input and output, and knows nothing of studies, of the
//! other end, or of where it runs. When its controller falls silent or goes away it stops the
//! traffic, restores the host and ends.

mod cached_metrics;
mod crowd;
mod describe;
mod end;
mod idle;
mod keeping;
mod knobs;
mod limits;
mod meeting;
mod outbox;
mod sampler;
mod seat;
mod self_cost;
mod watch;
mod worker;

use std::io::{Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use sys::clock::monotonic_ns;
use wire::{Decoder, FromAgent, Lease, PROTOCOL, ToAgent};

use crate::end::Run;
pub use crate::keeping::Keeping;
use crate::outbox::Outbox;
use crate::watch::Command;
pub use probe::{Between, Node};

/// Version of this program, as the other side is told.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Messages of the controller that may wait to be answered; more wait in the pipe.
const WAITING_MAX: usize = 64;

/// How often the keeper is looked after.
const LOOK: Duration = Duration::from_millis(500);

/// Why an agent ended otherwise than by the end of its input.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The controller speaks another version.
    #[error(
        "the controller speaks version {controller} of the control protocol, this agent {PROTOCOL}; use the same bitcost on both hosts"
    )]
    OtherVersion {
        /// What it speaks.
        controller: u32,
    },
    /// What came is no message.
    #[error("{0}")]
    NotAMessage(String),
    /// Nothing came for the length of the lease.
    #[error("nothing heard from the controller for {} s; traffic stopped and host restored", Lease::LENGTH.as_secs())]
    LeaseLost,
    /// The process that would put the host back has ended.
    #[error("the keeper of this host's settings has ended; traffic stopped and host restored")]
    KeeperLost,
}

/// Serves one controller until its input ends. This agent reads the counters of what lies `between` the ends, too.
///
/// # Errors
/// When the controller falls silent or says what cannot be understood. The host is restored then too.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    keeping: &Keeping,
    between: &Between,
) -> Result<(), AgentError> {
    let (outbox, writer) = Outbox::new(output);
    let served = serve_to_end(input, outbox, keeping, between);
    keeping.metrics().clear();
    writer.finish();
    served
}

/// The host is as before when this returns.
fn serve_to_end(
    input: impl Read + Send + 'static,
    outbox: Outbox,
    keeping: &Keeping,
    between: &Between,
) -> Result<(), AgentError> {
    let inbox = read_messages(input);
    let mut lease = Lease::new(Lease::LENGTH, monotonic_ns());
    let mut run = None;
    loop {
        let left = lease.left(monotonic_ns()).ok_or(AgentError::LeaseLost)?.min(LOOK);
        if keeping.is_lost() {
            drop(run.take());
            keeping.let_go();
            return Err(AgentError::KeeperLost);
        }
        match inbox.recv_timeout(left) {
            Ok(Ok(message)) => {
                lease.renew(monotonic_ns());
                answer(message, &outbox, &mut run, keeping, between)?;
                keeping.renew();
            }
            Ok(Err(reason)) => return Err(AgentError::NotAMessage(reason)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Whole messages as they come; the channel ends with the input.
fn read_messages(mut input: impl Read + Send + 'static) -> Receiver<Result<ToAgent, String>> {
    let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
    std::thread::spawn(move || {
        let mut decoder = Decoder::default();
        let mut bytes = [0; 16 << 10];
        loop {
            let length = match input.read(&mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(length) => length,
            };
            decoder.push(&bytes[..length]);
            while let Some(message) = decoder.take().map_err(|error| error.to_string()).transpose() {
                let broken = message.is_err();
                if sender.send(message).is_err() || broken {
                    return;
                }
            }
        }
    });
    receiver
}

/// Dropping the old run ends it, and restores what it set.
fn answer(
    message: ToAgent,
    outbox: &Outbox,
    run: &mut Option<Run>,
    keeping: &Keeping,
    between: &Between,
) -> Result<(), AgentError> {
    match message {
        ToAgent::Hello { protocol, .. } => {
            outbox.send(&FromAgent::Hello { protocol: PROTOCOL, version: VERSION.to_owned() });
            if protocol != PROTOCOL {
                return Err(AgentError::OtherVersion { controller: protocol });
            }
        }
        ToAgent::Describe { device } => match limits::device(&device).and_then(|()| describe::host(&device)) {
            Ok(host) => outbox.send(&FromAgent::Host(Box::new(host))),
            Err(reason) => outbox.send(&FromAgent::Failed { reason }),
        },
        ToAgent::Route { to } => match describe::route(to) {
            Ok(route) => outbox.send(&FromAgent::Route(route)),
            Err(reason) => outbox.send(&FromAgent::Failed { reason }),
        },
        ToAgent::AddressesOf { device } => match limits::device(&device).and_then(|()| describe::addresses(&device)) {
            Ok(addresses) => outbox.send(&FromAgent::AddressesOf { addresses }),
            Err(reason) => outbox.send(&FromAgent::Failed { reason }),
        },
        ToAgent::Clock => outbox.send(&FromAgent::Clock { now_ns: monotonic_ns() }),
        ToAgent::Idle { length_ms } => {
            if let Err(reason) = idle::measure(length_ms, outbox.clone()) {
                outbox.send(&FromAgent::Failed { reason });
            }
        }
        ToAgent::Prepare(prepare) => {
            *run = None;
            match limits::check(&prepare) {
                Ok(()) => *run = Some(Run::begin(*prepare, outbox.clone(), keeping.clone(), between.clone())),
                Err(reason) => outbox.send(&FromAgent::Failed { reason }),
            }
        }
        ToAgent::Start(start) => tell(run, outbox, Command::Start(start)),
        ToAgent::Meet { addresses } => tell(run, outbox, Command::Meet(addresses)),
        ToAgent::Finish { sent } => tell(run, outbox, Command::Finish(sent)),
        ToAgent::Stop => {
            *run = None;
            outbox.send(&FromAgent::Stopped);
        }
        ToAgent::Renew => outbox.send(&FromAgent::Alive),
    }
    Ok(())
}

fn tell(run: &mut Option<Run>, outbox: &Outbox, command: Command) {
    let told = match run {
        Some(run) => run.tell(command),
        None => Err("no run is prepared at this end".to_owned()),
    };
    if let Err(reason) = told {
        outbox.send(&FromAgent::Failed { reason });
    }
}
