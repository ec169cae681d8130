//! Processes that send messages which no real agent sends: the controller abandons them with an
//! error, and uses neither their messages nor their addresses.

use crate::world::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use bitcost_controller::{Endpoint, Session};
use bitcost_model::plan::Plan;
use bitcost_model::protocol::{PROTOCOL, encode};
use tempfile::TempDir;

/// A duration in which the messages would fill the memory if they were kept.
const TALK: Duration = Duration::from_millis(800);

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An agent that sends these messages when it receives more than a greeting, or repeatedly where it
/// is `endless`.
fn endpoint(folder: &TempDir, name: &str, messages: &[FromAgent], endless: bool) -> Endpoint {
    let hello = FromAgent::Hello {
        protocol: PROTOCOL,
        version: "test".to_owned(),
    };
    let frames = |messages: &[FromAgent]| {
        messages
            .iter()
            .flat_map(|m| encode(m).expect("encodes"))
            .collect::<Vec<u8>>()
    };
    let (first, rest) = (
        folder.path().join(format!("{name}.first")),
        folder.path().join(format!("{name}.rest")),
    );
    std::fs::write(&first, frames(&[hello])).expect("is written");
    std::fs::write(&rest, frames(messages)).expect("is written");
    let greeting = ToAgent::Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let heard = encode(&greeting).expect("encodes").len() + 1;
    let script = if endless {
        "cat \"$1\"; while cat \"$2\" 2>/dev/null; do :; done"
    } else {
        "cat \"$1\"; head -c \"$3\" >/dev/null; cat \"$2\"; cat >/dev/null; :"
    };
    let mut endpoint = Endpoint::new(name.to_owned(), move || {
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "sh"])
            .args([&first, &rest])
            .arg(heard.to_string());
        Ok(command)
    });
    endpoint.addresses = vec![HERE];
    endpoint
}

/// The reason why the only run of a plan failed, where the receiver reports these listening
/// addresses.
fn failure(addresses: Vec<Option<SocketAddr>>) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let listening = |addresses| {
        [FromAgent::Listening {
            addresses,
            origin: None,
        }]
    };
    let sender = endpoint(&folder, "one", &listening(vec![None]), false);
    let receiver = endpoint(&folder, "other", &listening(addresses), false);
    let stop = AtomicBool::new(false);
    let mut session = Session::open([sender, receiver], &stop).expect("both greet");
    let plan = Plan::of_one(conditions());
    let mut failed = None;
    let mut sink = |event: Event| {
        if let Event::RunFailed { reason, .. } = event {
            failed = Some(reason);
            // The test needs nothing further.
            stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    let _ = session.execute(&plan, &BTreeSet::new(), &mut sink);
    failed.expect("the run fails")
}

#[test]
fn invented_address_is_refused() {
    let elsewhere = SocketAddr::from(([192, 0, 2, 1], 22));
    let reason = failure(vec![Some(elsewhere)]);
    let wanted = "receiver agent at other reports that it listens at 192.0.2.1:22, but the address of this path is 127.0.0.1";
    assert!(reason.contains(wanted), "{reason}");
    for other in [
        vec![Some(SocketAddr::new(HERE, 9)); 2],
        vec![None],
        Vec::new(),
    ] {
        let reason = failure(other);
        assert!(reason.contains("listens for other workloads"), "{reason}");
    }
}

/// Unread messages wait in the agent's pipe, and not in memory.
#[test]
fn agent_that_never_stops_talking_takes_no_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let sender = endpoint(&folder, "one", &vec![FromAgent::Alive; 1000], true);
    let receiver = endpoint(&folder, "other", &[], false);
    let stop = AtomicBool::new(false);
    let mut session = Session::open([sender, receiver], &stop).expect("both greet");
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(TALK);
            stop.store(true, Ordering::Relaxed);
        });
        session.describe().expect_err("it never describes its host")
    });
    assert!(matches!(error, ControllerError::Stopped), "{error}");
    drop(session);
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel's");
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    });
    assert!(peak.is_some_and(|kib: u64| kib < 100 << 10), "{peak:?} KiB");
}
