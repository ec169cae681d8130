//! What a client that has the host of a service says to its agent, in any order.
//!
//! Each line of the input is a step: `rules JSON` comes first, if at all; `client TEXT` is a message of the client.

use std::net::{IpAddr, SocketAddr};

use bitcost_agent::Policy;
use bitcost_model::confinement::{Confinement, Rules};
use bitcost_model::protocol::ToAgent;

/// Any session: nothing that the rules forbid passes, and what passes would pass again.
pub fn session(bytes: &[u8]) {
    let mut to = Confinement {
        rules: Rules::default(),
        peer: IpAddr::from([192, 0, 2, 1]),
        local: SocketAddr::from(([192, 0, 2, 2], 7351)),
        listening: SocketAddr::from(([192, 0, 2, 2], 7351)),
        device: "eth0".to_owned(),
    };
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(text) = line.strip_prefix(b"rules ") {
            to.rules = serde_json::from_slice(text).unwrap_or_default();
        }
        let message = line.strip_prefix(b"client ");
        let message = message.and_then(|text| serde_json::from_slice(text).ok());
        if let Some(message) = message {
            judged(&to, message);
        }
    }
}

fn judged(to: &Confinement, message: ToAgent) {
    let message = match Policy(to).judge(message) {
        Ok(message) => message,
        Err(why) => return assert!(!why.is_empty()),
    };
    let again = Policy(to).judge(message.clone());
    assert_eq!(again.as_ref(), Ok(&message));
    let is_open = |device: &String| to.rules.interfaces.contains(device) || *device == to.device;
    match &message {
        ToAgent::Prepare(prepare) => {
            assert!(is_open(&prepare.device));
            let mut parts = prepare.parts.iter();
            assert!(parts.all(|part| part.listen_on == Some(to.local.ip())));
            let flows = prepare.parts.iter().map(|part| part.conditions.flows);
            assert!(flows.sum::<u32>() <= to.rules.max_flows);
        }
        ToAgent::Describe { device } | ToAgent::AddressesOf { device } => {
            assert!(is_open(device));
        }
        _ => {}
    }
}
