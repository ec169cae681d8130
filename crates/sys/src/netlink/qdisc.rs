//! Queueing disciplines: listing them, and replacing the one at the root of a link.
//!
//! Layouts are those of linux/pkt_sched.h. Times inside some of them are ticks of 64 ns
//! (`PSCHED_SHIFT` in include/net/pkt_sched.h).

use libc::{
    RTM_DELQDISC, RTM_GETQDISC, RTM_GETTFILTER, RTM_NEWQDISC, RTM_NEWTFILTER, TCA_KIND,
    TCA_OPTIONS, TCA_RATE, TCA_STAB,
};

mod disciplines;
mod statistics;

use crate::netlink::connection::{NLM_F_CREATE, NLM_F_REPLACE};
use crate::netlink::error::Error;
use crate::netlink::message::{Message, Reply, attribute, text, u32_at};
use crate::netlink::rtnl::Rtnl;

pub use disciplines::{Discipline, Parameters, Requested, discipline};
pub use statistics::Statistics;

const TCA_INGRESS_BLOCK: u16 = 13;
const TCA_EGRESS_BLOCK: u16 = 14;

/// The parent of the qdisc at the root of a link.
pub const ROOT: u32 = 0xffff_ffff;

/// A queueing discipline of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// The number of its link.
    pub link: u32,
    /// Its kind, such as "fq".
    pub kind: String,
    /// Its handle, major number in the upper 16 bits; 0 for a default of the kernel.
    pub handle: u32,
    /// Its parent class; [`ROOT`] is the root.
    pub parent: u32,
    /// Its parameters as the kernel lists them; empty when it has none.
    pub options: Vec<u8>,
    /// Its extras in addition to its parameters, in tc's words: a size table, an estimator, a
    /// shared block of filters.
    pub extras: Vec<&'static str>,
    /// Its counters; `None` when the kernel reports none.
    pub statistics: Option<Statistics>,
}

impl Qdisc {
    /// Its parameters by name; empty where this crate does not know the kind.
    pub fn parameters(&self) -> Parameters {
        let known = discipline(&self.kind);
        known.map_or_else(Parameters::new, |known| (known.decode)(&self.options))
    }
}

/// The extras that a qdisc may have in addition to its parameters (tc-stab(8), tc(8)).
const EXTRAS: [(u16, &str); 4] = [
    (TCA_STAB, "a size table (stab)"),
    (TCA_RATE, "a rate estimator"),
    (
        TCA_INGRESS_BLOCK,
        "a shared block of filters (ingress_block)",
    ),
    (TCA_EGRESS_BLOCK, "a shared block of filters (egress_block)"),
];

impl Rtnl {
    /// The qdiscs of a link, as the kernel lists them.
    pub fn qdiscs(&mut self, index: u32) -> Result<Vec<Qdisc>, Error> {
        let message = Message::new(RTM_GETQDISC, 0, &traffic_header(index, 0, 0));
        let answer = self.list_of(index, message, |link| format!("list the qdiscs of {link}"))?;
        let qdiscs = answer.iter().filter_map(read_qdisc);
        Ok(qdiscs.filter(|qdisc| qdisc.link == index).collect())
    }

    /// The qdiscs of every link of this namespace.
    pub fn all_qdiscs(&mut self) -> Result<Vec<Qdisc>, Error> {
        let message = Message::new(RTM_GETQDISC, 0, &traffic_header(0, 0, 0));
        let answer = self.connection.dump("list the qdiscs", message)?;
        Ok(answer.iter().filter_map(read_qdisc).collect())
    }

    /// How many filters the root qdisc of a link has; none if the kernel has no filters.
    pub fn root_filters(&mut self, index: u32) -> Result<usize, Error> {
        let message = Message::new(RTM_GETTFILTER, 0, &traffic_header(index, 0, 0));
        match self.list_of(index, message, |link| format!("list the filters of {link}")) {
            Ok(answer) => Ok(answer
                .iter()
                .filter(|reply| reply.kind == RTM_NEWTFILTER)
                .count()),
            Err(error) if error.is_unsupported() => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Puts a qdisc with these options at the root of a link, or below the class `parent` of another one, in place of the
    /// present one, in one step.
    ///
    /// `handle` must be one that the link does not have, or 0: the kernel chooses. `ENOENT` when
    /// the kernel has no such kind.
    pub fn put_qdisc(
        &mut self,
        (index, parent): (u32, u32),
        handle: u32,
        kind: &str,
        options: &[u8],
    ) -> Result<(), Error> {
        let header = traffic_header(index, handle, parent);
        let flags = NLM_F_CREATE | NLM_F_REPLACE;
        let mut message = Message::new(RTM_NEWQDISC, flags, &header).attribute_text(TCA_KIND, kind);
        if !options.is_empty() {
            message = message.attribute(TCA_OPTIONS, options);
        }
        let class = format!("{:x}:{:x}", parent >> 16, parent & 0xffff);
        self.request_of(index, message, |link| match parent {
            ROOT => format!("make {kind} the root qdisc of {link}"),
            _ => format!("put {kind} below the class {class} of {link}"),
        })
    }

    /// Makes a first-in first-out queue of `limit_packets` the root qdisc of a link. Read the
    /// qdiscs back. `EOPNOTSUPP` when the kernel has no qdiscs.
    pub fn set_root_pfifo(&mut self, index: u32, limit_packets: u32) -> Result<(), Error> {
        self.put_qdisc((index, ROOT), 0, "pfifo", &limit_packets.to_ne_bytes())
    }

    /// Removes the qdisc at the root of a link; the kernel puts its default there.
    ///
    /// `ENOENT` when there is only the kernel's default.
    pub fn delete_root(&mut self, index: u32) -> Result<(), Error> {
        let message = Message::new(RTM_DELQDISC, 0, &traffic_header(index, 0, ROOT));
        self.request_of(index, message, |link| {
            format!("remove the root qdisc of {link}")
        })
    }
}

/// Whether the kernel's value of a parameter is the requested one, apart from its units: bursts are times in steps of 64 ns
/// (800 bytes at 100 Gbit/s), shares in 2^-32, rates in bytes per second, times of fq_codel in steps of 1024 ns.
pub fn agrees(name: &str, requested: u64, actual: u64) -> bool {
    let step = match name {
        "burst_bytes" => 2 + requested / 64,
        "rate_bps" => 8,
        // Rounded down when it is taken, and again when it is listed.
        "target_us" | "interval_us" => 2,
        name if name.ends_with("_ppm") => 1,
        _ => 0,
    };
    requested.abs_diff(actual) <= step
}

/// The usual burst at a rate, in bytes: 4 ms, and at least two super-packets of 64 KiB.
pub fn usual_burst_bytes(rate_bps: u64) -> u64 {
    (rate_bps / 8 / 250).max(131_072)
}

/// `struct tcmsg`.
fn traffic_header(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    let mut header = vec![0; 4];
    for word in [index, handle, parent, 0] {
        header.extend_from_slice(&word.to_ne_bytes());
    }
    header
}

pub(crate) fn read_qdisc(reply: &Reply) -> Option<Qdisc> {
    if reply.kind != RTM_NEWQDISC {
        return None;
    }
    let attributes = reply.payload.get(20..)?;
    Some(Qdisc {
        link: u32_at(&reply.payload, 4)?,
        kind: attribute(attributes, TCA_KIND).map(text)?,
        handle: u32_at(&reply.payload, 8)?,
        parent: u32_at(&reply.payload, 12)?,
        options: attribute(attributes, TCA_OPTIONS)
            .map(<[u8]>::to_vec)
            .unwrap_or_default(),
        extras: EXTRAS
            .iter()
            .filter(|(kind, _)| attribute(attributes, *kind).is_some())
            .map(|(_, what)| *what)
            .collect(),
        statistics: statistics::read(attributes),
    })
}
