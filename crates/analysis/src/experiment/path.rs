//! How a sender shares the path, and the queues of a lab.

use bitcost_model::record::Role;
use bitcost_model::shaping::QueueLimit;

use super::base::Base;
use super::change::{Offer, cannot, host, program, refused};

/// What the kernel has where it is not loaded yet.
const OFTEN_LOADABLE: &str = "bbr";

/// What Linux has where nobody chose another one.
const DEFAULT: &str = "cubic";

/// Bytes of a full packet on most links.
const PACKET_BYTES: f64 = 1514.0;

/// Queue limits, as multiples of what fills the path.
const TIMES: [f64; 3] = [0.5, 1.0, 2.0];

/// Another congestion control that the sender's kernel has loaded: bbr, else one of those that all answer losses alike.
pub(super) fn congestion_controls(base: &Base) -> Vec<Offer> {
    let conditions = &base.conditions;
    if conditions.workload.is_datagram() {
        return Vec::new();
    }
    let own = conditions.congestion_control.as_deref();
    let own = own.or_else(|| base.sysctl(Role::Sender, "net.ipv4.tcp_congestion_control"));
    let available = base.sysctl(Role::Sender, "net.ipv4.tcp_available_congestion_control");
    let mut names: Vec<&str> = available.unwrap_or("").split_whitespace().collect();
    // First the one whose rate falls least with single losses.
    names.sort_by_key(|name| (*name != OFTEN_LOADABLE, *name != DEFAULT));
    let other = names.iter().find(|name| Some(**name) != own);
    let offer = |name: &&str| {
        let keep = format!("setsockopt(TCP_CONGESTION, \"{name}\") at the sender");
        Ok(program(*name, &[("congestion_control", name)], keep))
    };
    let mut offers: Vec<Offer> = other.map(offer).into_iter().collect();
    if !names.contains(&OFTEN_LOADABLE) {
        let command = base.at(Role::Sender, &format!("modprobe tcp_{OFTEN_LOADABLE}"));
        let how = host(OFTEN_LOADABLE, &[], command);
        offers.push(cannot(how, "the sender's kernel has not loaded it"));
    }
    offers
}

/// The queue in front of a slow link.
pub(super) fn queue_limits(base: &Base) -> Vec<Offer> {
    let label = "a longer queue in front of the slowest link";
    let Some(lab) = &base.lab else {
        let reason = "it may be at a host that is not reached from here";
        return vec![refused(label, reason)];
    };
    if lab.running.is_some() {
        let reason = "others use the running lab (bitcost lab set LAB DEVICE queue_limit=…)";
        return vec![refused(label, reason)];
    }
    let path = lab.path();
    let bdp = path.as_ref().and_then(|path| path.bdp_bytes());
    let limits = bdp.map(|bdp| TIMES.map(|times| (bdp as f64 * times / PACKET_BYTES).ceil()));
    let ends = path.iter().flat_map(|path| &path.there);
    let set = ends.filter(|end| end.egress.needs_emulator());
    let set = set.filter_map(|end| match end.egress.queue_limit {
        Some(QueueLimit::Packets(packets)) => Some(packets),
        _ => None,
    });
    let has = f64::from(set.min().unwrap_or(0));
    let offer = |packets: f64| {
        let limit = format!("{packets:.0} packets");
        let keep = format!("tc qdisc change dev DEV … limit {packets:.0} at the slowest link");
        Ok(program(
            format!("queue of {limit}"),
            &[("emulator_queue_limit", &limit)],
            keep,
        ))
    };
    let longer = limits
        .into_iter()
        .flatten()
        .filter(|packets| *packets > has);
    longer.map(offer).collect()
}
