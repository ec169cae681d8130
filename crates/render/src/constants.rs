//! The constants of hosts, as remarks about an execution.

use bitcost_analysis::summary::Summary;
use bitcost_model::constants::{HostConstants, MachineConstants};
use bitcost_model::harmless;

use crate::number;

/// The constants of each machine, in one sentence.
pub(crate) fn constants_remarks(summary: &Summary) -> Vec<String> {
    let machines = &summary.constants;
    let of = |machine: &MachineConstants| {
        let name = match (&machine.roles[..], machines.len()) {
            ([role], 2..) => format!("{}: ", role.name()),
            _ => String::new(),
        };
        let absent = || {
            let why = machine.absent.as_deref();
            let why = why.unwrap_or("the log names no reason");
            format!("not measured ({})", harmless(why))
        };
        let words = machine.host.as_ref().map_or_else(absent, words);
        format!("{name}{words}")
    };
    machines.iter().map(of).collect()
}

fn words(host: &HostConstants) -> String {
    let us = |ns: f64| number::plain(ns / 1000.0);
    let wake_up = host.wake_up.map(|wake| {
        format!(
            "a wake-up takes {} µs of the waking CPU, and the thread runs after {} µs",
            us(wake.call_ns),
            us(wake.run_ns)
        )
    });
    let copy = host
        .copy_kib_ns
        .map(|ns| format!("copying a KiB takes {} ns", number::plain(ns)));
    let found: Vec<String> = wake_up.into_iter().chain(copy).collect();
    match found.is_empty() {
        true => "not measured (the machine is busy)".to_owned(),
        false => found.join("; "),
    }
}
