//! Moves the receive work of a veth device from the sender's system call into a kernel thread.
//!
//! A veth has NAPI only while GRO is on, and hands UDP packets to it only when the sending device
//! has TSO off or the receiving one has `rx-udp-gro-forwarding` on. So these two are set first.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitcost_sys::namespace::PrivateSysfs;
use bitcost_sys::netlink::{Ethtool, Features, napis};
use bitcost_sys::thread::{cpus_of_thread, pin_thread_to};

use crate::NapiState;
use crate::node;

const FEATURES: [&str; 2] = ["rx-gro", "rx-udp-gro-forwarding"];

/// Makes `device`, which is up in the calling thread's network namespace, use kernel threads.
///
/// If that is impossible the device is not changed, and the state has the reason.
pub(crate) fn make_threaded(device: &str, index: u32) -> NapiState {
    match try_threaded(device, index) {
        Ok(thread_pids) => NapiState::Threaded {
            unplaced: try_placing(device, &thread_pids).err(),
            thread_pids,
        },
        Err(reason) => NapiState::Inline {
            reason: Some(reason),
        },
    }
}

fn try_threaded(device: &str, index: u32) -> Result<Vec<u32>, String> {
    let text = |error: bitcost_sys::netlink::Error| error.to_string();
    let mut ethtool = Ethtool::open().map_err(text)?;
    let before = ethtool.features(device).map_err(text)?;
    let wanted = FEATURES.map(|name| (name.to_owned(), true)).into();
    let outcome = node::set_features(device, wanted).and_then(|()| write_threaded(device));
    match outcome {
        Ok(()) => thread_pids(index).map_err(text),
        Err(reason) => {
            let restored = ethtool.set_features(device, &requests(&before));
            let note = restored
                .err()
                .map_or_else(String::new, |error| format!("; and {error}"));
            Err(format!("{reason}{note}"))
        }
    }
}

/// Sets what is already so: the affinity of the threads, and no interrupt moderation. Both need
/// privileges over the whole machine, which an ordinary user's lab has not.
fn try_placing(device: &str, thread_pids: &[u32]) -> Result<(), String> {
    if thread_pids.is_empty() {
        return Err("this kernel does not list its threads (Linux before 6.8)".to_owned());
    }
    for pid in thread_pids {
        cpus_of_thread(*pid)
            .and_then(|cpus| pin_thread_to(*pid, &cpus))
            .map_err(|e| format!("its threads cannot be pinned to CPUs: {e}"))?;
    }
    let path = PathBuf::from(format!("class/net/{device}/napi_defer_hard_irqs"));
    PrivateSysfs::mount()
        .and_then(|sysfs| sysfs.write(&path, "0"))
        .map_err(|e| format!("its interrupt moderation cannot be set: {e}"))
}

fn write_threaded(device: &str) -> Result<(), String> {
    let sysfs = PrivateSysfs::mount().map_err(|e| {
        format!("cannot mount a sysfs that shows {device} (containers refuse it): {e}")
    })?;
    let path = PathBuf::from(format!("class/net/{device}/threaded"));
    let outcome = sysfs.set(&path, "1");
    outcome.map_err(|e| format!("cannot set /sys/{} to 1: {e}", path.display()))
}

fn thread_pids(index: u32) -> Result<Vec<u32>, bitcost_sys::netlink::Error> {
    let napis = napis(index)?.unwrap_or_default().into_iter();
    Ok(napis.filter_map(|napi| napi.thread_pid).collect())
}

fn requests(before: &Features) -> BTreeMap<String, bool> {
    let changeable = before.iter().filter(|(_, feature)| feature.is_changeable());
    changeable
        .map(|(name, feature)| (name.clone(), feature.wanted))
        .collect()
}
