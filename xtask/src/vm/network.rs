//! What joins both machines: a network namespace with a bridge and an interface for each.
//!
//! A socket between two emulators has one queue and no segmentation offload, because it carries no
//! header with what is left to do for a packet. A tap has both. So the socket is for ssh, and a tap
//! of each machine for the data.

use std::path::Path;
use std::process::Command;

use anyhow::{Error, Result, ensure};

use super::inside::Role;
use crate::programs::output;

/// The device that taps are made by.
const TUN: &str = "/dev/net/tun";

/// Moves this process, and so its children, into a namespace with a tap of each machine.
pub fn make() -> Result<()> {
    ensure!(
        Path::new(TUN).exists(),
        "{TUN} is not there: load the module tun"
    );
    bitcost_testkit::enter_private_network().map_err(Error::msg)?;
    ip("link add wire mtu 9000 type bridge")?;
    for name in [Role::Near, Role::Far].map(Role::name) {
        ip(&format!(
            "tuntap add dev {name} mode tap multi_queue vnet_hdr"
        ))?;
        ip(&format!("link set {name} mtu 9000 master wire up"))?;
    }
    ip("link set wire up")
}

/// Cuts the link between both (`down`), or joins it (`up`).
pub fn set(to: &str) -> Result<()> {
    ip(&format!("link set {} {to}", Role::Far.name()))
}

/// The emulator's words for the interfaces of a machine: `eth0` for ssh, `eth1` for the data.
pub fn devices(role: Role) -> String {
    let (name, own) = (role.name(), role.number());
    let device = "-device virtio-net-pci,romfile=,mac=52:54:00:00:0";
    format!(
        "-netdev socket,id=ssh,udp=127.0.0.1:700{other},localaddr=127.0.0.1:700{own} {device}{own}:00,netdev=ssh \
         -netdev tap,id=data,ifname={name},queues=4,script=no,downscript=no {device}{own}:01,netdev=data,mq=on,vectors=10",
        other = 3 - own
    )
}

fn ip(words: &str) -> Result<()> {
    output(Command::new("ip").args(words.split(' '))).map(drop)
}
