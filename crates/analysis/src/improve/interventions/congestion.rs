//! The congestion control of the sender: each other one that its kernel has loaded.

use bitcost_model::record::Role;

use crate::improve::intervention::{Offer, Trial, program};
use crate::ladder::NotTried;

/// What the kernel has where it is not loaded yet.
const OFTEN_LOADABLE: &str = "bbr";

pub(super) fn others(trial: &Trial) -> Vec<Offer> {
    let conditions = &trial.test.conditions;
    if conditions.workload.is_datagram() {
        return Vec::new();
    }
    let own = conditions.congestion_control.as_deref();
    let own = own.or_else(|| trial.sysctl(Role::Sender, "net.ipv4.tcp_congestion_control"));
    let available = trial.sysctl(Role::Sender, "net.ipv4.tcp_available_congestion_control");
    let names: Vec<&str> = available.unwrap_or("").split_whitespace().collect();
    let others = names.iter().filter(|name| Some(**name) != own);
    let mut offers: Vec<Offer> = others
        .map(|name| {
            let keep = format!("setsockopt(TCP_CONGESTION, \"{name}\") at the sender");
            program(*name, &[("congestion_control", name)], keep)
        })
        .collect();
    if !names.contains(&OFTEN_LOADABLE) {
        offers.push(Err(NotTried {
            what: OFTEN_LOADABLE.to_owned(),
            reason: "the sender's kernel has not loaded it".to_owned(),
            command: Some(format!("modprobe tcp_{OFTEN_LOADABLE}")),
        }));
    }
    offers
}
