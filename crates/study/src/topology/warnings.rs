//! Warnings about labs that can be built: queues, bursts, delays, buffers and CPUs that spoil a
//! result.

use std::collections::BTreeMap;

use bitcost_model::conditions::{Conditions, Pacing};
use bitcost_model::host_settings::{QDISC, SYSCTL, SettingRequest};
use bitcost_model::record::Role;
use bitcost_model::shaping::{DelayBackend, QueueLimit, Shaper};
use bitcost_model::shaping::{show_limit, show_rate, show_time};
use bitcost_model::topology::{End, Path, Topology};

/// Bytes of an Ethernet header, which queues count.
const ETHERNET_BYTES: u64 = 14;
/// The most bytes of a super-packet.
const SUPER_PACKET_BYTES: u64 = 65_536;
/// Ticks of a kernel in a second, in most distributions (CONFIG_HZ).
const TICKS_PER_S: u64 = 250;
/// Most hosts whose paths to each other are checked.
const HOSTS_MAX: usize = 12;

/// A property that spoils a result, with its numbers and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Its name: one word.
    pub name: &'static str,
    /// The property, and what to do.
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

/// The facts that are known in addition to the lab.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ground<'a> {
    /// The hosts that play the endpoints, the sender first; absent: any two hosts may.
    pub ends: Option<(&'a str, &'a str)>,
    /// The conditions of a run; absent: they are unknown.
    pub conditions: Option<&'a Conditions>,
    /// The most bytes that the kernel's autotuning gives a TCP socket to send and to receive
    /// (`tcp_wmem`, `tcp_rmem`).
    pub tcp_buffers: Option<[u64; 2]>,
    /// The number of CPUs that the lab and its endpoints may use.
    pub cpus: Option<usize>,
}

/// The warnings about this lab, in the order of its links.
pub fn warnings(topology: &Topology, ground: &Ground<'_>) -> Vec<Warning> {
    let paths = paths(topology, ground);
    let mut warnings: Vec<Warning> = queues(&paths)
        .into_iter()
        .chain(topology.ends().filter_map(burst))
        .collect();
    warnings.extend(paths.iter().filter_map(one_way).take(1));
    if let ([path, ..], Some(conditions)) = (
        paths.as_slice(),
        ground.conditions.filter(|_| ground.ends.is_some()),
    ) {
        warnings.extend(buffers(path, conditions, ground.tcp_buffers));
    }
    warnings.extend(ground.conditions.and_then(pacing));
    warnings.extend(cpus(topology, ground));
    warnings
}

/// The paths that are checked, both directions of each pair of hosts.
fn paths<'a>(topology: &'a Topology, ground: &Ground<'_>) -> Vec<Path<'a>> {
    let hosts: Vec<&str> = match ground.ends {
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

fn cpus(topology: &Topology, ground: &Ground<'_>) -> Option<Warning> {
    let device = &topology
        .ends()
        .find(|end| end.egress.needs_emulator())?
        .device;
    let emulator = match topology.delay_backend {
        DelayBackend::Netem => return None,
        DelayBackend::Builtin => format!("the link emulator of {device}"),
        DelayBackend::Auto => {
            format!("the link emulator of {device}, taken where the kernel has no netem,")
        }
    };
    let cpus = ground.cpus.filter(|cpus| *cpus < 3)?;
    let message = format!(
        "{emulator} runs on the CPUs of the ends, {cpus} for the three: its CPU time is in their \
         figures, and it is late when they are busy. Use a machine with 3 CPUs or more, or rates that leave it time"
    );
    Some(Warning::new("emulator-cpus", message))
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

/// A socket buffer that is smaller than the bandwidth-delay product of the path.
fn buffers(path: &Path<'_>, conditions: &Conditions, usual: Option<[u64; 2]>) -> Vec<Warning> {
    let Some(bdp) = path
        .bdp_bytes()
        .filter(|_| !conditions.workload.is_datagram())
    else {
        return Vec::new();
    };
    let sockets = [
        (
            "send",
            conditions.send_buffer_bytes,
            "net.ipv4.tcp_wmem",
            Role::Sender,
        ),
        (
            "receive",
            conditions.receive_buffer_bytes,
            "net.ipv4.tcp_rmem",
            Role::Receiver,
        ),
    ];
    let mut warnings = Vec::new();
    for (index, (name, asked, sysctl, role)) in sockets.into_iter().enumerate() {
        let host = conditions.direction.role_of(role);
        let room = asked
            .map(u64::from)
            .or_else(|| most_of(&conditions.host_settings, sysctl, host))
            .or_else(|| Some(usual?[index]));
        let Some(room) = room.filter(|room| *room < bdp) else {
            continue;
        };
        let message = format!(
            "the {name} buffer holds at most {room} bytes, less than the bandwidth-delay product of {bdp} bytes \
             ({} × {}): it limits the rate to {} Mbit/s. Write tcp_buffers = \"8 bdp\", or a larger {}",
            show_rate(path.rate_bps().unwrap_or_default()),
            show_time(path.rtt_us()),
            room * 8 / path.rtt_us().max(1),
            match asked {
                Some(_) => format!("{name}_buffer_bytes"),
                None => sysctl.to_owned(),
            },
        );
        warnings.push(Warning::new("buffers", message));
    }
    warnings
}

/// The last of the three numbers that a run requests of such a sysctl.
fn most_of(requests: &[SettingRequest], sysctl: &str, host: Role) -> Option<u64> {
    let request = requests.iter().find(|request| {
        request.setting == SYSCTL
            && request.is_of(host)
            && request.subject.as_deref() == Some(sysctl)
    })?;
    request
        .values
        .get("value")?
        .split_whitespace()
        .last()?
        .parse()
        .ok()
}

/// Datagrams that the kernel shall pace, which only fq does.
fn pacing(conditions: &Conditions) -> Option<Warning> {
    let has_fq = conditions.host_settings.iter().any(|request| {
        request.setting == QDISC
            && request.is_of(conditions.direction.role_of(Role::Sender))
            && request.values.get("kind").is_some_and(|kind| kind == "fq")
    });
    let is_ineffective =
        conditions.pacing == Pacing::Kernel && conditions.workload.is_datagram() && !has_fq;
    let message = "the kernel paces datagrams only by the queueing discipline fq, which is not requested, and reports \
                   nothing where it cannot: request qdisc = \"sender: fq\", or pacing = \"sender\"";
    is_ineffective.then(|| Warning::new("pacing-without-fq", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_settings;
    use crate::topology::parse;
    use bitcost_model::conditions::Workload;

    fn found(lab: &str, ground: &Ground<'_>) -> Vec<(&'static str, String)> {
        let topology = parse("lab.toml", lab).unwrap_or_else(|error| panic!("{error}"));
        warnings(&topology, ground)
            .into_iter()
            .map(|warning| (warning.name, warning.message))
            .collect()
    }

    fn ends<'a>(conditions: Option<&'a Conditions>) -> Ground<'a> {
        Ground {
            ends: Some(("h1", "h2")),
            conditions,
            ..Ground::default()
        }
    }

    #[test]
    fn the_lab_of_the_document_has_the_fault_that_made_its_result() {
        let warnings = found("topology = \"lab15\"", &Ground::default());
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
        assert_eq!(found(cured, &Ground::default()), []);
    }

    #[test]
    fn a_burst_must_last_a_tick() {
        let with = |burst: &str| {
            found(
                &format!("topology = \"lab15\"\n[egress.s2-eth2]\nburst = \"{burst}\""),
                &ends(None),
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

    #[test]
    fn buffers_under_the_bdp_are_named() {
        let warnings = |conditions: &Conditions, usual| {
            let ground = Ground {
                tcp_buffers: usual,
                ..ends(Some(conditions))
            };
            let of_buffers = found("topology = \"lab15\"", &ground)
                .into_iter()
                .filter(|(name, _)| *name == "buffers");
            of_buffers.map(|(_, message)| message).collect::<Vec<_>>()
        };
        let mut conditions = Conditions::default();
        assert_eq!(warnings(&conditions, None).len(), 0);
        let usual = warnings(&conditions, Some([4_194_304, 1_000_000]));
        assert!(
            usual.len() == 1
                && usual[0].contains(
                    "1000000 bytes, less than the bandwidth-delay product of 2500000 bytes"
                ),
            "{usual:?}"
        );
        assert!(
            usual[0].contains("limits the rate to 400 Mbit/s") && usual[0].ends_with("tcp_rmem"),
            "{usual:?}"
        );
        host_settings::SYSCTL
            .ask(&mut conditions, "net.ipv4.tcp_rmem=4096 131072 20971520")
            .expect("read");
        assert_eq!(warnings(&conditions, Some([4_194_304, 1_000_000])).len(), 0);
        conditions.send_buffer_bytes = Some(65_536);
        assert!(warnings(&conditions, None)[0].ends_with("send_buffer_bytes"));
        conditions.workload = Workload::UdpStream;
        assert_eq!(warnings(&conditions, None).len(), 0);
    }

    #[test]
    fn pacing_and_cpus_are_named() {
        let mut conditions = Conditions {
            pacing: Pacing::Kernel,
            ..Conditions::of(Workload::UdpStream)
        };
        let has = |conditions: &Conditions, name: &str| {
            let ground = Ground {
                cpus: Some(2),
                ..ends(Some(conditions))
            };
            found("topology = \"lab15\"", &ground)
                .iter()
                .any(|(found, _)| *found == name)
        };
        assert!(has(&conditions, "pacing-without-fq") && has(&conditions, "emulator-cpus"));
        host_settings::QDISC
            .ask(&mut conditions, "sender: fq")
            .expect("read");
        assert!(!has(&conditions, "pacing-without-fq"));
        let ground = Ground {
            cpus: Some(2),
            ..Ground::default()
        };
        let by = |backend: &str| {
            found(
                &format!("topology = \"lab15\"\ndelay_backend = \"{backend}\""),
                &ground,
            )
        };
        let is_named = |backend: &str| by(backend).iter().any(|(name, _)| *name == "emulator-cpus");
        assert!(is_named("builtin") && is_named("auto") && !is_named("netem"));
    }
}
