//! The knobs of one number of a link: "mtu_bytes", its largest packet, and "gso_max_segs", "gso_max_size" and
//! "gro_max_size", the largest super-packets that it sends, and that GRO makes of what it receives.
//!
//! The offloads that ethtool switches do not limit what TCP hands to the device: Linux gives every
//! TCP socket GSO (`sk_setup_caps` in net/core/sock.c). These limits do. A socket reads those of
//! GSO when it gets its route, so that they are in effect for connections made after them; GRO
//! reads its own at each packet.

use std::fs;

use bitcost_model::host_settings::{self, HostSetting};
use bitcost_sys::netlink::Rtnl;

use crate::HostError;
use crate::device::link;
use crate::knob::Knob;
use crate::snapshot;
use crate::values::{VALUE, Values};

/// The name of the value for IPv4, where the kernel has a separate one.
const IPV4: &str = "ipv4";

/// The least MTU with which a device keeps its IPv6 addresses and parameters (RFC 8200).
const IPV6_LEAST: u32 = 1280;

pub struct LinkNumber {
    setting: &'static str,
    /// The kernel's name of the number.
    kernel_name: &'static str,
    /// That of IPv4, where the kernel has a separate one: a request is for both.
    ipv4: Option<&'static str>,
    /// What the device allows, where the kernel reports it.
    most: Option<&'static str>,
    /// The first kernel that reports it.
    since: &'static str,
}

pub const MTU: LinkNumber = LinkNumber {
    setting: host_settings::MTU.setting,
    kernel_name: "mtu",
    ipv4: None,
    most: Some("max_mtu"),
    since: "2.6",
};

pub const GSO_MAX_SEGS: LinkNumber = LinkNumber {
    setting: host_settings::GSO_MAX_SEGS.setting,
    kernel_name: "gso_max_segs",
    ipv4: None,
    most: Some("tso_max_segs"),
    since: "4.16",
};

pub const GSO_MAX_SIZE: LinkNumber = LinkNumber {
    setting: host_settings::GSO_MAX_SIZE.setting,
    kernel_name: "gso_max_size",
    ipv4: Some("gso_ipv4_max_size"),
    most: Some("tso_max_size"),
    since: "4.16",
};

pub const GRO_MAX_SIZE: LinkNumber = LinkNumber {
    setting: host_settings::GRO_MAX_SIZE.setting,
    kernel_name: "gro_max_size",
    ipv4: Some("gro_ipv4_max_size"),
    most: None,
    since: "5.17",
};

impl LinkNumber {
    fn is_mtu(&self) -> bool {
        self.kernel_name == MTU.kernel_name
    }

    /// The names of its values with those of the kernel, that of IPv4 last: the kernel makes it the same
    /// as the other one where that is at most 65536.
    fn numbers(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let own = [(VALUE, self.kernel_name)].into_iter();
        own.chain(self.ipv4.map(|name| (IPV4, name)))
    }

    fn number(&self, device: &str, text: &str) -> Result<u32, HostError> {
        let number = text.parse();
        number.map_err(|_| self.refused(device, text, "it is not a number".to_owned()))
    }

    fn refused(&self, device: &str, asked: &str, why: String) -> HostError {
        let name = self.setting;
        HostError::cannot(format!("set {name} of {device} to {asked}"), why)
    }
}

impl Knob for LinkNumber {
    fn name(&self) -> &'static str {
        self.setting
    }

    fn observe(&self, device: &str) -> Result<Values, HostError> {
        let numbers = link(device)?.numbers;
        let value =
            |(value, name): (&str, &str)| Some((value.to_owned(), numbers.get(name)?.to_string()));
        Ok(self.numbers().filter_map(value).collect())
    }

    fn side_effects(&self, device: &str) -> Result<Values, HostError> {
        match self.is_mtu() {
            true => snapshot::side_effects_of_mtu(device),
            false => Ok(Values::new()),
        }
    }

    fn plan(&self, device: &str, now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        let text = &request.to_string();
        let asked = self.number(device, text)?;
        let Some(before) = now.get(VALUE) else {
            let why = format!(
                "this kernel does not report such a limit; Linux {} and later do",
                self.since
            );
            return Err(self.refused(device, text, why));
        };
        let numbers = link(device)?.numbers;
        let most = self.most.and_then(|name| Some((name, *numbers.get(name)?)));
        // A driver without a limit reports 0.
        if let Some((name, most)) = most.filter(|(_, most)| asked > *most && *most > 0) {
            let why = format!("its driver takes at most {most} ({name})");
            return Err(self.refused(device, text, why));
        }
        let loses_ipv6 = self.is_mtu() && asked < IPV6_LEAST && has_ipv6(device);
        if loses_ipv6 && self.number(device, before)? >= IPV6_LEAST {
            let why = format!(
                "under {IPV6_LEAST} the kernel removes its IPv6 addresses and parameters, which cannot be restored; allowed: {IPV6_LEAST} and more"
            );
            return Err(self.refused(device, text, why));
        }
        let names = now.keys().cloned();
        Ok(names.map(|name| (name, text.clone())).collect())
    }

    fn write(&self, device: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        let given = self.numbers();
        let given = given.filter_map(|(value, name)| Some((name, values.get(value)?)));
        let numbers = given.map(|(name, text)| Ok((name, self.number(device, text)?)));
        let numbers = numbers.collect::<Result<Vec<_>, HostError>>()?;
        let mut rtnl = Rtnl::open()?;
        let index = rtnl.link(device)?.index;
        Ok(rtnl.set_numbers(index, &numbers)?)
    }
}

/// Whether the device has parameters of IPv6 (kernel doc: ip-sysctl, `net.ipv6.conf`), and maybe
/// addresses.
fn has_ipv6(device: &str) -> bool {
    fs::exists(format!("/proc/sys/net/ipv6/conf/{device}")).unwrap_or(false)
}
