//! The parts of a bill, in the order in which they are subtracted.

use bitcost_model::buffers::MEMORY_MAX;
use bitcost_model::conditions::bounds::RING_BUFFERS;
use bitcost_model::conditions::{Conditions, Offloads, Waiting};
use bitcost_model::host_settings::{GSO_MAX_SEGS, OFFLOADS, QDISC};
use bitcost_model::modes::Mode;
use bitcost_model::record::Role;
use bitcost_model::workload::Workload;

use Way::{Acknowledgements, Add, Aside, Calls, FewerPackets, Missing, Packets, Take, WakeUps};

/// The run of which a bill is made.
pub struct Run<'a> {
    /// Its conditions.
    pub conditions: &'a Conditions,
    /// Whether it is made in a lab.
    pub is_lab: bool,
    /// MTU of its path, in bytes.
    pub mtu_bytes: u32,
}

/// A cell that differs from another one by these settings, as text of a study.
#[derive(Clone, Debug)]
pub struct Change {
    /// The level's label: what the cell does.
    pub label: &'static str,
    /// Names and values.
    pub settings: Vec<(&'static str, String)>,
    /// The endpoints whose work it changes.
    pub ends: &'static [Role],
}

/// How a part is measured.
#[derive(Clone, Debug)]
pub enum Way {
    /// By a cell without it, from which the later parts start.
    Take(Change),
    /// By a cell without it; the later parts start from the cell before.
    Aside(Change),
    /// The run does not pay it, and a cell pays it in addition.
    Add(Change),
    /// By the number of wake-ups and a host constant.
    WakeUps,
    /// By the number of system calls and a host constant.
    Calls,
    /// By the slope of the cost over the number of packets, in which the cells differ from the first one.
    Packets(Vec<Change>),
    /// The same, by a cell with fewer packets that lacks the parts before.
    FewerPackets(Change),
    /// By the slope of the cost over the number of acknowledgements.
    Acknowledgements(Change),
    /// It cannot be measured, for this reason.
    Missing(&'static str),
}

/// A part.
pub struct Part {
    /// Its key in documents.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// How it is measured; absent where the run cannot have it.
    pub way: fn(&Run) -> Option<Way>,
}

const BOTH: &[Role] = &[Role::Sender, Role::Receiver];

/// Bytes of a ring of buffers that fills the caches of most CPUs.
const RING_BYTES: u32 = 64 << 20;

/// Bytes of a super-packet (Linux: GSO_LEGACY_MAX_SIZE).
const SUPER_PACKET_BYTES: u32 = 65_536;

/// Headers of a segment: IP, TCP and the timestamp option, in bytes.
const HEADERS_BYTES: u32 = 52;

/// The label of the cell in which a receiver waits for full buffers.
const FULL_CALLS: &str = "full receive calls";

/// Why a mode cannot be compared with another one.
const MODE_GIVEN: &str = "the run has its own mode; leave out --send-mode and --receive-mode";

const fn part(name: &'static str, title: &'static str, way: fn(&Run) -> Option<Way>) -> Part {
    Part { name, title, way }
}

/// Every part, in the order of subtraction. A new one is a row here and a row of docs/method/bill.md.
pub const PARTS: &[Part] = &[
    part("wake_ups", "wake-ups", |_| Some(WakeUps)),
    part("work", "the program's work", work),
    part("payload", "writing the payload", payload),
    part("queue", "queue", queue),
    part("cache", "cache misses", cache),
    part("system_calls", "system calls", system_calls),
    part("copies", "copies", copies),
    part("packets", "packets", packets),
    part("acknowledgements", "acknowledgements", acknowledgements),
    part("segmentation", "segmentation", segmentation),
    part("spinning", "spinning", spinning),
];

/// A change of both endpoints.
fn change(label: &'static str, settings: &[(&'static str, &str)]) -> Change {
    let settings = settings.iter();
    Change {
        label,
        settings: settings
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
        ends: BOTH,
    }
}

impl Run<'_> {
    fn is_tcp(&self) -> bool {
        self.conditions.workload == Workload::TcpStream
    }

    fn is_udp(&self) -> bool {
        self.conditions.workload == Workload::UdpStream
    }

    fn is_plain(&self) -> bool {
        let modes = (self.conditions.send_mode, self.conditions.receive_mode);
        modes == (Mode::Plain, Mode::Plain)
    }

    /// Whether the conditions have a request of this name.
    fn requests(&self, setting: &str) -> bool {
        let mut requests = self.conditions.host_settings.iter();
        requests.any(|request| request.setting == setting)
    }

    /// Whether every segment is a separate packet already.
    fn is_segmented(&self) -> bool {
        self.conditions.offloads == Offloads::Off || self.requests(OFFLOADS)
    }
}

fn work(run: &Run) -> Option<Way> {
    let buffers = &run.conditions.buffers;
    let none = [("send_work_ns", "0"), ("receive_work_ns", "0")];
    let is_paid = buffers.send_work_ns > 0 || buffers.receive_work_ns > 0;
    is_paid.then(|| Take(change("no work", &none)))
}

fn payload(run: &Run) -> Option<Way> {
    let clean = [("payload", "\"clean\"")];
    let is_paid = run.conditions.buffers.dirty;
    is_paid.then(|| {
        Take(Change {
            ends: &[Role::Sender],
            ..change("payload not written", &clean)
        })
    })
}

fn queue(run: &Run) -> Option<Way> {
    let is_requested = run.requests(QDISC);
    Some(match (is_requested, run.is_lab) {
        (true, _) => Take(change("default queue", &[("qdisc", "\"default\"")])),
        (false, true) => Add(change("pfifo", &[("qdisc", "\"pfifo\"")])),
        (false, false) => {
            Missing("the queue of a network interface is always there; set another with --qdisc")
        }
    })
}

fn cache(run: &Run) -> Option<Way> {
    let conditions = run.conditions;
    if conditions.workload.is_transactional() {
        return None;
    }
    if conditions.buffers.ring > 1 {
        return Some(Take(change("one buffer", &[("ring_buffers", "1")])));
    }
    if !run.is_plain() {
        return Some(Missing(MODE_GIVEN));
    }
    let memory = MEMORY_MAX / u64::from(conditions.receive_bytes().max(1));
    let buffers = u64::from(RING_BYTES / conditions.message_size_bytes.max(1));
    let buffers = buffers.min(memory).clamp(2, RING_BUFFERS.most).to_string();
    Some(Add(change(
        "large ring",
        &[("ring_buffers", buffers.as_str())],
    )))
}

fn system_calls(run: &Run) -> Option<Way> {
    if run.conditions.workload.is_transactional() {
        return Some(Calls);
    }
    if !run.is_plain() {
        return Some(Missing(MODE_GIVEN));
    }
    Some(match run.is_udp() {
        true => Take(change(
            "sendmmsg, recvmmsg",
            &[
                ("send_mode", "\"sendmmsg\""),
                ("receive_mode", "\"recvmmsg\""),
            ],
        )),
        false => Aside(Change {
            ends: &[Role::Sender],
            ..change("writev", &[("send_mode", "\"writev\"")])
        }),
    })
}

fn copies(run: &Run) -> Option<Way> {
    if run.conditions.workload.is_transactional() {
        return Some(Missing("transactions have no mode without copies"));
    }
    if run.is_udp() {
        return Some(Missing("UDP has no mode without copies"));
    }
    if !run.is_plain() {
        return Some(Missing(MODE_GIVEN));
    }
    Some(Take(change(
        "splice, MSG_TRUNC",
        &[
            ("send_mode", "\"splice\""),
            ("receive_mode", "\"truncate\""),
        ],
    )))
}

/// A receiver that waits until its buffer is full. So it makes as many calls however many packets there are.
fn full_calls(run: &Run, label: &'static str) -> Change {
    let conditions = run.conditions;
    let mark = conditions.receive_low_water_bytes;
    let mark = mark.unwrap_or(conditions.receive_bytes()).to_string();
    change(label, &[("receive_low_water_bytes", mark.as_str())])
}

fn packets(run: &Run) -> Option<Way> {
    if run.is_udp() {
        return Some(match run.is_plain() {
            true => FewerPackets(change(
                "GSO, GRO",
                &[("send_mode", "\"gso\""), ("receive_mode", "\"gro\"")],
            )),
            false => Missing(MODE_GIVEN),
        });
    }
    if run.is_tcp() {
        if run.is_segmented() || run.requests(GSO_MAX_SEGS) {
            return Some(Missing(
                "the run's --offloads or --gso-max-segs leave no room for packets of other sizes",
            ));
        }
        let all = SUPER_PACKET_BYTES / run.mtu_bytes.saturating_sub(HEADERS_BYTES).max(1);
        let part = |label, of: u32| {
            let mut part = full_calls(run, label);
            let segments = (all / of).max(1).to_string();
            part.settings.push((GSO_MAX_SEGS, segments));
            part
        };
        return Some(Packets(vec![
            full_calls(run, FULL_CALLS),
            part("quarter of a packet", 4),
            part("eighth of a packet", 8),
        ]));
    }
    let bytes = [
        ("request_size_bytes", "352"),
        ("response_size_bytes", "352"),
    ];
    // Segments of the least size, that nothing merges.
    let four = [("mss", "88"), ("gso_max_segs", "1"), ("gro_max_size", "1")];
    let is_small = run
        .conditions
        .request_size_bytes
        .max(run.conditions.response_size_bytes)
        <= 88;
    Some(match is_small {
        true => Packets(vec![
            change("352 bytes", &bytes),
            change("4 packets", &[&bytes[..], &four[..]].concat()),
        ]),
        false => Missing(
            "with requests and responses of more than 88 bytes other costs change along with the number of packets",
        ),
    })
}

fn acknowledgements(run: &Run) -> Option<Way> {
    if !run.is_tcp() {
        return Some(Missing(match run.is_udp() {
            true => "UDP has none",
            false => "the next request or response carries them",
        }));
    }
    if run.conditions.receive_low_water_bytes.is_some() {
        return Some(Missing("leave out --low-water, which changes their number"));
    }
    Some(Acknowledgements(match run.conditions.chooses_low_water() {
        true => change("low-water mark 1", &[("receive_low_water_bytes", "1")]),
        false => full_calls(run, FULL_CALLS),
    }))
}

fn segmentation(run: &Run) -> Option<Way> {
    if !run.is_tcp() {
        return None;
    }
    Some(match run.is_segmented() {
        true => Missing("leave out --offloads, which already decides it"),
        false => Add(change("a packet a segment", &[("gso_max_segs", "1")])),
    })
}

fn spinning(run: &Run) -> Option<Way> {
    let is_blocking = run.conditions.waiting == Waiting::Block;
    is_blocking.then(|| Add(change("spinning", &[("waiting", "\"spin\"")])))
}
