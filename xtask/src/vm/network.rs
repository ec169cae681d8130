//! What joins both machines: a network namespace with a bridge and an interface for each.
//!
//! A socket between two emulators has one queue and no segmentation offload, because it carries no
//! header with what is left to do for a packet. A tap has both. So the socket is for ssh, and a tap
//! of each machine for the data, behind a card of which Linux has the driver.

use std::path::Path;
use std::process::Command;

use anyhow::{Error, Result, ensure};

use clap::Args;

use super::inside::Role;
use crate::programs::output;

/// What two machines have.
#[derive(Clone, Args)]
pub struct Hardware {
    /// Their card for the data, on which each setting of hosts is then set alone, for a column of docs/drivers.md
    #[arg(long, requires = "pair", value_parser = ["virtio", "e1000e", "vmxnet3"])]
    pub card: Option<String>,
    /// Queues of the card, where it is virtio
    #[arg(long, requires = "pair", default_value_t = 4)]
    pub queues: usize,
    /// CPUs of each
    #[arg(long, requires = "pair", default_value_t = 2)]
    pub cpus: usize,
    /// NUMA nodes of each; the card is on the last one
    #[arg(long, requires = "pair", default_value_t = 1)]
    pub numa: usize,
}

impl Hardware {
    /// The driver of the card.
    pub fn driver(&self) -> &str {
        match self.card.as_deref() {
            None | Some("virtio") => "virtio_net",
            Some(card) => card,
        }
    }

    /// The package whose kernel has the driver.
    pub fn kernel(&self) -> &'static str {
        match self.driver() {
            "e1000e" => "linux-image-amd64",
            _ => "linux-image-cloud-amd64",
        }
    }

    /// The emulator's name of the card, and the queues of its tap.
    fn device(&self) -> (String, usize) {
        match (self.driver(), self.queues) {
            ("virtio_net", queues) => (
                format!("virtio-net-pci,mq=on,vectors={}", 2 * queues + 2),
                queues,
            ),
            (driver, _) => (driver.to_owned(), 1),
        }
    }

    /// The emulator's words for CPUs, nodes and memory of a machine.
    pub fn processors(&self) -> String {
        let (cpus, memory) = (self.cpus / self.numa, 1024 / self.numa);
        let node = |node: usize| {
            let [first, last] = [node * cpus, (node + 1) * cpus - 1];
            format!(
                " -object memory-backend-ram,id=m{node},size={memory}M -numa node,memdev=m{node},cpus={first}-{last}"
            )
        };
        let nodes: String = (0..self.numa).map(node).collect();
        format!("-m 1024 -smp {}{nodes}", self.cpus)
    }

    /// Its words for the interfaces: `eth0` for ssh, `eth1` for the data.
    pub fn devices(&self, role: Role) -> String {
        let (name, own) = (role.name(), role.number());
        let ((card, queues), mac) = (self.device(), "romfile=,mac=52:54:00:00:0");
        // A bus of the last node.
        let (bridge, bus) = match self.numa {
            1 => (String::new(), "pci.0"),
            nodes => (
                format!("-device pxb,id=last,bus_nr=128,numa_node={}", nodes - 1),
                "last",
            ),
        };
        format!(
            "-netdev socket,id=ssh,udp=127.0.0.1:700{other},localaddr=127.0.0.1:700{own} \
             -device virtio-net-pci,{mac}{own}:00,netdev=ssh \
             -netdev tap,id=data,ifname={name},queues={queues},script=no,downscript=no \
             {bridge} -device {card},{mac}{own}:01,netdev=data,bus={bus}",
            other = 3 - own
        )
    }
}

/// The device that taps are made by.
const TUN: &str = "/dev/net/tun";

/// Moves this process, and so its children, into a namespace with a tap of each machine.
pub fn make(hardware: &Hardware) -> Result<()> {
    ensure!(
        Path::new(TUN).exists(),
        "{TUN} is not there: load the module tun"
    );
    bitcost_testkit::enter_private_network().map_err(Error::msg)?;
    let many = ["", " multi_queue"][usize::from(hardware.device().1 > 1)];
    ip("link add wire mtu 9000 type bridge")?;
    for name in [Role::Near, Role::Far].map(Role::name) {
        ip(&format!("tuntap add dev {name} mode tap vnet_hdr{many}"))?;
        ip(&format!("link set {name} mtu 9000 master wire up"))?;
    }
    ip("link set wire up")
}

/// Cuts the link between both (`down`), or joins it (`up`).
pub fn set(to: &str) -> Result<()> {
    ip(&format!("link set {} {to}", Role::Far.name()))
}

fn ip(words: &str) -> Result<()> {
    output(Command::new("ip").args(words.split(' '))).map(drop)
}
