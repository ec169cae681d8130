//! What joins both machines: a network namespace with a bridge and an interface for each.
//!
//! A socket between two emulators has one queue and no segmentation offload, because it carries no
//! header with what is left to do for a packet. A tap has both. So the socket is for ssh, and a tap
//! of each machine for the data.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, anyhow, bail};

use super::inside::Role;
use crate::programs::output;

/// The device that taps are made by.
const TUN: &str = "/dev/net/tun";
const BRIDGE: &str = "wire";
/// The largest MTU that it carries.
const MTU: &str = "9000";
const QUEUES: u32 = 4;

/// The namespace, which this process and its children are in.
pub struct Network {
    _inside: (),
}

/// Whether taps can be made.
pub fn possible() -> Result<()> {
    if !Path::new(TUN).exists() {
        bail!("{TUN} is not there: load the module tun");
    }
    Ok(())
}

impl Network {
    /// Moves this process into a namespace with the taps.
    pub fn new() -> Result<Network> {
        bitcost_testkit::enter_private_network().map_err(|error| anyhow!(error))?;
        ip(&["link", "add", BRIDGE, "type", "bridge"])?;
        for role in [Role::Near, Role::Far] {
            let name = role.name();
            let tap = ["tuntap", "add", "dev", name, "mode", "tap"];
            ip(&[&tap[..], &["multi_queue", "vnet_hdr"]].concat())?;
            ip(&["link", "set", name, "mtu", MTU, "master", BRIDGE, "up"])?;
        }
        ip(&["link", "set", BRIDGE, "mtu", MTU, "up"])?;
        Ok(Network { _inside: () })
    }

    /// Cuts the link between both, or joins it.
    pub fn set(&self, joined: bool) -> Result<()> {
        let to = if joined { "up" } else { "down" };
        ip(&["link", "set", Role::Far.name(), to])
    }

    /// The emulator's words for the interfaces of a machine: `eth0` for ssh, `eth1` for the data.
    pub fn devices(&self, role: Role) -> Vec<String> {
        let own = if role == Role::Near { 1 } else { 2 };
        let other = 3 - own;
        let device = |of: &str, number: u32, more: &str| {
            format!("virtio-net-pci,romfile=,netdev={of},mac=52:54:00:00:0{own}:0{number}{more}")
        };
        let (name, vectors) = (role.name(), 2 * QUEUES + 2);
        let words = [
            format!("socket,id=ssh,udp=127.0.0.1:700{other},localaddr=127.0.0.1:700{own}"),
            device("ssh", 0, ""),
            format!("tap,id=data,ifname={name},queues={QUEUES},script=no,downscript=no"),
            device("data", 1, &format!(",mq=on,vectors={vectors}")),
        ];
        let options = ["-netdev", "-device"].into_iter().cycle();
        options
            .zip(words)
            .flat_map(|(option, words)| [option.to_owned(), words])
            .collect()
    }
}

fn ip(words: &[&str]) -> Result<()> {
    output(Command::new("ip").args(words)).map(drop)
}
