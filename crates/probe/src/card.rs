//! The card of an interface: the NUMA node that it is attached to, the CPUs that its interrupts reach, its link and its counters (kernel doc:
//! ABI/testing/sysfs-bus-pci, ABI/testing/sysfs-class-net, core-api/irq/irq-affinity).
//!
//! It is found by the address that its driver reports, since folders of buses are the same in every network namespace.

mod counters;

use std::collections::BTreeMap;
use std::fs::read_dir;

use bitcost_model::counters::Card;
use bitcost_model::cpu_list::CPUS_MOST;
use bitcost_sys::ethtool;
use bitcost_sys::netlink::Ethtool;

use crate::read::{numbers, text};
use crate::source::{Source, Target, source};

pub(crate) fn open(target: &Target) -> Option<Source> {
    let (device, card) = (target.device.clone(), of(&target.device)?);
    let is_known = counters::is_known(&card.driver);
    let interrupts = folder("", &card.address).map(|folder| numbers(format!("{folder}/msi_irqs")));
    let interrupts = interrupts.unwrap_or_default();
    source(move |sample, _| {
        let counters = is_known.then(|| ethtool::counters(&device).ok()).flatten();
        let counters = counters.unwrap_or_default();
        let [ring_drops, pauses_received, pauses_sent] = counters::sums(&card.driver, &counters);
        sample.card = Some(Box::new(Card {
            handled: interrupts
                .iter()
                .filter_map(|number| handled(*number))
                .reduce(|a, b| a + b),
            ring_drops,
            pauses_received,
            pauses_sent,
            ..card.clone()
        }));
    })
}

/// The card of an interface of this namespace; absent of a virtual one.
pub fn of(device: &str) -> Option<Card> {
    let driver = ethtool::driver(device).ok()?;
    let card = at("", device, &driver.name?, &driver.address?)?;
    let lacks = lacking(device);
    Some(Card { lacks, ..card })
}

/// Offloads that save CPU time, and how the names of their features begin; those of checksums of SCTP and FCoE save none of TCP.
const OFFLOADS: [(&str, &str); 3] = [
    ("tso", "tx-tcp-segmentation"),
    ("tx", "tx-checksum-ip"),
    ("rx", "rx-checksum"),
];

/// Those of which every feature is off, and cannot be changed.
fn lacking(device: &str) -> Vec<String> {
    let features = Ethtool::open().and_then(|mut ethtool| ethtool.features(device));
    let features = features.unwrap_or_default();
    let is_lacking = |(_, start): &&(&str, &str)| {
        let mut own = features
            .iter()
            .filter(|(name, _)| name.starts_with(start))
            .peekable();
        own.peek().is_some() && own.all(|(_, bit)| !bit.active && !bit.is_changeable())
    };
    let names = OFFLOADS.iter().filter(is_lacking);
    names.map(|(name, _)| (*name).to_owned()).collect()
}

/// The card of a device, with this address, without counters, of the machine whose `/proc` and `/sys` are below this root.
pub fn at(root: &str, device: &str, driver: &str, address: &str) -> Option<Card> {
    let folder = folder(root, address)?;
    let node = text(&format!("{folder}/numa_node"));
    let of_link = |file: &str| text(&format!("{folder}/net/{device}/{file}"));
    Some(Card {
        driver: driver.to_owned(),
        address: address.to_owned(),
        // -1 where there is one node, or the firmware does not tell.
        node: node.and_then(|node| node.parse().ok()),
        near_cpus: text(&format!("{folder}/local_cpulist")).unwrap_or_default(),
        interrupts: interrupts(root, &folder),
        // -1 while there is no link.
        speed_mbps: of_link("speed").and_then(|mbps| mbps.parse().ok()),
        is_half_duplex: of_link("duplex").as_deref() == Some("half"),
        ..Card::default()
    })
}

/// The folder of the hardware with this address.
fn folder(root: &str, address: &str) -> Option<String> {
    let is_name = !address.contains('/') && !address.starts_with('.');
    let buses = read_dir(format!("{root}/sys/bus")).ok()?.flatten();
    let buses = buses.filter_map(|bus| bus.file_name().into_string().ok());
    let mut folders = buses.map(|bus| format!("{root}/sys/bus/{bus}/devices/{address}"));
    folders.find(|folder| is_name && std::fs::exists(folder).unwrap_or(false))
}

/// How often CPUs have handled an interrupt (kernel doc: ABI/testing/sysfs-kernel-irq).
fn handled(number: u32) -> Option<u64> {
    let counts = text(&format!("/sys/kernel/irq/{number}/per_cpu_count"))?;
    counts
        .split(',')
        .map(|count| count.parse::<u64>().ok())
        .sum()
}

/// The CPUs that each interrupt of the hardware in a folder reaches, of the first [`CPUS_MOST`] that something handles.
fn interrupts(root: &str, folder: &str) -> BTreeMap<String, String> {
    let all = numbers(format!("{folder}/msi_irqs")).into_iter();
    let handled = all.filter_map(|number| {
        let folder = format!("{root}/proc/irq/{number}");
        let lists = ["effective_affinity_list", "smp_affinity_list"];
        let mut lists = lists.iter().map(|list| format!("{folder}/{list}"));
        let cpus = lists.find_map(|list| text(&list))?;
        // What handles it has a folder, which the kernel names like the interrupt.
        let handler = read_dir(&folder).ok()?.flatten();
        let mut handler = handler.filter(|entry| entry.path().is_dir());
        Some((handler.next()?.file_name().into_string().ok()?, cpus))
    });
    handled.take(CPUS_MOST).collect()
}
