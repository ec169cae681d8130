//! The knobs "gso_max_segs", "gso_max_size" and "gro_max_size": the largest super-packets that a
//! device sends, and that GRO makes of what it receives.
//!
//! The offloads that ethtool switches do not limit what TCP hands to the device: Linux gives every
//! TCP socket GSO (`sk_setup_caps` in net/core/sock.c). These limits do. A socket reads those of
//! GSO when it gets its route, so that they are in effect for connections made after them; GRO
//! reads its own at each packet.

use std::collections::BTreeMap;

use bitcost_model::host_settings::HostSetting;
use bitcost_sys::netlink::{Limit, Rtnl};

use crate::HostError;
use crate::device::check_name;
use crate::knob::{Knob, devices_with};
use crate::values::{VALUE, Values};

/// The name of the value for IPv4, where the kernel has a separate one.
const IPV4: &str = "ipv4";

pub struct SuperPackets {
    limit: Limit,
    /// The limit of IPv4, where the kernel has a separate one: a request is for both.
    ipv4: Option<Limit>,
    /// What the device allows, where the kernel reports it.
    most: Option<Limit>,
    /// The first kernel that reports it.
    since: &'static str,
}

pub const GSO_MAX_SEGS: SuperPackets = SuperPackets {
    limit: Limit::GsoSegments,
    ipv4: None,
    most: Some(Limit::TsoSegments),
    since: "4.16",
};

pub const GSO_MAX_SIZE: SuperPackets = SuperPackets {
    limit: Limit::GsoSize,
    ipv4: Some(Limit::GsoIpv4Size),
    most: Some(Limit::TsoSize),
    since: "4.16",
};

pub const GRO_MAX_SIZE: SuperPackets = SuperPackets {
    limit: Limit::GroSize,
    ipv4: Some(Limit::GroIpv4Size),
    most: None,
    since: "5.17",
};

impl SuperPackets {
    /// Its limits with the names of their values, that of IPv4 last: the kernel makes it the same
    /// as the other one where that is at most 65536.
    fn limits(&self) -> impl Iterator<Item = (&'static str, Limit)> + use<> {
        [(VALUE, self.limit)]
            .into_iter()
            .chain(self.ipv4.map(|limit| (IPV4, limit)))
    }

    fn number(&self, device: &str, text: &str) -> Result<u32, HostError> {
        let number = text.parse();
        number.map_err(|_| self.refused(device, text, "it is not a number".to_owned()))
    }

    fn refused(&self, device: &str, asked: &str, why: String) -> HostError {
        let name = self.name();
        HostError::cannot(format!("set {name} of {device} to {asked}"), why)
    }
}

impl Knob for SuperPackets {
    fn name(&self) -> &'static str {
        self.limit.name()
    }

    fn subjects(&self) -> Vec<String> {
        devices_with(self)
    }

    fn observe(&self, device: &str) -> Result<Values, HostError> {
        let found = read(device)?;
        let value =
            |(name, limit): (&str, Limit)| Some((name.to_owned(), found.get(&limit)?.to_string()));
        Ok(self.limits().filter_map(value).collect())
    }

    fn plan(&self, device: &str, now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        let text = &request.to_string();
        let asked = self.number(device, text)?;
        if !now.contains_key(VALUE) {
            let why = format!(
                "this kernel does not report such a limit; Linux {} and later do",
                self.since
            );
            return Err(self.refused(device, text, why));
        }
        let most = self
            .most
            .and_then(|most| Some((most, *read(device).ok()?.get(&most)?)));
        if let Some((limit, most)) = most.filter(|(_, most)| asked > *most) {
            let why = format!("its driver takes at most {most} ({})", limit.name());
            return Err(self.refused(device, text, why));
        }
        let names = now.keys().cloned();
        Ok(names.map(|name| (name, text.clone())).collect())
    }

    fn write(&self, device: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        let mut limits = Vec::new();
        for (name, limit) in self.limits() {
            let Some(text) = values.get(name) else {
                continue;
            };
            limits.push((limit, self.number(device, text)?));
        }
        if limits.is_empty() {
            return Ok(());
        }
        let mut rtnl = Rtnl::open()?;
        let index = rtnl.link(device)?.index;
        Ok(rtnl.set_limits(index, &limits)?)
    }
}

fn read(device: &str) -> Result<BTreeMap<Limit, u32>, HostError> {
    check_name(device)?;
    Ok(Rtnl::open()?.limits(device)?)
}
