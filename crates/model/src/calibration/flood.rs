//! What is sent to find the ceiling of a path: as much as it takes, in the packets of the cells that share its setting.
//!
//! Where packets are held back on their way, TCP's own ramp and its answer to loss would be measured and not the path. There
//! the flood is datagrams in packets of the size and in the super-packets that TCP would make.

use serde::{Deserialize, Serialize};

use super::{Calibration, Ceiling};
use crate::conditions::{Conditions, Direction, Mss, Offloads, TCP_TIMESTAMPS, Workload};
use crate::knobs::{KnobWish, OFFLOADS, QDISC, STRESS, SYSCTL};
use crate::modes::Mode;
use crate::place::{EndPlace, Places};
use crate::plan::Plan;
use crate::probes::Probes;
use crate::record::Role;
use crate::study::LabSpec;
use crate::topology::{NodeKind, Path};

/// Most settings of a path that are measured, and the most time that they may take together, in milliseconds.
const SETTINGS_MOST: usize = 16;
const TIME_MOST_MS: u32 = 12_000;
/// Most flows of a flood.
const FLOWS_MOST: u32 = 8;
/// What is offered to a path with a rate, as a multiple of it in quarters.
const OFFERED_QUARTERS: u64 = 5;
/// How long a warm-up may become, in milliseconds.
const WARMUP_MOST_MS: u64 = 2000;
/// User data of a super-packet is that of as much time, in microseconds, as TCP sends by itself at once.
const AT_ONCE_US: u64 = 1000;
const SUPER_PACKET_BYTES: u64 = 65_507;
/// Room of the flood's sockets, in bytes; the kernel grants what it allows.
const ROOM_BYTES: u32 = 4 << 20;
/// Of TCP: what a send call hands over, and a congestion control that every kernel has.
const MESSAGE_BYTES: u32 = 131_072;
const CONGESTION_CONTROL: &str = "reno";
/// Headers of Ethernet, as queues count, and of UDP, in bytes.
const ETHERNET_BYTES: u32 = 14;
const UDP_BYTES: u32 = 8;

/// How long each ceiling is measured, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Before the window.
    pub warmup_ms: u32,
    /// What counts.
    pub window_ms: u32,
}

/// The usual lengths, and the short ones.
pub const LENGTHS: [Lengths; 2] =
    [Lengths { warmup_ms: 100, window_ms: 300 }, Lengths { warmup_ms: 50, window_ms: 150 }];

/// What is sent, and what it stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flood {
    /// The run.
    pub conditions: Conditions,
    /// Where datagrams stand in for TCP: the user data of a segment, and of the datagram in a packet of the same size, in
    /// bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_as: Option<[u32; 2]>,
}

/// What is known of the place.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The lab.
    pub lab: &'a LabSpec,
    /// Whether the interfaces of the hosts called sender and receiver cut TCP's super-packets, as found.
    pub segment: [bool; 2],
}

/// One entry for each setting of the path that the cells have, with what is to be sent, or why nothing is.
pub fn floods(plan: &Plan, ground: Ground<'_>, lengths: Lengths) -> Calibration {
    let mut found: Vec<Ceiling> = Vec::new();
    let mut left_ms = TIME_MOST_MS;
    for (cell, planned) in plan.cells.iter().enumerate() {
        let (flood, absent) = match Flood::of(&planned.conditions, ground, lengths) {
            Ok(flood) => (Some(Box::new(flood)), None),
            Err(why) => (None, Some(why)),
        };
        if let Some(known) =
            found.iter_mut().find(|known| known.flood == flood && (flood.is_some() || known.absent == absent))
        {
            known.cells.push(cell);
            continue;
        }
        found.push(Ceiling { cells: vec![cell], flood, received: None, absent, doubt: None });
    }
    for (index, ceiling) in found.iter_mut().filter(|ceiling| ceiling.flood.is_some()).enumerate() {
        let takes_ms = ceiling.flood.as_ref().map_or(0, |flood| flood.takes_ms());
        if index >= SETTINGS_MOST || takes_ms > left_ms {
            let seconds = TIME_MOST_MS / 1000;
            ceiling.absent =
                Some(format!("calibration measures {SETTINGS_MOST} settings of a path at most, within {seconds} s"));
            left_ms = 0;
            continue;
        }
        left_ms -= takes_ms;
    }
    Calibration { ceilings: found, ..Calibration::default() }
}

impl Flood {
    /// The flood of a cell.
    ///
    /// # Errors
    /// A sentence where the cell's transport has no ceiling, or the lab no path.
    fn of(cell: &Conditions, ground: Ground<'_>, lengths: Lengths) -> Result<Flood, String> {
        if cell.workload.is_transactional() {
            return Err(format!("{} waits for each answer: its bound is the round trip", cell.workload.name()));
        }
        let way = Way::of(cell, ground).ok_or("the log does not say what the lab is")?;
        let base = base(cell, lengths);
        let stands_in = cell.workload == Workload::TcpStream && way.holds_back;
        let mut flood = match cell.workload {
            Workload::TcpStream if !stands_in => tcp(cell, base, &way),
            Workload::TcpStream => in_place_of_tcp(cell, base, &way),
            _ => udp(cell, base),
        };
        let conditions = &mut flood.conditions;
        if conditions.workload == Workload::UdpStream {
            way.pace(conditions, stands_in);
        }
        let wait_ms = way.settles_us().div_ceil(1000).min(WARMUP_MOST_MS) as u32;
        conditions.warmup_ms += wait_ms;
        Ok(flood)
    }

    /// The part of what comes that is user data to the cells' transport.
    pub fn user_share(&self) -> f64 {
        self.counts_as.map_or(1.0, |[user, payload]| f64::from(user) / f64::from(payload))
    }

    /// How long it takes, with what is beside it.
    fn takes_ms(&self) -> u32 {
        self.conditions.warmup_ms + self.conditions.duration_ms + crate::plan::RUN_OVERHEAD.as_millis() as u32
    }
}

/// What every flood has of its cell: offloads, queues, MTU and way; nothing of the program that the cell plays.
fn base(cell: &Conditions, lengths: Lengths) -> Conditions {
    let is_of_path = |wish: &&KnobWish| {
        let is_tcp = wish.subject.as_deref().is_some_and(|name| name.starts_with("net.ipv4.tcp_"));
        wish.knob != STRESS.knob && !(wish.knob == SYSCTL.knob && is_tcp)
    };
    let end = |end: &EndPlace| EndPlace { address: end.address, device: end.device.clone(), ..EndPlace::default() };
    let places = Places {
        ip_version: cell.places.ip_version,
        sender: end(&cell.places.sender),
        receiver: end(&cell.places.receiver),
        ..Places::default()
    };
    Conditions {
        direction: if cell.direction == Direction::Reverse { Direction::Reverse } else { Direction::Forward },
        offloads: cell.offloads,
        knobs: cell.knobs.iter().filter(is_of_path).cloned().collect(),
        emulator_queue_limit: cell.emulator_queue_limit,
        flows: cell.flows.min(FLOWS_MOST),
        places,
        probes: Probes::Edges,
        idle_baseline_ms: Some(0),
        warmup_ms: lengths.warmup_ms,
        duration_ms: lengths.window_ms,
        ..Conditions::default()
    }
}

/// Large messages that the receiver's kernel drops. They come from a file in memory where super-packets are made of them; where
/// every segment is a packet of its own, copying them is faster.
fn tcp(cell: &Conditions, base: Conditions, way: &Way) -> Flood {
    let conditions = Conditions {
        workload: Workload::TcpStream,
        message_size_bytes: MESSAGE_BYTES,
        mss: cell.segment_bytes().map(Mss::Bytes),
        congestion_control: Some(CONGESTION_CONTROL.to_owned()),
        send_mode: if way.segments { Mode::Sendfile } else { Mode::Plain },
        receive_mode: Mode::Truncate,
        ..base
    };
    Flood { conditions, counts_as: None }
}

/// The cell's datagrams, many a call; joined where the cell's are.
fn udp(cell: &Conditions, base: Conditions) -> Flood {
    let (send_mode, receive_mode) = match () {
        () if cell.message_sizes.is_some() => (Mode::Plain, Mode::Plain),
        () if cell.send_mode == Mode::Gso => (Mode::Gso, Mode::Gro),
        () => (Mode::Sendmmsg, Mode::Recvmmsg),
    };
    let conditions = Conditions {
        workload: Workload::UdpStream,
        message_size_bytes: cell.message_size_bytes,
        message_sizes: cell.message_sizes.clone(),
        receive_buffer_bytes: Some(ROOM_BYTES),
        send_mode,
        receive_mode,
        ..base
    };
    Flood { conditions, counts_as: None }
}

/// Datagrams in packets of the size of TCP's, joined as TCP's are.
fn in_place_of_tcp(cell: &Conditions, base: Conditions, way: &Way) -> Flood {
    let ip = cell.ip_version().header_bytes();
    let headers = cell.header_bytes() + TCP_TIMESTAMPS;
    let mtu = cell.asked_mtu_bytes().map_or(way.mtu_bytes, |asked| asked.min(way.mtu_bytes));
    let segment = cell.segment_bytes().unwrap_or(mtu.saturating_sub(headers)).max(1);
    let datagram = segment + headers - ip - UDP_BYTES;
    let like = Conditions {
        message_size_bytes: datagram,
        send_mode: if way.joins { Mode::Gso } else { Mode::Sendmmsg },
        message_sizes: None,
        ..cell.clone()
    };
    Flood { counts_as: Some([segment, datagram]), ..udp(&like, base) }
}

/// What the way from the sending host does to packets.
struct Way {
    mtu_bytes: u32,
    rate_bps: Option<u64>,
    delay_us: u64,
    burst_bytes: u64,
    /// Something delays packets, or drops them by chance.
    holds_back: bool,
    /// The sending host's interface takes super-packets.
    segments: bool,
    /// Packets travel as super-packets.
    joins: bool,
}

impl Way {
    fn of(cell: &Conditions, Ground { lab, segment }: Ground<'_>) -> Option<Way> {
        let from = cell.direction.role_of(Role::Sender);
        let (here, there) =
            if from == Role::Sender { (&lab.sender, &lab.receiver) } else { (&lab.receiver, &lab.sender) };
        let network = lab.network.as_ref()?;
        let path: Path<'_> = network.path(here, there)?;
        let is_wire = |name: &str| network.node(name).is_some_and(|node| node.kind == NodeKind::Wire);
        let qdiscs: Vec<&KnobWish> =
            cell.knobs.iter().filter(|wish| wish.knob == QDISC.knob && wish.is_of(from)).collect();
        let asked =
            |name: &'static str| qdiscs.iter().filter_map(move |wish| wish.values.get(name)?.parse::<u64>().ok());
        let is_netem = |wish: &&KnobWish| wish.values.get("kind").is_some_and(|kind| kind == "netem");
        let egress = || path.there.iter().map(|end| &end.egress);
        let segments = segments(cell, from, segment[usize::from(from == Role::Receiver)]);
        Some(Way {
            mtu_bytes: path.mtu_bytes,
            rate_bps: path.rate_bps().into_iter().chain(asked("rate_bps")).min(),
            delay_us: path.delay_us() + path.jitter_us() + asked("delay_us").sum::<u64>(),
            burst_bytes: egress()
                .filter_map(|shaping| shaping.burst_bytes)
                .map(u64::from)
                .chain(asked("burst_bytes"))
                .sum(),
            holds_back: path.there.iter().chain(&path.back).any(|end| end.egress.needs_emulator())
                || qdiscs.iter().copied().any(|wish| is_netem(&wish)),
            segments,
            joins: segments && !path.there.iter().any(|end| is_wire(&end.node)),
        })
    }

    /// Time until what comes is what the path carries on and on, in microseconds: the delay, and until bursts are used up.
    fn settles_us(&self) -> u64 {
        let over = self.rate_bps.map(|rate| (rate * (OFFERED_QUARTERS - 4) / 4).max(1));
        self.delay_us + over.map_or(0, |over| self.burst_bytes.saturating_mul(8_000_000) / over)
    }

    /// Offers a path with a rate a quarter more than that, so that the CPUs have time for those who carry it. In the place of
    /// TCP datagrams go together as TCP's segments do.
    fn pace(&self, conditions: &mut Conditions, stands_in: bool) {
        let Some(rate) = self.rate_bps else { return };
        let size = conditions.message_size_bytes + UDP_BYTES;
        let ip = conditions.ip_version().header_bytes();
        let fragments = size.div_ceil(self.mtu_bytes.saturating_sub(ip).max(1));
        let frame_bits = u64::from(size + fragments * (ip + ETHERNET_BYTES)) * 8;
        let offered = rate.saturating_mul(OFFERED_QUARTERS) / 4;
        conditions.message_rate = Some((offered / frame_bits / u64::from(conditions.flows)).max(1));
        if stands_in && self.joins {
            let at_once = (offered / 8).saturating_mul(AT_ONCE_US) / 1_000_000;
            let bytes = at_once.min(SUPER_PACKET_BYTES);
            let messages = (bytes / u64::from(conditions.message_size_bytes)).max(2);
            conditions.burst_messages = Some(messages as u32);
        }
    }
}

/// Whether the sending host's interface takes TCP's super-packets: as asked, else as found.
fn segments(cell: &Conditions, from: Role, as_found: bool) -> bool {
    let start = match cell.offloads {
        Offloads::On => true,
        Offloads::Off => false,
        Offloads::AsFound => as_found,
    };
    let wishes = cell.knobs.iter().filter(|wish| wish.knob == OFFLOADS.knob && wish.is_of(from));
    wishes.flat_map(|wish| &wish.values).fold(start, |before, (name, value)| match (name.as_str(), value.as_str()) {
        ("set", "as-found") => before,
        ("set", set) => set != "off",
        ("tso" | "tcp-segmentation-offload" | "tx-tcp-segmentation", value) => value == "on",
        ("sg" | "scatter-gather" | "tx" | "tx-checksumming", "off") => false,
        _ => before,
    })
}
