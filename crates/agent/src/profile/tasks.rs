//! Whose work a thread does.

use bitcost_model::harmless;
use bitcost_model::profile::ProfiledTask;
use bitcost_model::record::Role;
use bitcost_probe::foreign::{Census, Own, Process};

/// Longest name of a thread that is kept, in characters.
const NAME_MAX: usize = 32;

pub struct Tasks {
    /// Every process, and which of them are the run's; absent where `/proc` does not show them.
    pub run: Option<(Census, Own)>,
    pub lab: Vec<u32>,
    /// The interface towards the other endpoint, and the kernel threads that take its packets.
    pub device: String,
    pub napi: Vec<u32>,
}

impl Tasks {
    /// The task of a thread, with what was found of it. Traffic threads have the name of their role, by which they are known
    /// also to the agent of the other endpoint.
    pub fn of(&self, process: u32, thread: u32, found: Option<&Process>) -> ProfiledTask {
        if thread == 0 {
            return ProfiledTask::Idle;
        }
        if self.napi.contains(&thread) {
            return ProfiledTask::Napi(self.device.clone());
        }
        let name = found.map_or("[ended]", Process::name);
        let shown: String = harmless(name).chars().take(NAME_MAX).collect();
        if found.is_some_and(Process::is_of_kernel) {
            return kernel_thread(&shown);
        }
        if self.lab.contains(&process) {
            return ProfiledTask::Wire;
        }
        let is_of_run = match &self.run {
            Some((census, own)) => own.has_all_of(census, process),
            None => process == std::process::id(),
        };
        match (is_of_run, Role::named(name)) {
            (false, _) => ProfiledTask::Other(shown),
            (true, Some(Role::Sender)) => ProfiledTask::Sender,
            (true, Some(Role::Receiver)) => ProfiledTask::Receiver,
            (true, None) => ProfiledTask::Agent,
        }
    }
}

fn kernel_thread(name: &str) -> ProfiledTask {
    if name.starts_with("ksoftirqd/") {
        return ProfiledTask::Softirq;
    }
    let of_device = name.strip_prefix("napi/");
    match of_device.and_then(|rest| rest.rsplit_once('-')) {
        Some((device, _)) => ProfiledTask::Napi(device.to_owned()),
        None => ProfiledTask::Other(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A service (20) with an agent (21) of this run; a lab (30); another program (40).
    fn tasks() -> Tasks {
        let parents = BTreeMap::from([(1, 0), (20, 1), (21, 20), (30, 20), (40, 1)]);
        let read = |pid: u32| {
            let parent = parents.get(&pid)?;
            let text = format!("{pid} (x) S {parent} 1 1 0 -1 0 9 9 9 9 1 0 0 0 20 0 1 0 7 4096");
            bitcost_probe::foreign::parse(&text)
        };
        let census = Census::of(0, || parents.keys().copied().collect(), read);
        let own = Own::of(&census, vec![20], vec![30]);
        Tasks {
            run: Some((census, own)),
            lab: vec![30],
            device: "eth0".to_owned(),
            napi: vec![50],
        }
    }

    #[test]
    fn each_thread_has_its_owner() {
        let named = |name: &str, is_of_kernel| {
            let flags = u64::from(is_of_kernel) << 21;
            let text = format!("7 ({name}) S 1 1 1 0 -1 {flags} 9 9 9 9 1 0 0 0 20 0 1 0 7 4096");
            bitcost_probe::foreign::parse(&text).expect("a line")
        };
        let other = |name: &str| ProfiledTask::Other(name.to_owned());
        for (process, thread, name, is_of_kernel, owner) in [
            (0, 0, "swapper/0", true, ProfiledTask::Idle),
            (
                50,
                50,
                "napi/eth0-7",
                true,
                ProfiledTask::Napi("eth0".into()),
            ),
            (51, 51, "napi/w-1-9", true, ProfiledTask::Napi("w-1".into())),
            (12, 12, "ksoftirqd/0", true, ProfiledTask::Softirq),
            (13, 13, "kworker/0:1", true, other("kworker/0:1")),
            (21, 60, "sender", false, ProfiledTask::Sender),
            (21, 61, "receiver", false, ProfiledTask::Receiver),
            (21, 62, "speed", false, ProfiledTask::Agent),
            (30, 63, "link-emulator", false, ProfiledTask::Wire),
            (40, 64, "sender", false, other("sender")),
            (40, 65, "napi/eth0-7", false, other("napi/eth0-7")),
        ] {
            let named = named(name, is_of_kernel);
            assert_eq!(tasks().of(process, thread, Some(&named)), owner, "{name}");
        }
        assert_eq!(tasks().of(41, 66, None), other("[ended]"));
    }
}
