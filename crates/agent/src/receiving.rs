//! How the interface of a host of a lab receives: the CPUs of its kernel threads, its interrupt
//! moderation, and how a set of offloads turns merging off. Threads and moderation are set before
//! each run and read back; they end with the lab, so nothing is restored.

use std::path::PathBuf;

use bitcost_host::{GRO_MAX_SIZE, Knob, VALUE};
use bitcost_model::cpu_list::show_cpu_list;
use bitcost_model::protocol::{Part, Prepare};
use bitcost_model::record::{InEffect, RECEIVE_CPUS, Role};
use bitcost_sys::namespace::PrivateSysfs;
use bitcost_sys::thread::pin_thread_to;

use crate::describe::napi_threads;
use crate::refusal::Refusal;

/// Polls without a packet after which a moderated interface receives the next packet at once.
const IDLE_POLLS: u32 = 2;

/// Whether a set of offloads leaves the feature GRO on and turns merging off by its size: the
/// interface is one of a lab, and the kernel knows that size. A veth without GRO has no NAPI, and
/// would receive in the sender's system call on the sender's CPU.
pub fn keeps_gro(prepare: &Prepare) -> bool {
    let has_size = || {
        let limits = GRO_MAX_SIZE.observe(&prepare.device);
        limits.is_ok_and(|limits| limits.contains_key(VALUE))
    };
    prepare.receiving.is_some() && has_size()
}

pub fn apply(prepare: &Prepare) -> Result<Vec<InEffect>, Refusal> {
    let (Some(receiving), Some(first)) = (prepare.receiving, prepare.parts.first()) else {
        return Ok(Vec::new());
    };
    let mut in_effect = Vec::new();
    if receiving.has_own_cpus {
        in_effect.extend(place(prepare, first)?);
    }
    let asked = first.conditions.moderation_us;
    match (receiving.moderation_us, asked) {
        (Some(of_lab), _) => {
            let us = if prepare.parts.iter().any(receives_stream) {
                asked.unwrap_or(of_lab)
            } else {
                0
            };
            in_effect.push(moderate(&prepare.device, us)?);
        }
        (None, Some(us)) if us > 0 => {
            return Err(Refusal::from(format!(
                "set an interrupt moderation of {us} us: only root may, in a lab with threaded NAPI; leave moderation out, or start bitcost as root"
            )));
        }
        (None, _) => {}
    }
    Ok(in_effect)
}

/// Acknowledgements, requests and responses are received at once.
fn receives_stream(part: &Part) -> bool {
    part.role == Role::Receiver && !part.conditions.workload.is_transactional()
}

/// Pins the interface's kernel threads to the CPUs of the endpoint. An interface without GRO has
/// none.
fn place(prepare: &Prepare, part: &Part) -> Result<Option<InEffect>, String> {
    let mut cpus = part.conditions.places.end(part.role).cpus.clone();
    if cpus.is_empty() {
        cpus.clone_from(&prepare.cpus);
    }
    cpus.sort_unstable();
    let threads = napi_threads(&prepare.device).unwrap_or_default();
    if cpus.is_empty() || threads.is_empty() {
        return Ok(None);
    }
    for pid in threads {
        let failed = |why: String| format!("pin {} to CPUs {cpus:?}: {why}", shown(pid));
        check_is_napi(pid, &prepare.device).map_err(failed)?;
        let now = pin_thread_to(pid, &cpus).map_err(|error| failed(error.to_string()))?;
        if now != cpus {
            return Err(failed(format!("the kernel allows {now:?}")));
        }
    }
    Ok(Some(InEffect::as_requested(
        RECEIVE_CPUS,
        show_cpu_list(&cpus),
    )))
}

fn shown(pid: u32) -> String {
    format!("the kernel thread {pid}")
}

/// Process ids of the kernel are those of the machine's first PID namespace: in another one the
/// same number is another process.
fn check_is_napi(pid: u32, device: &str) -> Result<(), String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let start: String = format!("napi/{device}").chars().take(15).collect();
    if name.starts_with(&start) {
        Ok(())
    } else {
        Err(format!(
            "it is named {:?} and not {start}-…; use the PID namespace of the machine",
            name.trim()
        ))
    }
}

/// Sets the time from one poll of the interface to the next (kernel doc: networking/napi, "Software
/// IRQ coalescing").
fn moderate(device: &str, us: u32) -> Result<InEffect, String> {
    let polls = if us > 0 { IDLE_POLLS } else { 0 };
    let values = [
        ("napi_defer_hard_irqs", u64::from(polls)),
        ("gro_flush_timeout", u64::from(us) * 1000),
    ];
    let sysfs = PrivateSysfs::mount_in_own_table()
        .map_err(|error| format!("mount a sysfs that shows {device}: {error}"))?;
    for (name, value) in values {
        let path = PathBuf::from(format!("class/net/{device}/{name}"));
        let outcome = sysfs.set(&path, &value.to_string());
        outcome.map_err(|error| format!("set /sys/{} to {value}: {error}", path.display()))?;
    }
    Ok(InEffect::as_requested("moderation_us", us))
}
