//! The agent: runs one endpoint of each run, and restores its host afterwards.
//!
//! The agent speaks the control protocol over its input and output, and knows nothing of studies,
//! of the other endpoint, or of the place where it runs. When its lease expires or the input ends,
//! it stops the traffic, restores the host and ends.

mod abort;
mod affinity;
mod cached_metrics;
mod connect;
mod describe;
mod events;
mod journaling;
mod limits;
mod measuring;
mod observe;
mod output;
mod place;
mod policy;
#[cfg(test)]
mod policy_tests;
mod profile;
mod receiving;
mod refusal;
mod run;
mod sampler;
mod settings;
mod setup;
mod softirqs;
mod threads;
mod warden;
mod whole;
mod worker;

use std::io::{Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use bitcost_model::harmless;
use bitcost_model::protocol::{Decoder, FrameError, FromAgent, Lease, PROTOCOL, Prepare, ToAgent};
use bitcost_sys::clock::monotonic_ns;

pub use crate::journaling::Journaling;
pub use crate::observe::{End, Held, Sought, Watcher, enter_network_of, observe};
use crate::output::Output;
pub use crate::place::Place;
pub use crate::policy::Policy;
pub use crate::refusal::Refusal;
use crate::run::Run;
pub use bitcost_probe::{Between, Node};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Messages of the controller that wait, besides one that is being read: more stay in the pipe. Each
/// is as long as a frame at most.
const WAITING_MAX: usize = 1;

/// Most messages of a service's client that are refused; one more ends the agent.
const REFUSED_MAX: u32 = 64;

/// The most letters of a sentence about a refused message, which may quote it.
const SENTENCE_LETTERS_MAX: usize = 500;

/// The interval at which it is checked that the watchdog is alive.
const LOOK: Duration = Duration::from_millis(500);

/// How long the last messages may take to be written.
const LAST: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(
        "the controller speaks version {controller} of the control protocol, this agent {PROTOCOL}; use the same bitcost on both hosts"
    )]
    OtherVersion { controller: u32 },
    #[error(transparent)]
    NotAMessage(#[from] FrameError),
    #[error("nothing heard from the controller for {} s; traffic stopped and host restored", .0.as_secs())]
    LeaseLost(Duration),
    /// The process that restores the host when this agent dies has ended.
    #[error("the watchdog of this host's settings has ended; traffic stopped and host restored")]
    WatchdogLost,
    #[error("more than {REFUSED_MAX} messages were refused")]
    Refused,
    #[error("the controller has read nothing for {} s; traffic stopped and host restored", .0.as_secs())]
    Unread(Duration),
}

/// Serves one controller until its input ends. This agent also reads the counters of the nodes
/// between the endpoints that its `place` names.
///
/// # Errors
/// When the lease expires, a message cannot be decoded, or the controller does not read. The host is restored in that case, too.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    journaling: &Journaling,
    place: &Place,
) -> Result<(), AgentError> {
    let (output, written) = Output::new(output);
    let served = serve_to_end(input, output, journaling, place);
    journaling.metrics().clear();
    let _ = written.recv_timeout(LAST);
    served
}

/// Serves until the end; the host is restored when this returns.
fn serve_to_end(
    input: impl Read + Send + 'static,
    output: Output,
    journaling: &Journaling,
    place: &Place,
) -> Result<(), AgentError> {
    let inbox = read_messages(input);
    let mut lease = Lease::new(Lease::LENGTH, monotonic_ns());
    let (mut run, mut refused) = (None, 0);
    loop {
        if journaling.is_lost() {
            drop(run.take());
            journaling.let_go();
            return Err(AgentError::WatchdogLost);
        }
        match next(&inbox, &mut lease)? {
            Next::Message(message) => {
                let Some(message) = allowed(message, &output, place, &mut refused)? else {
                    continue;
                };
                if let ToAgent::Prepare(prepare) = &message {
                    lease = lease_of(prepare);
                }
                answer(message, &output, &mut run, journaling, place)?;
                if output.is_unread() {
                    return Err(AgentError::Unread(lease.length()));
                }
            }
            Next::Nothing => {}
            Next::End => return Ok(()),
        }
        // The watchdog ends an agent that hangs; this one ends itself when its lease does.
        journaling.renew();
    }
}

/// The message as the service that started this agent allows it. Where it does not, that is answered. The service reads of
/// refusals, and of runs that start, on standard error.
fn allowed(
    message: ToAgent,
    output: &Output,
    place: &Place,
    refused: &mut u32,
) -> Result<Option<ToAgent>, AgentError> {
    let Some(confinement) = &place.confinement else {
        return Ok(Some(message));
    };
    match Policy(confinement).judge(message) {
        Ok(message) => {
            if let ToAgent::Start(_) = message {
                tell_service("run");
            }
            Ok(Some(message))
        }
        Err(_) if *refused == REFUSED_MAX => Err(AgentError::Refused),
        Err(why) => {
            *refused += 1;
            let why: String = harmless(&why).chars().take(SENTENCE_LETTERS_MAX).collect();
            let why = why.replace(char::is_control, " ");
            tell_service(&format!("refused: {why}"));
            let refusal = Refusal::from(format!("the service refuses it: {why}"));
            output.send(&refusal.message());
            Ok(None)
        }
    }
}

fn tell_service(line: &str) {
    // A service that is gone has ended the input as well.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// The lease of an agent that plays this run. Where its controller is reached over a network, that may fail for as long as
/// the path of the data.
fn lease_of(prepare: &Prepare) -> Lease {
    let parts = prepare.parts.iter().filter(|_| prepare.is_remote);
    let longest = parts.map(|part| part.conditions.outage_timeout()).max();
    let length = longest.unwrap_or_default().max(Lease::LENGTH);
    Lease::new(length, monotonic_ns())
}

#[derive(Debug, PartialEq)]
enum Next {
    Message(ToAgent),
    Nothing,
    End,
}

/// Waits for the next message, for [`LOOK`] at most. One that is there renews the lease, also where
/// this agent was too busy to take it in time: then the controller was not silent.
fn next(
    inbox: &Receiver<Result<ToAgent, FrameError>>,
    lease: &mut Lease,
) -> Result<Next, AgentError> {
    let left = lease.left(monotonic_ns()).unwrap_or_default().min(LOOK);
    match inbox.recv_timeout(left) {
        Ok(Ok(message)) => {
            lease.renew(monotonic_ns());
            Ok(Next::Message(message))
        }
        Ok(Err(error)) => Err(error.into()),
        Err(RecvTimeoutError::Timeout) => lease
            .left(monotonic_ns())
            .map(|_| Next::Nothing)
            .ok_or(AgentError::LeaseLost(lease.length())),
        Err(RecvTimeoutError::Disconnected) => Ok(Next::End),
    }
}

/// Whole messages as they are received; the channel is closed when the input ends.
fn read_messages(mut input: impl Read + Send + 'static) -> Receiver<Result<ToAgent, FrameError>> {
    let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
    std::thread::spawn(move || {
        let mut decoder = Decoder::of_agent();
        let mut bytes = [0; 16 << 10];
        while let Ok(length @ 1..) = input.read(&mut bytes) {
            decoder.push(&bytes[..length]);
            while let Some(message) = decoder.take().transpose() {
                let is_broken = message.is_err();
                if sender.send(message).is_err() || is_broken {
                    return;
                }
            }
        }
    });
    receiver
}

/// Answers one message. Dropping the previous run ends it, and restores what it set.
fn answer(
    message: ToAgent,
    output: &Output,
    run: &mut Option<Run>,
    journaling: &Journaling,
    place: &Place,
) -> Result<(), AgentError> {
    match message {
        ToAgent::Hello { protocol, .. } => {
            output.send(&FromAgent::Hello {
                protocol: PROTOCOL,
                version: VERSION.to_owned(),
            });
            if protocol != PROTOCOL {
                return Err(AgentError::OtherVersion {
                    controller: protocol,
                });
            }
        }
        ToAgent::Describe { device } => {
            let host = describe::host(&device);
            reply(host.map(|host| FromAgent::Host(Box::new(host))), output);
        }
        ToAgent::Route { to, device } => {
            reply(describe::route(to, &device).map(FromAgent::Route), output);
        }
        ToAgent::AddressesOf { device } => {
            let found = describe::addresses(&device);
            reply(
                found.map(|addresses| FromAgent::AddressesOf { addresses }),
                output,
            );
        }
        ToAgent::Clock => output.send(&FromAgent::Clock {
            now_ns: monotonic_ns(),
        }),
        ToAgent::Idle { length_ms } => {
            refused(measuring::idle(length_ms, output.clone()), output);
        }
        ToAgent::Constants { cpu } => {
            // A prepared run would compete with the measurement.
            *run = None;
            refused(measuring::constants(cpu, output.clone()), output);
        }
        ToAgent::TryProfile => {
            reply(profile::check().map(|()| FromAgent::Profilable), output);
        }
        ToAgent::Observe {
            connections,
            role,
            length_ms,
        } => {
            let pairs = connections.into_iter();
            let sought = Sought::Between(pairs.map(|pair| pair.map(End::from)).collect());
            let started = measuring::observed(sought, role, length_ms, output.clone());
            refused(started, output);
        }
        ToAgent::Prepare(prepare) => {
            *run = None;
            *run = prepared(*prepare, output, journaling, place);
        }
        command @ (ToAgent::Start(_)
        | ToAgent::Meet { .. }
        | ToAgent::End
        | ToAgent::Finish { .. }) => forward(run, output, command),
        ToAgent::Stop => {
            *run = None;
            measuring::give_up();
            output.send(&FromAgent::Stopped);
        }
        // A controller that has yet to read others knows from them that this agent lives.
        ToAgent::Renew => output.offer(&FromAgent::Alive),
    }
    Ok(())
}

/// Starts to prepare a run; absent where its settings are refused, which is answered.
fn prepared(
    prepare: Prepare,
    output: &Output,
    journaling: &Journaling,
    place: &Place,
) -> Option<Run> {
    let output = output.waiting_for(lease_of(&prepare).length());
    match limits::check(&prepare) {
        Ok(()) => Some(Run::start(
            prepare,
            output,
            journaling.clone(),
            place.clone(),
        )),
        Err(refusal) => {
            output.send(&refusal.message());
            None
        }
    }
}

fn forward(run: &mut Option<Run>, output: &Output, command: ToAgent) {
    let forwarded = match run {
        Some(run) => run.forward(command),
        None => Err("no run is prepared at this endpoint".into()),
    };
    refused(forwarded, output);
}

fn reply(answer: Result<FromAgent, Refusal>, output: &Output) {
    output.send(&answer.unwrap_or_else(Refusal::message));
}

fn refused(result: Result<(), Refusal>, output: &Output) {
    if let Err(refusal) = result {
        output.send(&refusal.message());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use bitcost_model::protocol::{FRAME_BYTES_MAX, encode};

    use super::*;

    #[test]
    fn messages_that_nobody_takes_are_not_read() {
        let (input, mut output) = UnixStream::pair().expect("a connection");
        output
            .set_write_timeout(Some(Duration::from_secs(1)))
            .expect("a time");
        let inbox = read_messages(input);
        let hello = encode(&ToAgent::Renew).expect("a short one");
        output.write_all(&hello).expect("sent");
        let longest = encode(&ToAgent::Describe {
            device: "x".repeat(FRAME_BYTES_MAX - 100),
        });
        let longest = longest.expect("not too long");
        let sent = (0..64).take_while(|_| output.write_all(&longest).is_ok());
        assert!(sent.count() < 16);
        drop(inbox);
    }

    #[test]
    fn a_message_that_waits_renews_a_lease_that_has_expired() {
        let (sender, inbox) = mpsc::sync_channel(WAITING_MAX);
        let mut lease = Lease::new(Duration::ZERO, 0);
        sender.send(Ok(ToAgent::Renew)).expect("heard");
        let heard = next(&inbox, &mut lease).expect("the controller was not silent");
        assert_eq!(heard, Next::Message(ToAgent::Renew));
        let lost = next(&inbox, &mut lease).expect_err("the controller is silent");
        assert!(matches!(lost, AgentError::LeaseLost(_)), "{lost}");
    }
}
