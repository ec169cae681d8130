//! Both endpoints of a run, from their meeting to what they report.

pub use std::net::SocketAddr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
pub use std::sync::Arc;
pub use std::thread;
use std::thread::JoinHandle;
pub use std::time::{Duration, Instant};

pub use bitcost_model::conditions::{Conditions, Waiting, Workload};
use bitcost_model::place::IpVersion;
use bitcost_model::protocol::Peer;
use bitcost_model::record::{FlowRecord, PhaseCounts};
pub use bitcost_model::record::{InEffect, Role};
pub use bitcost_testkit::Run;
pub use bitcost_traffic::{Control, Phase, Ready};
use bitcost_traffic::{End, Flow, FlowId, Listening, TrafficError};
use rustix::io::Errno;

pub const PATIENCE: Duration = Duration::from_secs(10);
pub const TOKEN: [u8; 16] = *b"sixteen letters!";
pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const BOTH: [Role; 2] = [Role::Sender, Role::Receiver];

/// Both endpoints, the sender first; `via` may give it another address than the receiver's.
pub fn try_meet(
    conditions: &Conditions,
    via: impl FnOnce(SocketAddr) -> SocketAddr,
) -> Result<[Ready; 2], TrafficError> {
    let here = match conditions.ip_version() {
        IpVersion::V4 => HERE,
        IpVersion::V6 => Ipv6Addr::LOCALHOST.into(),
    };
    let listening = listen(conditions, here)?;
    let sender = connecting(conditions, via(listening.address()));
    let receiver = accept(listening, conditions);
    Ok([sender.join().expect("no panic")?, receiver?])
}

/// The socket of the receiver of one flow.
pub fn listen(conditions: &Conditions, here: IpAddr) -> Result<Listening, TrafficError> {
    bitcost_traffic::listen(&[conditions], here, TOKEN, None)
}

fn end(conditions: &Conditions, role: Role) -> End<'_> {
    End {
        id: FlowId::default(),
        role,
        conditions,
    }
}

/// The sender, which opens the flow there.
pub fn connecting(
    conditions: &Conditions,
    address: SocketAddr,
) -> JoinHandle<Result<Ready, TrafficError>> {
    let asked = conditions.clone();
    thread::spawn(move || {
        let peer = (Peer::Bitcost, address);
        bitcost_traffic::connect(end(&asked, Role::Sender), peer, TOKEN, PATIENCE)
    })
}

pub fn accept(mut listening: Listening, conditions: &Conditions) -> Result<Ready, TrafficError> {
    listening.accept(end(conditions, Role::Receiver), Instant::now() + PATIENCE)
}

/// Both endpoints, where `via` may give the sender another address.
pub fn meet_via(conditions: &Conditions, via: impl FnOnce(SocketAddr) -> SocketAddr) -> [Ready; 2] {
    try_meet(conditions, via).unwrap_or_else(|error| panic!("{error}"))
}

/// Both endpoints; the trial is ignored where the kernel lacks what they need.
pub fn meet_or_ignore(conditions: &Conditions) -> [Ready; 2] {
    const LACKING: [Errno; 4] = [
        Errno::NOPROTOOPT,
        Errno::OPNOTSUPP,
        Errno::NOSYS,
        Errno::PERM,
    ];
    match try_meet(conditions, |address| address) {
        Ok(ready) => ready,
        Err(TrafficError::System { asked, error, hint })
            if Errno::from_io_error(&error).is_some_and(|errno| LACKING.contains(&errno)) =>
        {
            bitcost_testkit::ignore(&format!("{asked}: {error}{hint}"))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Both endpoints, without a detour.
pub fn meet(conditions: &Conditions) -> [Ready; 2] {
    meet_via(conditions, |address| address)
}

/// An endpoint that runs. One that fails closes its socket, so that the other does not wait for it.
pub type Running = JoinHandle<Result<Box<dyn Flow>, TrafficError>>;

pub fn start(mut flow: Box<dyn Flow>, control: &Arc<Control>) -> Running {
    let control = control.clone();
    thread::spawn(move || flow.run(&control).map(|()| flow))
}

/// What both endpoints counted and report.
pub struct Played {
    pub sender: PhaseCounts,
    pub receiver: PhaseCounts,
    pub outcomes: [FlowRecord; 2],
    pub elapsed: Duration,
}

/// Runs both endpoints to the run's bound; all of it is the window.
pub fn play(ready: [Ready; 2]) -> Played {
    play_from(ready, Phase::Measured, |_| {})
}

/// Runs both endpoints, which begin in a phase; `direct` changes the sender's phase or both. The receiver ends when it has all
/// that was sent.
pub fn play_from(
    ready: [Ready; 2],
    begin: Phase,
    direct: impl FnOnce(&[Arc<Control>; 2]),
) -> Played {
    let controls: [Arc<Control>; 2] = Default::default();
    controls.iter().for_each(|control| control.enter(begin));
    let since = Instant::now();
    let running = ready.into_iter().zip(&controls);
    let running: Vec<Running> = running
        .map(|(ready, control)| start(ready.flow, control))
        .collect();
    direct(&controls);
    let mut ends = Vec::new();
    for end in running {
        ends.push(end.join().expect("no panic"));
        controls[1].expect_messages(controls[0].counts().total().messages);
    }
    let elapsed = since.elapsed();
    // A failure of the receiver is the cause of the sender's.
    let [receiver, sender] = [ends.pop(), ends.pop()].map(|end| {
        let end = end.expect("two ends");
        end.unwrap_or_else(|error| panic!("{error}"))
    });
    let counts = controls.each_ref().map(|control| control.counts());
    let sent = [counts[0].measured.messages, counts[0].total().messages];
    Played {
        sender: counts[0],
        receiver: counts[1],
        outcomes: [sender.outcome(sent), receiver.outcome(sent)],
        elapsed,
    }
}
