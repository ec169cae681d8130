//! Whose work a thread does.

use bitcost_model::harmless;
use bitcost_model::profile::ProfiledTask;
use bitcost_model::record::Role;
use bitcost_probe::foreign::{Census, Own};

use super::counted::Named;

/// Longest name of a thread that is kept, in characters.
const NAME_MAX: usize = 32;

/// The names of traffic threads, by which they are known also to the agent of the other endpoint.
const TRAFFIC: [(Role, &str); 2] = [(Role::Sender, "sender"), (Role::Receiver, "receiver")];

pub fn thread_name(role: Role) -> &'static str {
    match role {
        Role::Sender => TRAFFIC[0].1,
        Role::Receiver => TRAFFIC[1].1,
    }
}

pub struct Tasks {
    /// Every process, and which of them are the run's; absent where `/proc` does not show them.
    pub run: Option<(Census, Own)>,
    pub lab: Vec<u32>,
    /// The interface towards the other endpoint, and the kernel threads that take its packets.
    pub device: String,
    pub napi: Vec<u32>,
}

impl Tasks {
    pub fn of(&self, process: u32, thread: u32, named: Option<&Named>) -> ProfiledTask {
        if thread == 0 {
            return ProfiledTask::Idle;
        }
        if self.napi.contains(&thread) {
            return ProfiledTask::Napi(self.device.clone());
        }
        let name = named.map_or("", |named| &named.name);
        let shown: String = harmless(name).chars().take(NAME_MAX).collect();
        if named.is_some_and(|named| named.is_of_kernel) {
            return kernel_thread(&shown);
        }
        if self.lab.contains(&process) {
            return ProfiledTask::Wire;
        }
        let is_of_run = match &self.run {
            Some((census, own)) => own.has_all_of(census, process),
            None => process == std::process::id(),
        };
        if !is_of_run {
            return ProfiledTask::Other(shown);
        }
        match TRAFFIC.iter().find(|(_, traffic)| *traffic == name) {
            Some((Role::Sender, _)) => ProfiledTask::Sender,
            Some((Role::Receiver, _)) => ProfiledTask::Receiver,
            None => ProfiledTask::Agent,
        }
    }
}

fn kernel_thread(name: &str) -> ProfiledTask {
    if name.starts_with("ksoftirqd/") {
        return ProfiledTask::Softirq;
    }
    let device = name
        .strip_prefix("napi/")
        .and_then(|rest| rest.rsplit_once('-'));
    match device {
        Some((device, _)) => ProfiledTask::Napi(device.to_owned()),
        None => ProfiledTask::Other(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service (20) with an agent (21) of this run; a lab (30); another program (40).
    fn tasks() -> Tasks {
        let line = |pid: u32, parent: u32| {
            let text = format!("{pid} (x) S {parent} 1 1 0 -1 0 9 9 9 9 1 0 0 0 20 0 1 0 7 4096");
            (pid, text)
        };
        let lines = [
            line(1, 0),
            line(20, 1),
            line(21, 20),
            line(30, 20),
            line(40, 1),
        ];
        let texts = lines.iter().map(|(pid, text)| (*pid, text.as_str()));
        let census = Census::of_texts(0, texts);
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
        let named = |name: &str, is_of_kernel| Named {
            name: name.to_owned(),
            is_of_kernel,
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
        assert_eq!(tasks().of(41, 66, None), other(""));
    }
}
