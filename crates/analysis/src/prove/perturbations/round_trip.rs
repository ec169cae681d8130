//! The round-trip time: the links of a lab delay packets for longer.

use crate::prove::perturbation::{LEFT, Perturbation, Told, limiter, ratio};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "round_trip",
    resource: "round-trip time",
    told: Told::More,
    is_of: |limiter| limiter.name() == "latency",
    finds: |conditions| {
        let waits = conditions.workload.is_transactional();
        waits.then(|| limiter("latency", "")).flatten()
    },
    settings: |before| {
        let built = before.lab.filter(|lab| lab.running.is_none());
        let lab = built.ok_or("delay can be added only to a lab that the test builds")?;
        let rtt_us = lab.path().map_or(0, |path| path.rtt_us());
        let conditions = before.conditions;
        match conditions.workload.is_datagram() && !conditions.workload.is_transactional() {
            true => Err("a stream of datagrams waits for no answer".to_owned()),
            false if rtt_us == 0 => Err("no link of the lab has a delay".to_owned()),
            false => Ok(vec![("path_change", format!("delay {:.0}%", 100.0 / LEFT))]),
        }
    },
    left: |before, after| {
        let measured = ratio(after, before, |load| load.rtt_us);
        let asked = after.conditions.path_change?;
        measured.or(Some(100.0 / f64::from(asked.pct)))
    },
};
