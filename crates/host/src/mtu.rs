//! The knob "mtu_bytes": the largest packet of a device.

use std::fs;

use bitcost_model::host_settings::{HostSetting, MTU};
use bitcost_sys::netlink::Rtnl;

use crate::HostError;
use crate::device::link;
use crate::knob::Knob;
use crate::snapshot;
use crate::values::{VALUE, Values, single};

/// The least MTU with which a device keeps its IPv6 addresses and parameters (RFC 8200).
const IPV6_LEAST: u32 = 1280;

pub struct Mtu;

impl Knob for Mtu {
    fn name(&self) -> &'static str {
        MTU.setting
    }

    fn observe(&self, device: &str) -> Result<Values, HostError> {
        Ok(single(link(device)?.mtu_bytes.to_string()))
    }

    fn side_effects(&self, device: &str) -> Result<Values, HostError> {
        snapshot::side_effects_of_mtu(device)
    }

    fn plan(&self, device: &str, now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        let values = single(request.to_string());
        let (asked, before) = (number(device, &values)?, number(device, now)?);
        let refuse = |why: String| {
            HostError::cannot(format!("set the MTU of {device} to {asked} bytes"), why)
        };
        if let Some(most) = link(device)?.mtu_max_bytes.filter(|most| asked > *most) {
            return Err(refuse(format!("its driver takes at most {most}")));
        }
        if asked < IPV6_LEAST && before >= IPV6_LEAST && has_ipv6(device) {
            return Err(refuse(format!(
                "under {IPV6_LEAST} the kernel removes its IPv6 addresses and parameters, which cannot be restored; allowed: {IPV6_LEAST} and more"
            )));
        }
        Ok(values)
    }

    fn write(&self, device: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        let mut rtnl = Rtnl::open()?;
        let index = rtnl.link(device)?.index;
        Ok(rtnl.set_mtu(index, number(device, values)?)?)
    }
}

fn number(device: &str, values: &Values) -> Result<u32, HostError> {
    let text = values.get(VALUE).map(String::as_str).unwrap_or_default();
    text.parse().map_err(|_| {
        HostError::cannot(
            format!("set the MTU of {device} to \"{text}\""),
            "it is not a number",
        )
    })
}

/// Whether the device has parameters of IPv6 (kernel doc: ip-sysctl, `net.ipv6.conf`), and maybe
/// addresses.
fn has_ipv6(device: &str) -> bool {
    fs::exists(format!("/proc/sys/net/ipv6/conf/{device}")).unwrap_or(false)
}
