//! The kernel's answers, read from their bytes alone: for recorded and made-up answers.

use crate::netlink::connection::refusal;
use crate::netlink::ethtool::read_features;
use crate::netlink::generic::body;
use crate::netlink::message::{Reply, replies};
use crate::netlink::netdev::read_napi;
use crate::netlink::qdisc::{Discipline, discipline, read_qdisc};
use crate::netlink::records::{read_address, read_route_record};
use crate::netlink::rtnl::read_link;

/// Reads every whole message of a buffer that came from a netlink socket, each as all kinds of messages that this crate
/// requests, and shows what was read.
pub fn read(buffer: &[u8]) -> Vec<String> {
    replies(buffer).iter().map(shown).collect()
}

fn shown(reply: &Reply) -> String {
    let refusal = refusal("read an answer", reply).map(|refusal| refusal.to_string());
    let qdisc = read_qdisc(reply);
    let decoded = |kind: &str| Some((discipline(kind)?.decode)(&qdisc.as_ref()?.options));
    let parameters: Vec<_> = Discipline::kinds().filter_map(decoded).collect();
    let of_links = (read_link(reply), read_address(reply), read_napi(reply));
    let route = read_route_record(reply);
    let features = read_features(body(reply));
    format!("{refusal:?} {of_links:?} {route:?} {qdisc:?} {parameters:?} {features:?}")
}
