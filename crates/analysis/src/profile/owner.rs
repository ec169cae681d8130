//! Whose a sample is: by its thread, by the device of a NAPI thread, and by the functions of a soft
//! interrupt on somebody's back.

use bitcost_model::conditions::Direction;
use bitcost_model::event::EndpointDescription;
use bitcost_model::profile::{ProfiledTask, is_idle};
use bitcost_model::record::Role;

use super::classify::base;
use crate::metrics::RunView;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    End(Role),
    Wire,
    Other,
    Idle,
}

/// The place of a profile: which ends are played on its host, and by which devices.
#[derive(Clone, Debug)]
pub struct Place {
    /// The end that the host plays; absent where it plays both.
    pub only: Option<Role>,
    /// The interface of each end, sender first.
    pub devices: [Option<String>; 2],
}

/// Where the kernel handles soft interrupts, by its names in all releases.
pub(super) const HANDLES: [&str; 3] = [
    "handle_softirqs",
    "__do_softirq",
    "__softirqentry_text_start",
];
pub(super) const RECEIVES: &str = "net_rx_action";
/// Functions of the lab's wire: its bridge, its forwarders.
const WIRE: [&str; 4] = [
    "br_handle_frame",
    "br_dev_xmit",
    "ip_forward",
    "ip6_forward",
];
/// Where queues of packets run on that had to wait for room.
const RESUMES: &str = "net_tx_action";
/// Functions that take a packet up to an endpoint.
const DELIVERS: [&str; 8] = [
    "ip_rcv",
    "ip_list_rcv",
    "ipv6_rcv",
    "ipv6_list_rcv",
    "ip_local_deliver",
    "ip_sublist_rcv",
    "arp_rcv",
    "icmp_rcv",
];
/// Work that TCP postpones to a soft interrupt for the sender.
const SENDS: [&str; 6] = [
    "tcp_tsq_handler",
    "tcp_tsq_workfn",
    "tcp_tasklet_func",
    "tcp_pace_kick",
    "tcp_write_timer",
    "tcp_write_timer_handler",
];
/// Work that TCP postpones to a soft interrupt for the receiver.
const ACKNOWLEDGES: [&str; 2] = ["tcp_delack_timer", "tcp_delack_timer_handler"];

impl Place {
    /// The place of the profile that the agent of an end took. The roles are those that are played;
    /// `ends` have the names of their hosts.
    pub fn of(
        role: Role,
        direction: Direction,
        shared_cpus: bool,
        ends: &[EndpointDescription],
    ) -> Place {
        let device = |role: Role| {
            let host = direction.role_of(role);
            let end = ends.iter().find(|end| end.role == host)?;
            Some(end.host.device.name.clone())
        };
        Place {
            only: (!shared_cpus).then_some(role),
            devices: Role::ALL.map(device),
        }
    }

    /// Whose a sample is, by its task and its functions; absent for a soft interrupt that receives, where they do not say for whom.
    pub(super) fn owner(&self, task: &ProfiledTask, stack: &str) -> Option<Owner> {
        let own = self.of_task(task);
        let frames: Vec<&str> = stack.split(';').map(base).collect();
        let owner = match frames.iter().rposition(|frame| *frame == RECEIVES) {
            Some(start) => self.received(own, &frames[start..]),
            None if self.only.is_none() && is_resumed(task, &frames) => Some(Owner::Wire),
            None => postponed(&frames).or(Some(own)),
        };
        match (self.only, owner) {
            (Some(end), None | Some(Owner::End(_))) => Some(Owner::End(end)),
            (_, Some(Owner::Idle)) if !is_idle(stack) => Some(Owner::Other),
            (_, owner) => owner,
        }
    }

    /// Whose a task is, before its functions are looked at.
    pub(super) fn of_task(&self, task: &ProfiledTask) -> Owner {
        match task {
            ProfiledTask::Sender => Owner::End(Role::Sender),
            ProfiledTask::Receiver => Owner::End(Role::Receiver),
            ProfiledTask::Napi(device) => self.of_device(device),
            ProfiledTask::Wire => Owner::Wire,
            ProfiledTask::Idle => Owner::Idle,
            ProfiledTask::Agent | ProfiledTask::Softirq | ProfiledTask::Other(_) => Owner::Other,
        }
    }

    /// The end whose interface towards the other end this is.
    pub(super) fn end_of(&self, device: &str) -> Option<Role> {
        let is_here = |role: Role| self.only.is_none_or(|only| only == role);
        let is_its = |role: Role| self.devices[role as usize].as_deref() == Some(device);
        Role::ALL
            .into_iter()
            .find(|role| is_here(*role) && is_its(*role))
    }

    /// The end of an interface; another interface is the wire's where a lab plays both ends.
    fn of_device(&self, device: &str) -> Owner {
        match self.only.or_else(|| self.end_of(device)) {
            Some(end) => Owner::End(end),
            None => Owner::Wire,
        }
    }

    /// What a soft interrupt that receives on the back of `own` works for: where the lab's wire is in
    /// the chain, for that; where a packet is taken up, for the other end than the one that sent it.
    fn received(&self, own: Owner, frames: &[&str]) -> Option<Owner> {
        let has = |names: &[&str]| frames.iter().any(|frame| names.contains(frame));
        match own {
            _ if self.only.is_none() && has(&WIRE) => Some(Owner::Wire),
            Owner::End(end) if has(&DELIVERS) => Some(Owner::End(end.other())),
            _ => None,
        }
    }
}

pub(super) fn end_of_cpu(cpu: Option<u32>, run: &RunView) -> Option<Role> {
    let cpu = cpu?;
    let mut ends = Role::ALL.into_iter();
    ends.find(|role| run.end(*role).pinned_cpus.contains(&cpu))
}

/// Whether a NAPI thread, which has taken packets, has the queue run on that fills its interface: over a
/// veth that of the wire's port.
fn is_resumed(task: &ProfiledTask, frames: &[&str]) -> bool {
    let mut outer = frames.iter().take_while(|frame| !frame.starts_with("asm_"));
    matches!(task, ProfiledTask::Napi(_)) && outer.any(|frame| *frame == RESUMES)
}

/// Whose postponed work of TCP a chain shows.
fn postponed(frames: &[&str]) -> Option<Owner> {
    let has = |names: &[&str]| frames.iter().any(|frame| names.contains(frame));
    if !has(&HANDLES) && !has(&["bh_worker"]) {
        return None;
    }
    match (has(&SENDS), has(&ACKNOWLEDGES)) {
        (true, _) => Some(Owner::End(Role::Sender)),
        (_, true) => Some(Owner::End(Role::Receiver)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Direction;
    use bitcost_model::event::EndpointDescription;
    use bitcost_model::machine::HostDescription;
    use bitcost_model::profile::ProfiledTask;
    use bitcost_model::record::Role;

    use super::{Owner, Place};

    const SENDER: Owner = Owner::End(Role::Sender);
    const RECEIVER: Owner = Owner::End(Role::Receiver);

    fn lab() -> Place {
        Place {
            only: None,
            devices: ["h1-eth0", "h2-eth0"].map(|name| Some(name.to_owned())),
        }
    }

    #[test]
    fn a_thread_works_for_its_end_and_a_napi_thread_for_its_device() {
        let of = |task: &ProfiledTask| lab().owner(task, "tcp_sendmsg");
        let napi = |device: &str| of(&ProfiledTask::Napi(device.to_owned()));
        assert_eq!(of(&ProfiledTask::Sender), Some(SENDER));
        assert_eq!(napi("h1-eth0"), Some(SENDER));
        assert_eq!(napi("h2-eth0"), Some(RECEIVER));
        assert_eq!(napi("wire-eth1"), Some(Owner::Wire));
        assert_eq!(of(&ProfiledTask::Agent), Some(Owner::Other));
    }

    #[test]
    fn in_reverse_the_host_called_receiver_has_the_senders_interface() {
        let end = |role, name: &str| {
            let mut host = HostDescription::default();
            host.device.name = name.to_owned();
            let place = String::new();
            EndpointDescription { role, place, host }
        };
        let ends = [end(Role::Sender, "a0"), end(Role::Receiver, "b0")];
        let of = |direction| Place::of(Role::Sender, direction, true, &ends).end_of("b0");
        assert_eq!(of(Direction::Forward), Some(Role::Receiver));
        assert_eq!(of(Direction::Reverse), Some(Role::Sender));
    }

    #[test]
    fn a_soft_interrupt_that_takes_a_packet_up_works_for_the_other_end() {
        let back = "tcp_sendmsg;__local_bh_enable_ip;handle_softirqs;net_rx_action;__napi_poll;process_backlog";
        let up = format!("{back};__netif_receive_skb_one_core;ip_rcv;tcp_v4_rcv");
        let of = |task: &ProfiledTask, chain: &str| lab().owner(task, chain);
        assert_eq!(of(&ProfiledTask::Sender, &up), Some(RECEIVER));
        assert_eq!(of(&ProfiledTask::Receiver, &up), Some(SENDER));
        assert_eq!(of(&ProfiledTask::Sender, back), None);
        let bridge = format!("{back};br_handle_frame.part.0;__dev_queue_xmit;veth_xmit");
        assert_eq!(of(&ProfiledTask::Sender, &bridge), Some(Owner::Wire));
        let host = Place {
            only: Some(Role::Receiver),
            ..lab()
        };
        assert_eq!(host.owner(&ProfiledTask::Idle, &up), Some(RECEIVER));
    }

    #[test]
    fn a_queue_that_a_napi_thread_lets_run_on_is_the_wires() {
        let napi = ProfiledTask::Napi("h2-eth0".to_owned());
        let queue = "do_softirq;handle_softirqs;net_tx_action;__qdisc_run";
        let own = format!("napi_threaded_poll;napi_threaded_poll_loop;{queue}");
        assert_eq!(lab().owner(&napi, &own), Some(Owner::Wire));
        let timer = format!("napi_threaded_poll;asm_sysvec_apic_timer_interrupt;{queue}");
        assert_eq!(lab().owner(&napi, &timer), Some(RECEIVER));
        assert_eq!(lab().owner(&ProfiledTask::Sender, &own), Some(SENDER));
    }

    #[test]
    fn what_tcp_postpones_belongs_to_its_end() {
        let chain = "handle_softirqs;tasklet_action;tcp_tsq_handler;tcp_write_xmit";
        let of = |task: &ProfiledTask| lab().owner(task, chain);
        assert_eq!(of(&ProfiledTask::Softirq), Some(SENDER));
        assert_eq!(of(&ProfiledTask::Receiver), Some(SENDER));
    }

    #[test]
    fn an_idle_cpu_is_idle_until_something_interrupts_it() {
        let of = |chain: &str| lab().owner(&ProfiledTask::Idle, chain);
        let halt = "cpu_startup_entry;do_idle;default_idle;pv_native_safe_halt";
        assert_eq!(of(halt), Some(Owner::Idle));
        let woken = format!("{halt};asm_sysvec_reschedule_ipi;sysvec_reschedule_ipi");
        assert_eq!(of(&woken), Some(Owner::Other));
    }
}
