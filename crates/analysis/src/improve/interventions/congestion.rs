//! The congestion control of the sender: each other one that its kernel has loaded.

use bitcost_model::record::Role;

use crate::improve::intervention::{Candidate, Intervention, Offer, Trial};
use crate::ladder::NotTried;

/// The row.
pub static ROW: Intervention = Intervention {
    name: "congestion_control",
    of: &[
        "congestion_window_loss",
        "congestion_window_slow_start",
        "path_loss",
        "queue_overflow",
        "rate",
    ],
    offers,
};

/// What the kernel has where it is not loaded yet.
const OFTEN_LOADABLE: &str = "bbr";

fn offers(trial: &Trial) -> Vec<Offer> {
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
            Ok(Candidate::of_program(
                *name,
                &[("congestion_control", name)],
                format!("setsockopt(TCP_CONGESTION, \"{name}\") at the sender"),
            ))
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
