//! The traffic that finds the capacity of a path: a saturation run in the packets of the cells that
//! share its setting.
//!
//! Where packets are held back on the path, a TCP saturation run would measure TCP's slow start and
//! its response to loss instead of the path. There the saturation run consists of datagrams in
//! packets of the size and in the super-packets that TCP would make.

use bitcost_model::calibration::{Calibration, Capacity, Saturation};
use bitcost_model::conditions::{Conditions, Direction, Mss, TCP_TIMESTAMPS, Workload};
use bitcost_model::host_settings::{HostSetting, OffloadSet, Offloads, Qdisc, SettingRequest};
use bitcost_model::modes::Mode;
use bitcost_model::place::{EndpointPlace, Places};
use bitcost_model::plan::Plan;
use bitcost_model::record::Role;
use bitcost_model::study::LabSpec;
use bitcost_model::topology::{NodeKind, Path};

/// The most time that all measured settings of a path may take together, in milliseconds.
const TIME_MOST_MS: u32 = 12_000;
/// Most flows of a saturation run.
const FLOWS_MOST: u32 = 8;
/// The rate that is offered to a path with a rate limit, as a multiple of that limit in quarters.
const OFFERED_QUARTERS: u64 = 5;
/// The longest warm-up, in milliseconds.
const WARMUP_MOST_MS: u64 = 2000;
/// A super-packet has the user data of this much time at the offered rate, in microseconds, as TCP
/// sizes its bursts by default.
const AT_ONCE_US: u64 = 1000;
const SUPER_PACKET_BYTES: u64 = 65_507;
/// Least buffers of the run's sockets for datagrams, in bytes; the kernel may grant less.
const ROOM_BYTES: u32 = 4 << 20;
/// For TCP: the size of a message, and a congestion control that every kernel has.
const MESSAGE_BYTES: u32 = 131_072;
const CONGESTION_CONTROL: &str = "reno";
/// Packets that a CPU's backlog holds by default (`net.core.netdev_max_backlog`). A port of a wire
/// without NAPI receives there, and what comes on top is dropped.
const BACKLOG_PACKETS: u32 = 1000;
/// The kernel doubles the size of a send buffer that is set (`SO_SNDBUF`, socket(7)).
const BUFFER_FACTOR: u32 = 2;
/// Headers of Ethernet, as queues count, and of UDP, in bytes.
const ETHERNET_BYTES: u32 = 14;
const UDP_BYTES: u32 = 8;

/// The time before the window of a saturation run, and the window, in milliseconds.
const WARMUP_MS: u32 = 100;
const WINDOW_MS: u32 = 300;

/// The facts about the place of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub lab: &'a LabSpec,
    /// Whether the interfaces of the hosts called sender and receiver segment TCP's super-packets,
    /// as found.
    pub segment: [bool; 2],
}

/// One entry for each setting of the path that the cells have, with its saturation run, or the
/// reason why there is none.
pub fn saturation_runs(plan: &Plan, ground: Ground<'_>) -> Calibration {
    let mut settings: Vec<(Result<Saturation, String>, Vec<usize>)> = Vec::new();
    for (cell, planned) in plan.cells.iter().enumerate() {
        let wanted = saturation_of(&planned.conditions, ground);
        match settings.iter_mut().find(|(known, _)| *known == wanted) {
            Some((_, cells)) => cells.push(cell),
            None => settings.push((wanted, vec![cell])),
        }
    }
    let mut left_ms = TIME_MOST_MS;
    let capacity = |(wanted, cells): (Result<Saturation, String>, _)| {
        let fits = wanted.and_then(|saturation| {
            let after = left_ms.checked_sub(saturation.takes_ms());
            left_ms = after
                .ok_or_else(|| format!("calibration takes {} s at most", TIME_MOST_MS / 1000))?;
            Ok(saturation)
        });
        let (saturation, absent) = match fits {
            Ok(saturation) => (Some(Box::new(saturation)), None),
            Err(why) => (None, Some(why)),
        };
        Capacity {
            cells,
            saturation,
            absent,
            received: None,
            caveat: None,
        }
    };
    Calibration {
        capacities: settings.into_iter().map(capacity).collect(),
        ..Calibration::default()
    }
}

/// The saturation run of a cell.
///
/// # Errors
/// A sentence where the cell's transport has no capacity, or the lab has no path.
fn saturation_of(cell: &Conditions, ground: Ground<'_>) -> Result<Saturation, String> {
    if cell.workload.is_transactional() {
        return Err(format!(
            "{} waits for each answer: its bound is the round trip",
            cell.workload.name()
        ));
    }
    let path = PathTraits::of(cell, ground).ok_or("the log does not say what the lab is")?;
    let base = base(cell);
    let is_datagram = cell.workload.is_datagram();
    let stands_in = !is_datagram && path.holds_back;
    let mut saturation = match () {
        () if is_datagram => udp(cell, base),
        () if stands_in => in_place_of_tcp(cell, base, &path),
        () => tcp(cell, base, &path),
    };
    let conditions = &mut saturation.conditions;
    if conditions.workload.is_datagram() {
        path.pace(conditions, stands_in);
    }
    let wait_ms = path.settles_us().div_ceil(1000).min(WARMUP_MOST_MS) as u32;
    conditions.warmup_ms += wait_ms;
    Ok(saturation)
}

/// The conditions that every saturation run takes from its cell: offloads, queues, MTU and
/// direction; nothing of the cell's own program.
fn base(cell: &Conditions) -> Conditions {
    let is_of_path = |request: &&SettingRequest| match &request.setting {
        HostSetting::Stress(_) => false,
        HostSetting::Sysctl(sysctl) => !sysctl.name.starts_with("net.ipv4.tcp_"),
        _ => true,
    };
    let end = |end: &EndpointPlace| EndpointPlace {
        address: end.address,
        device: end.device.clone(),
        ..EndpointPlace::default()
    };
    let places = Places {
        ip_version: cell.places.ip_version,
        sender: end(&cell.places.sender),
        receiver: end(&cell.places.receiver),
    };
    Conditions {
        direction: if cell.direction == Direction::Reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        },
        host_settings: cell
            .host_settings
            .iter()
            .filter(is_of_path)
            .cloned()
            .collect(),
        emulator_queue_limit: cell.emulator_queue_limit,
        flows: cell.flows.min(FLOWS_MOST),
        places,
        idle_baseline_ms: Some(0),
        warmup_ms: WARMUP_MS,
        duration_ms: WINDOW_MS,
        ..Conditions::default()
    }
}

/// Large messages that the receiver's kernel discards. They come from a file in memory where
/// super-packets are made of them; where every segment is a separate packet, copying them is
/// faster, and the send buffer is one that the backlog of a CPU can take at once: otherwise the window
/// grows until the backlog drops a part of it, and TCP's recovery would be measured.
fn tcp(cell: &Conditions, base: Conditions, path: &PathTraits) -> Saturation {
    let conditions = Conditions {
        workload: Workload::TcpStream,
        message_size_bytes: MESSAGE_BYTES,
        mss: cell.segment_bytes().map(Mss::Bytes),
        send_buffer_bytes: (!path.segments).then(|| {
            let segment = cell.segment_bytes().unwrap_or(path.mtu_bytes);
            segment * (BACKLOG_PACKETS / BUFFER_FACTOR) / base.flows.max(1)
        }),
        congestion_control: Some(CONGESTION_CONTROL.to_owned()),
        send_mode: if path.segments {
            Mode::Sendfile
        } else {
            Mode::Plain
        },
        receive_mode: Mode::Truncate,
        ..base
    };
    Saturation {
        conditions,
        counts_as: None,
    }
}

/// The cell's datagrams, many in a call; joined into super-packets where the cell's are. A veth
/// gives the memory of a datagram back when it is received, so that a send buffer bounds what is sent
/// between two polls of a NAPI; none is smaller than the cell's.
fn udp(cell: &Conditions, base: Conditions) -> Saturation {
    let (send_mode, receive_mode) = if cell.send_mode == Mode::Gso {
        (Mode::Gso, Mode::Gro)
    } else {
        (Mode::Plain, Mode::Plain)
    };
    let conditions = Conditions {
        workload: Workload::UdpStream,
        message_size_bytes: cell.message_size_bytes,
        send_buffer_bytes: room(cell.send_buffer_bytes),
        receive_buffer_bytes: room(cell.receive_buffer_bytes),
        send_mode,
        receive_mode,
        ..base
    };
    Saturation {
        conditions,
        counts_as: None,
    }
}

/// A buffer in bytes that does not limit a saturation run.
fn room(of_cell: Option<u32>) -> Option<u32> {
    Some(of_cell.unwrap_or_default().max(ROOM_BYTES))
}

/// Datagrams in packets of the size of TCP's, joined into super-packets where TCP's are.
fn in_place_of_tcp(cell: &Conditions, base: Conditions, path: &PathTraits) -> Saturation {
    let ip = cell.ip_version().header_bytes();
    let headers = cell.header_bytes() + TCP_TIMESTAMPS;
    let mtu = cell
        .asked_mtus()
        .min()
        .map_or(path.mtu_bytes, |asked| asked.min(path.mtu_bytes));
    let segment = cell
        .segment_bytes()
        .unwrap_or(mtu.saturating_sub(headers))
        .max(1);
    let datagram = segment + headers - ip - UDP_BYTES;
    let like = Conditions {
        message_size_bytes: datagram,
        send_mode: if path.joins { Mode::Gso } else { Mode::Plain },
        send_buffer_bytes: None,
        receive_buffer_bytes: None,
        ..cell.clone()
    };
    Saturation {
        counts_as: Some([segment, datagram]),
        ..udp(&like, base)
    }
}

/// The properties of the path from the sending host.
struct PathTraits {
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

impl PathTraits {
    fn of(cell: &Conditions, Ground { lab, segment }: Ground<'_>) -> Option<PathTraits> {
        let from = cell.direction.role_of(Role::Sender);
        let (here, there) = if from == Role::Sender {
            (&lab.sender, &lab.receiver)
        } else {
            (&lab.receiver, &lab.sender)
        };
        let network = lab.network.as_ref()?;
        let path: Path<'_> = network.path(here, there)?;
        let is_wire = |name: &str| {
            network
                .node(name)
                .is_some_and(|node| node.kind == NodeKind::Wire)
        };
        let qdiscs: Vec<&Qdisc> = cell
            .of_host(from)
            .filter_map(|setting| match setting {
                HostSetting::Qdisc(qdisc) => Some(qdisc),
                _ => None,
            })
            .collect();
        let asked = |name: &'static str| {
            let all = qdiscs.iter();
            all.filter_map(move |qdisc| qdisc.parameters.get(name).copied())
        };
        let egress = || path.there.iter().map(|end| &end.egress);
        let segments = segments(cell, from, segment[usize::from(from == Role::Receiver)]);
        Some(PathTraits {
            mtu_bytes: path.mtu_bytes,
            rate_bps: path.rate_bps().into_iter().chain(asked("rate_bps")).min(),
            delay_us: path.delay_us() + path.jitter_us() + asked("delay_us").sum::<u64>(),
            burst_bytes: egress()
                .filter_map(|shaping| shaping.burst_bytes)
                .map(u64::from)
                .chain(asked("burst_bytes"))
                .sum(),
            holds_back: path
                .there
                .iter()
                .chain(&path.back)
                .any(|end| end.egress.needs_emulator())
                || qdiscs.iter().any(|qdisc| qdisc.kind == "netem"),
            segments,
            joins: segments && !path.there.iter().any(|end| is_wire(&end.node)),
        })
    }

    /// The time until the path's rate is steady, in microseconds: its delay, and the time until
    /// bursts are used up.
    fn settles_us(&self) -> u64 {
        let over = self
            .rate_bps
            .map(|rate| (rate * (OFFERED_QUARTERS - 4) / 4).max(1));
        self.delay_us + over.map_or(0, |over| self.burst_bytes.saturating_mul(8_000_000) / over)
    }

    /// Offers a path with a rate limit a quarter more than that limit, so that the CPUs have time
    /// to carry the packets. Datagrams in place of TCP are sent in bursts, as TCP's segments are.
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

/// Whether the sending host's interface takes TCP's super-packets: as requested, otherwise as
/// found.
fn segments(cell: &Conditions, from: Role, as_found: bool) -> bool {
    let mut segments = as_found;
    for setting in cell.of_host(from) {
        match setting {
            HostSetting::Offloads(Offloads::Set(set)) => segments = *set != OffloadSet::Off,
            HostSetting::Offloads(Offloads::Features(features)) => {
                for (name, on) in features {
                    match name.as_str() {
                        "tso" | "tcp-segmentation-offload" | "tx-tcp-segmentation" => {
                            segments = *on
                        }
                        "sg" | "scatter-gather" | "tx" | "tx-checksumming" => segments &= *on,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    segments
}
