//! The kernel's answers, read from their bytes alone: for recorded and made-up answers.

use std::net::IpAddr;

use crate::netlink::connection::refusal;
use crate::netlink::error::Error;
use crate::netlink::ethtool::{Features, read_features};
use crate::netlink::generic::body;
use crate::netlink::message::{Reply, attribute, replies};
use crate::netlink::netdev::{Napi, read_napi};
use crate::netlink::qdisc::{
    Discipline, Parameters, Qdisc, Statistics, discipline, read_class, read_qdisc, read_statistics,
};
use crate::netlink::route::{Route, read_route};
use crate::netlink::rtnl::{Link, read_address, read_link};

/// One message of an answer, read as each kind of message that this crate requests; absent if it is
/// not of that kind.
#[derive(Debug)]
pub struct Said {
    /// The refusal, if it is an error or an acknowledgement with one.
    pub refusal: Option<Error>,
    /// A link.
    pub link: Option<Link>,
    /// An address of the link with the number 1.
    pub address: Option<IpAddr>,
    /// A route.
    pub route: Option<Route>,
    /// A qdisc.
    pub qdisc: Option<Qdisc>,
    /// Its options as parameters of each discipline that this crate can create.
    pub parameters: Vec<Parameters>,
    /// The class of an htb.
    pub class: Option<Parameters>,
    /// The counters of a qdisc.
    pub statistics: Option<Statistics>,
    /// A NAPI instance.
    pub napi: Option<Napi>,
    /// Features of a device; none if it is another kind of answer.
    pub features: Features,
}

/// Reads every whole message of a buffer that came from a netlink socket.
pub fn read(buffer: &[u8]) -> Vec<Said> {
    replies(buffer).iter().map(said).collect()
}

fn said(reply: &Reply) -> Said {
    let qdisc = read_qdisc(reply);
    let decoded = |kind: &str| Some((discipline(kind)?.decode)(&qdisc.as_ref()?.options));
    Said {
        refusal: refusal("read an answer", reply),
        link: read_link(reply),
        address: read_address(reply, 1),
        route: read_route(reply),
        parameters: Discipline::kinds().filter_map(decoded).collect(),
        class: reply.payload.get(20..).and_then(read_class),
        statistics: read_statistics(reply),
        napi: read_napi(reply),
        features: attribute(body(reply), 1)
            .map(|_| read_features(body(reply)))
            .unwrap_or_default(),
        qdisc,
    }
}
