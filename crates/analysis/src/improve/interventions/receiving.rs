//! Where a host handles what its interface receives: in a kernel thread, in soft interrupts, on another CPU.

use bitcost_model::host_settings::{RPS_CPUS, SettingRequest, THREADED_NAPI};
use bitcost_model::record::Role;

use crate::improve::intervention::{Offer, Trial, host};

/// The other one of kernel threads and soft interrupts, and the last CPU of the receiver's host.
pub(super) fn elsewhere(trial: &Trial) -> Vec<Offer> {
    let receiver = trial.host(Role::Receiver);
    let requests = &trial.test.conditions.host_settings;
    let is_free = |setting: &str| {
        let is_it = |request: &SettingRequest| request.setting == setting;
        !requests.iter().any(is_it)
    };
    let folder = format!("/sys/class/net/{}", receiver.device.name);
    let offer = |label: &str, (setting, value): (&'static str, &str), command: String| {
        let typed = format!("{}: {value}", trial.host_role(Role::Receiver).name());
        let command = trial.at(Role::Receiver, &command);
        Ok(host(label, &[(setting, &typed)], command))
    };
    let threads = receiver
        .device
        .napi_threaded
        .map(|has_threads| match has_threads {
            true => ("soft interrupts receive", "off", 0),
            false => ("a kernel thread receives", "on", 1),
        });
    let threads = threads.map(|(label, value, number)| {
        let command = format!("echo {number} > {folder}/threaded");
        offer(label, (THREADED_NAPI, value), command)
    });
    // The masks of more CPUs have commas.
    let last = receiver.cpus.last().filter(|cpu| (1..32).contains(*cpu));
    let rps = last.map(|cpu| {
        let command = format!("echo {:x} > {folder}/queues/rx-0/rps_cpus", 1_u32 << cpu);
        let label = format!("received packets on CPU {cpu} (RPS)");
        offer(&label, (RPS_CPUS, &cpu.to_string()), command)
    });
    let threads = threads.filter(|_| is_free(THREADED_NAPI));
    threads
        .into_iter()
        .chain(rps.filter(|_| is_free(RPS_CPUS)))
        .collect()
}
