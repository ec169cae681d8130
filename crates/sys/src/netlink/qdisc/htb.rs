//! The one class of an htb that shapes everything to one rate.

use libc::{RTM_GETTCLASS, RTM_NEWTCLASS, TCA_KIND, TCA_OPTIONS};

use super::disciplines::{Parameters, Requested, bytes_of_ticks, rate_spec, read_rate, ticks};
use super::traffic_header;
use crate::netlink::connection::NLM_F_CREATE;
use crate::netlink::error::Error;
use crate::netlink::message::{Message, Reply, attribute, u32_at};
use crate::netlink::rtnl::Rtnl;

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
/// Bytes that a class may send before the next one; without effect for one class.
const QUANTUM: u32 = 65_536;

impl Rtnl {
    /// Adds class 1 to the htb with this handle: `rate_bps` with a burst of `burst_bytes`.
    pub(super) fn add_htb_class(
        &mut self,
        index: u32,
        handle: u32,
        of: Requested,
    ) -> Result<(), Error> {
        let number = |name: &str| of(name).unwrap_or(0);
        let bytes_per_s = number("rate_bps") / 8;
        let burst = ticks(number("burst_bytes"), bytes_per_s);
        let mut options = rate_spec(bytes_per_s);
        options.extend(rate_spec(bytes_per_s));
        for word in [burst, burst, QUANTUM, 0, 0] {
            options.extend(word.to_ne_bytes());
        }
        let message = Message::new(
            RTM_NEWTCLASS,
            NLM_F_CREATE,
            &traffic_header(index, handle | 1, handle),
        )
        .attribute_text(TCA_KIND, "htb")
        .nested(TCA_OPTIONS, |nest| {
            let nest = nest.attribute(TCA_HTB_PARMS, &options);
            nest.attribute(TCA_HTB_RATE64, &bytes_per_s.to_ne_bytes())
                .attribute(TCA_HTB_CEIL64, &bytes_per_s.to_ne_bytes())
        });
        self.request_of(index, message, |link| {
            format!("add a class to the htb of {link}")
        })
    }

    /// Rate and burst of class 1 of the htb with this handle; empty when there is no such class.
    pub(super) fn htb_class(&mut self, index: u32, handle: u32) -> Result<Parameters, Error> {
        let message = Message::new(RTM_GETTCLASS, 0, &traffic_header(index, 0, 0));
        let answer = self.list_of(index, message, |link| format!("list the classes of {link}"))?;
        let of_class = |reply: &&Reply| u32_at(&reply.payload, 8) == Some(handle | 1);
        let class = answer
            .iter()
            .find(of_class)
            .and_then(|reply| read_class(reply.payload.get(20..)?));
        Ok(class.unwrap_or_default())
    }
}

pub(crate) fn read_class(attributes: &[u8]) -> Option<Parameters> {
    let options = attribute(attributes, TCA_OPTIONS)?;
    let parms = attribute(options, TCA_HTB_PARMS)?;
    let bytes_per_s = read_rate(parms, attribute(options, TCA_HTB_RATE64))?;
    let burst = bytes_of_ticks(u32_at(parms, 24)?, bytes_per_s);
    Some(Parameters::from([
        ("rate_bps", bytes_per_s.saturating_mul(8)),
        ("burst_bytes", burst),
    ]))
}
