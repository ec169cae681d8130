//! Whether this host can be sampled: who may, and what allows it.

use std::fmt::Display;
use std::io;

use bitcost_model::profile::RATE_HZ;
use bitcost_model::protocol::FailureCause;

use crate::refusal::Refusal;

/// The first PID namespace (`PROC_PID_INIT_INO`, linux/proc_ns.h).
const FIRST_PIDS: &str = "pid:[4026531836]";

/// Checks that this process knows the threads of the host by their numbers. In another PID namespace
/// the kernel gives those outside of it the number of an idle CPU.
pub fn check_namespace() -> Result<(), Refusal> {
    let own = std::fs::read_link("/proc/self/ns/pid");
    match own.is_ok_and(|own| own.to_str() != Some(FIRST_PIDS)) {
        true => Err(lacks(
            "this process is in a PID namespace, as in a container or in a node of a running lab, where the kernel does not identify the threads outside of it that are sampled; run bitcost as root outside of it".to_owned(),
        )),
        false => Ok(()),
    }
}

/// Why the CPUs could not be sampled, who may, and what allows it.
pub fn refusal(error: &io::Error) -> Refusal {
    let allowed = setting("perf_event_max_sample_rate");
    if let Some(allowed) = allowed.filter(|allowed| *allowed < i64::from(RATE_HZ)) {
        return lacks(format!(
            "this kernel allows at most {allowed} samples per second of each CPU, and bitcost takes {RATE_HZ}; as root: sysctl kernel.perf_event_max_sample_rate={RATE_HZ}"
        ));
    }
    match (error.kind(), setting("perf_event_paranoid")) {
        (_, None) => {
            lacks("this kernel has no perf_event_open (CONFIG_PERF_EVENTS), or hides it".to_owned())
        }
        (io::ErrorKind::PermissionDenied, Some(value)) => lacks(format!(
            "{error}: kernel.perf_event_paranoid is {value}, so only root of the machine (root of a user namespace, as in a user's lab, is not enough) or a process with CAP_PERFMON may; run bitcost as root, or allow it to everybody: sysctl kernel.perf_event_paranoid=0 kernel.kptr_restrict=0"
        )),
        (_, Some(_)) => lacks(format!(
            "this kernel can sample by neither cycles nor cpu-clock: {error}"
        )),
    }
}

pub fn lacks(why: impl Display) -> Refusal {
    Refusal {
        reason: format!("profile the CPUs of this host: {why}"),
        cause: FailureCause::HostLacks,
    }
}

/// A number among the kernel's settings; absent where it has none of this name.
pub fn setting(name: &str) -> Option<i64> {
    let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
    text.trim().parse().ok()
}
