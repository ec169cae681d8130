//! Warnings about labs that can be built: queues, bursts and delays that spoil a result.

use std::collections::BTreeMap;

use bitcost_model::shaping::{QueueLimit, Shaper};
use bitcost_model::shaping::{show_limit, show_rate, show_time};
use bitcost_model::topology::{End, Path, Topology};

/// Bytes of an Ethernet header, which queues count.
const ETHERNET_BYTES: u64 = 14;
/// The most bytes of a super-packet.
const SUPER_PACKET_BYTES: u64 = 65_536;
/// Ticks of a kernel in a second, in most distributions (CONFIG_HZ).
const TICKS_PER_S: u64 = 250;
const HOSTS_MAX: usize = 12;

/// A property that spoils a result, with its numbers and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub name: &'static str,
    pub message: String,
}

impl Warning {
    fn new(name: &'static str, message: impl Into<String>) -> Warning {
        Warning {
            name,
            message: message.into(),
        }
    }
}

/// The warnings about this lab, in the order of its links. `ends` are the hosts that play the
/// endpoints, the sender first; absent: any two hosts may.
pub fn warnings(topology: &Topology, ends: Option<(&str, &str)>) -> Vec<Warning> {
    let paths = paths(topology, ends);
    let bursts = topology.ends().filter_map(burst);
    let mut warnings: Vec<Warning> = queues(&paths).into_iter().chain(bursts).collect();
    warnings.extend(paths.iter().find_map(one_way));
    warnings
}

/// The paths that are checked, both directions of each pair of hosts.
fn paths<'a>(topology: &'a Topology, ends: Option<(&'a str, &'a str)>) -> Vec<Path<'a>> {
    let hosts: Vec<&str> = match ends {
        Some((sender, receiver)) => vec![sender, receiver],
        None => topology
            .hosts()
            .map(|host| host.name.as_str())
            .take(HOSTS_MAX)
            .collect(),
    };
    let pairs = hosts
        .iter()
        .flat_map(|from| hosts.iter().map(move |to| (*from, *to)));
    pairs
        .filter(|(from, to)| from != to)
        .filter_map(|(from, to)| topology.path(from, to))
        .collect()
}

/// A queue that is smaller than the data that arrives at the rate while packets are delayed in it.
fn queues(paths: &[Path<'_>]) -> Vec<Warning> {
    let mut found: BTreeMap<&str, Warning> = BTreeMap::new();
    for path in paths {
        let Some(rate) = path.rate_bps() else {
            continue;
        };
        let packet_bytes = u64::from(path.mtu_bytes) + ETHERNET_BYTES;
        for end in path.there.iter().filter(|end| end.egress.delay_us > 0) {
            if let Some(warning) = queue(end, rate, packet_bytes) {
                found.entry(&end.device).or_insert(warning);
            }
        }
    }
    found.into_values().collect()
}

fn queue(end: &End, rate_bps: u64, packet_bytes: u64) -> Option<Warning> {
    let in_flight =
        u64::try_from(u128::from(rate_bps) * u128::from(end.egress.delay_us) / 8_000_000).ok()?;
    let limit = end.egress.queue_limit?;
    let packets = in_flight.div_ceil(packet_bytes);
    let (is_short, remedy) = match limit {
        QueueLimit::Packets(room) => (
            u64::from(room) < packets,
            format!("{} packets", 2 * packets),
        ),
        QueueLimit::Segments(room) => (
            u64::from(room) < packets,
            format!("{} segments", 2 * packets),
        ),
        QueueLimit::Bytes(room) => (room < in_flight, format!("{} B", 2 * in_flight)),
    };
    let super_packets = match limit {
        QueueLimit::Packets(_) => format!(
            ". With segmentation offload these are {} super-packets of 64 KiB and seem to fit; with offloads off, it drops packets",
            in_flight.div_ceil(SUPER_PACKET_BYTES)
        ),
        _ => String::new(),
    };
    let (device, limit, rate) = (&end.device, show_limit(limit), show_rate(rate_bps));
    let message = format!(
        "{device} has room for {limit}; {rate} for {} are {in_flight} bytes, {packets} packets of {packet_bytes} \
         bytes{super_packets}. Give it queue_limit = \"{remedy}\"",
        show_time(end.egress.delay_us),
    );
    is_short.then_some(Warning::new("queue-limit", message))
}

/// A burst that is shorter than the data of one kernel tick, or than a super-packet.
fn burst(end: &End) -> Option<Warning> {
    let (rate, burst) = (end.egress.rate_bps?, u64::from(end.egress.burst_bytes?));
    if end.egress.needs_emulator() {
        return None;
    }
    let of_tick = rate / 8 / TICKS_PER_S;
    let needed = of_tick.max(SUPER_PACKET_BYTES);
    let cut = match end.egress.shaper {
        Shaper::Tbf if burst < SUPER_PACKET_BYTES => {
            ", and the token bucket cuts super-packets that are longer"
        }
        _ => "",
    };
    let message = format!(
        "{} lets {burst} bytes go at once; {} brings {of_tick} bytes in a tick of {} ms ({TICKS_PER_S} Hz){cut}. Give it \
         burst = \"{needed} B\"",
        end.device,
        show_rate(rate),
        1000 / TICKS_PER_S
    );
    (burst < of_tick || !cut.is_empty()).then_some(Warning::new("burst", message))
}

/// A delay in one direction only, which is mistaken for a round trip.
fn one_way(path: &Path<'_>) -> Option<Warning> {
    let (there, rtt) = (path.delay_us(), path.rtt_us());
    if there == 0 || rtt != there {
        return None;
    }
    let device = path
        .there
        .iter()
        .find(|end| end.egress.delay_us > 0)
        .map(|end| end.device.as_str())?;
    let (whole, half) = (show_time(there), show_time(there / 2));
    let message = format!(
        "the delay of {whole} is set in one direction only, at {device}: the round trip is {whole}, one way takes {whole} \
         and the other nothing. A path with that round trip has {half} each way; write that if it is meant"
    );
    Some(Warning::new("one-way-delay", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    fn found(lab: &str, ends: Option<(&str, &str)>) -> Vec<(&'static str, String)> {
        let topology = parse("lab.toml", lab).unwrap_or_else(|error| panic!("{error}"));
        warnings(&topology, ends)
            .into_iter()
            .map(|warning| (warning.name, warning.message))
            .collect()
    }

    #[test]
    fn the_lab_of_the_document_has_the_fault_that_made_its_result() {
        let warnings = found("topology = \"lab15\"", None);
        let names: Vec<&str> = warnings.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["queue-limit", "one-way-delay"]);
        for part in [
            "s1-eth2 has room for 1000 packets",
            "2500000 bytes, 1652 packets of 1514 bytes",
            "39 super-packets",
        ] {
            assert!(warnings[0].1.contains(part), "{part}: {}", warnings[0].1);
        }
        assert!(warnings[0].1.ends_with("queue_limit = \"3304 packets\""));
        assert!(warnings[1].1.contains("at s1-eth2: the round trip is 20ms"));
        let cured = "topology = \"lab15\"\n[egress.s1-eth2]\nqueue_limit = \"3304 packets\"\ndelay = \"10ms\"\n[egress.s2-eth1]\ndelay = \"10ms\"";
        assert_eq!(found(cured, None), []);
    }

    #[test]
    fn a_burst_must_last_a_tick() {
        let with = |burst: &str| {
            found(
                &format!("topology = \"lab15\"\n[egress.s2-eth2]\nburst = \"{burst}\""),
                Some(("h1", "h2")),
            )
        };
        let says = |burst: &str, part: &str| {
            with(burst)
                .iter()
                .any(|(name, message)| *name == "burst" && message.contains(part))
        };
        assert!(says(
            "499999 B",
            "brings 500000 bytes in a tick of 4 ms (250 Hz). Give it burst = \"500000 B\""
        ));
        assert!(says("15KiB", "cuts super-packets"));
        assert!(!says("500000 B", ""));
    }
}
