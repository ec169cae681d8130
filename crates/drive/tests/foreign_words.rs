//! Agents that say what none of ours says: the controller gives them up with a sentence, and keeps neither their words nor
//! their addresses.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use drive::{Ends, Session, Way};
use model::conditions::Conditions;
use model::event::Event;
use model::plan::Plan;
use tempfile::TempDir;
use wire::{FromAgent, PROTOCOL, ToAgent, encode};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An agent that says these messages when it hears more than a greeting, or again and again where it is `endless`.
fn way(folder: &TempDir, name: &str, messages: &[FromAgent], endless: bool) -> Way {
    let hello = FromAgent::Hello { protocol: PROTOCOL, version: "test".to_owned() };
    let frames =
        |messages: &[FromAgent]| messages.iter().flat_map(|m| encode(m).expect("encodes")).collect::<Vec<u8>>();
    let (first, rest) = (folder.path().join(format!("{name}.first")), folder.path().join(format!("{name}.rest")));
    std::fs::write(&first, frames(&[hello])).expect("is written");
    std::fs::write(&rest, frames(messages)).expect("is written");
    let greeting = ToAgent::Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() };
    let heard = encode(&greeting).expect("encodes").len() + 1;
    let script = if endless {
        "cat \"$1\"; while cat \"$2\" 2>/dev/null; do :; done"
    } else {
        "cat \"$1\"; head -c \"$3\" >/dev/null; cat \"$2\"; cat >/dev/null; :"
    };
    let mut way = Way::new(name.to_owned(), move |_| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).args([&first, &rest]).arg(heard.to_string());
        Ok(command)
    });
    way.addresses = vec![HERE];
    way
}

/// Why the only run of a plan failed, where the receiver says that it listens there.
fn failure(addresses: Vec<Vec<SocketAddr>>) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let listening = |addresses| [FromAgent::Listening { addresses }];
    let sender = way(&folder, "one", &listening(vec![Vec::new()]), false);
    let receiver = way(&folder, "other", &listening(addresses), false);
    let stop = AtomicBool::new(false);
    let mut session = Session::open(Ends { sender, receiver }, &stop).expect("both greet");
    let conditions = Conditions { idle_baseline_ms: Some(0), ..Conditions::default() };
    let plan = Plan::of_one(conditions);
    let mut failed = None;
    let mut sink = |event: Event| {
        if let Event::RunFailed { reason, .. } = event {
            failed = Some(reason);
            // There is nothing more to be seen.
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    };
    let _ = session.execute(&plan, &BTreeSet::new(), &mut sink);
    failed.expect("the run fails")
}

#[test]
fn no_sender_is_sent_to_an_address_that_an_agent_makes_up() {
    let elsewhere = SocketAddr::from(([192, 0, 2, 1], 22));
    let reason = failure(vec![vec![elsewhere]]);
    let wanted = "the agent of the receiver at other says that it listens at 192.0.2.1:22, and the address of this path is 127.0.0.1";
    assert!(reason.contains(wanted), "{reason}");
    let reason = failure(vec![vec![SocketAddr::new(HERE, 9), elsewhere]]);
    assert!(reason.contains("listens at 2 addresses; there are 1 flows"), "{reason}");
    let reason = failure(Vec::new());
    assert!(reason.contains("listens for 0 workloads; there are 1"), "{reason}");
}

#[test]
fn an_agent_that_never_stops_talking_is_given_up_and_takes_no_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let sender = way(&folder, "one", &vec![FromAgent::Alive; 1000], true);
    let receiver = way(&folder, "other", &[], false);
    let stop = AtomicBool::new(false);
    let mut session = Session::open(Ends { sender, receiver }, &stop).expect("both greet");
    let error = session.describe().expect_err("it never describes its host").to_string();
    assert!(error.contains("waited in vain for a description of its host"), "{error}");
    drop(session);
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel's");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    assert!(peak.is_some_and(|kib: u64| kib < 100 << 10), "{peak:?} KiB");
}
