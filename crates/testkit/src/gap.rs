//! Two hosts whose links end, unconnected, in the caller's namespace: for tests of programs that
//! connect them.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use bitcost_sys::namespace::{Kind, enter};
use bitcost_sys::netlink::{Rtnl, VethPair};
use bitcost_sys::process::enter_before_exec;

use crate::process::new_network;

pub const DEVICE: &str = "eth0";

/// Number of links that were made: the kernel removes those of a dropped gap with a delay.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A host in a separate network namespace, with one device.
#[derive(Debug)]
pub struct Host {
    namespace: OwnedFd,
    pub address: Ipv4Addr,
}

impl Host {
    fn new(last: u8) -> Host {
        let namespace = new_network().expect("makes a network namespace");
        Host {
            namespace,
            address: Ipv4Addr::new(10, 0, 0, last),
        }
    }

    /// Runs `work` in a thread that is in the host; sockets made there stay there.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let there = || {
            enter(self.namespace.as_fd(), Kind::Net).expect("enters");
            work()
        };
        thread::scope(|scope| scope.spawn(there).join().expect("joins"))
    }

    /// Makes `command` start its program in the host, and die with the thread that spawns it.
    pub fn put(&self, command: &mut Command) {
        let net = self.namespace.try_clone().expect("duplicates");
        enter_before_exec(command, None, net);
    }
}

/// Two hosts, and the other ends of their links in the caller's namespace.
#[derive(Debug)]
pub struct Gap {
    /// 10.0.0.1 and 10.0.0.2.
    pub hosts: [Host; 2],
    /// The interface indexes in the caller's namespace, in the order of the hosts.
    pub devices: [u32; 2],
    pub names: [String; 2],
}

impl Gap {
    /// Makes both hosts and their links. The caller must be root of its network namespace.
    pub fn new(mtu_bytes: u32) -> Gap {
        let hosts = [Host::new(1), Host::new(2)];
        // Without IPv6 the kernel sends nothing unasked: only the packets of a test pass, and ARP.
        let hush = || {
            drop(std::fs::write(
                "/proc/sys/net/ipv6/conf/default/disable_ipv6",
                "1",
            ))
        };
        hush();
        hosts.iter().for_each(|host| host.run(hush));
        let names = hosts
            .each_ref()
            .map(|_| format!("gap{}", MADE.fetch_add(1, Ordering::Relaxed)));
        let devices = [0, 1].map(|end| link(&hosts[end], &names[end], mtu_bytes));
        Gap {
            hosts,
            devices,
            names,
        }
    }
}

fn link(host: &Host, name: &str, mtu_bytes: u32) -> u32 {
    let peer_netns = Some(host.namespace.as_fd());
    let mut rtnl = Rtnl::open().expect("opens");
    rtnl.create_veth(&VethPair {
        name,
        peer_name: DEVICE,
        peer_netns,
        mtu_bytes,
    })
    .expect("makes a veth pair");
    let address = IpAddr::from(host.address);
    host.run(|| {
        let mut rtnl = Rtnl::open().expect("opens");
        for name in ["lo", DEVICE] {
            let link = rtnl.link(name).expect("is there");
            rtnl.set_up(link.index, true).expect("goes up");
        }
        let link = rtnl.link(DEVICE).expect("is there");
        rtnl.add_address(link.index, address, 24)
            .expect("takes its address");
    });
    let index = rtnl.link(name).expect("is there").index;
    rtnl.set_up(index, true).expect("goes up");
    index
}
