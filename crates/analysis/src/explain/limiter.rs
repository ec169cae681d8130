//! What may limit a flow, the evidence for it, and what to change.

use std::fmt;

use bitcost_model::record::Role;

/// The one limit that, if it were relaxed, would let the flow go faster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limiter {
    /// The rate of a link, of a shaper at a named hop, or of a path whose queue is not seen
    /// (`None`).
    Rate(Option<String>),
    /// Packets per second: the cost of each packet, whatever its size.
    PathPackets,
    /// The sender's CPU.
    SenderCpu,
    /// The receiver's CPU.
    ReceiverCpu,
    /// The CPU quota of a control group.
    CpuQuota(Role),
    /// The sender's socket buffer.
    SendBuffer,
    /// The receiver's socket buffer, by the window that it announces.
    ReceiveBuffer,
    /// The receiving program, which is busy otherwise between its calls.
    SlowReader,
    /// The congestion window, kept small by loss.
    CongestionLoss,
    /// The congestion window, which grew until the run's end.
    SlowStart,
    /// Packets lost on the path, where no counter saw them.
    PathLoss,
    /// A full queue at a named hop.
    QueueOverflow(String),
    /// The receiver's socket buffer, which had no room for datagrams.
    UdpReceiveBuffer,
    /// The rate that the program itself keeps.
    Pacing,
    /// The evidence names no limiter.
    Unknown,
}

impl Limiter {
    /// The name in JSON and in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Limiter::Rate(_) => "rate",
            Limiter::PathPackets => "packets_per_second",
            Limiter::SenderCpu => "sender_cpu",
            Limiter::ReceiverCpu => "receiver_cpu",
            Limiter::CpuQuota(_) => "cpu_quota",
            Limiter::SendBuffer => "send_buffer",
            Limiter::ReceiveBuffer => "receive_buffer",
            Limiter::SlowReader => "slow_reader",
            Limiter::CongestionLoss => "congestion_window_loss",
            Limiter::SlowStart => "congestion_window_slow_start",
            Limiter::PathLoss => "path_loss",
            Limiter::QueueOverflow(_) => "queue_overflow",
            Limiter::UdpReceiveBuffer => "udp_receive_buffer",
            Limiter::Pacing => "application_pacing",
            Limiter::Unknown => "unknown",
        }
    }

    /// What to change to relax the limiter.
    fn remedy(&self) -> &'static str {
        match self {
            Limiter::Rate(_) => {
                "raise the rate of that link or shaper; more flows or larger buffers change nothing"
            }
            Limiter::PathPackets => {
                "send fewer, larger packets: larger messages, a larger MTU, or segmentation offload"
            }
            Limiter::SenderCpu => {
                "make the sender do less per byte: larger messages, offloads, a fast send mode; or more flows on more CPUs"
            }
            Limiter::ReceiverCpu => {
                "make the receiver do less per byte: larger receive calls, GRO, a fast receive mode; or more flows on more CPUs"
            }
            Limiter::CpuQuota(_) => "raise the CPU quota of the end's control group (cpu.max)",
            Limiter::SendBuffer => {
                "raise the send buffer (--send-buffer, net.core.wmem_max, net.ipv4.tcp_wmem)"
            }
            Limiter::ReceiveBuffer => {
                "raise the receive buffer (--receive-buffer, net.core.rmem_max, net.ipv4.tcp_rmem)"
            }
            Limiter::SlowReader => "let the receiving program read sooner; buffers only put it off",
            Limiter::CongestionLoss => {
                "find where segments are lost, or try a congestion control that forgives loss (bbr)"
            }
            Limiter::SlowStart => "measure for longer, or begin with a longer warm-up",
            Limiter::PathLoss => {
                "find where packets are lost: a policer, a bad link, a device whose drops are not counted here"
            }
            Limiter::QueueOverflow(_) => "raise the limit of that queue, or send in smaller bursts",
            Limiter::UdpReceiveBuffer => {
                "raise the receive buffer (--receive-buffer, net.core.rmem_max), or send in smaller bursts"
            }
            Limiter::Pacing => "ask for a higher rate",
            Limiter::Unknown => "measure for longer, or with all probes (--probes all)",
        }
    }
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limiter::Rate(Some(hop)) => write!(f, "link or shaper rate at {hop}"),
            Limiter::Rate(None) => f.write_str("link or shaper rate on the path"),
            Limiter::PathPackets => f.write_str("packets per second"),
            Limiter::SenderCpu => f.write_str("sender's CPU"),
            Limiter::ReceiverCpu => f.write_str("receiver's CPU"),
            Limiter::CpuQuota(end) => write!(f, "CPU quota of the {}", end.name()),
            Limiter::SendBuffer => f.write_str("send buffer"),
            Limiter::ReceiveBuffer => f.write_str("receive buffer (receive window)"),
            Limiter::SlowReader => f.write_str("reader too slow"),
            Limiter::CongestionLoss => f.write_str("congestion window (loss)"),
            Limiter::SlowStart => f.write_str("congestion window (slow start)"),
            Limiter::PathLoss => f.write_str("path loss"),
            Limiter::QueueOverflow(hop) => write!(f, "queue overflow at {hop}"),
            Limiter::UdpReceiveBuffer => f.write_str("UDP receive buffer overflow"),
            Limiter::Pacing => f.write_str("application pacing"),
            Limiter::Unknown => f.write_str("unknown"),
        }
    }
}

/// On which side of a bound a value must lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At least.
    AtLeast(f64),
    /// At most.
    AtMost(f64),
}

/// One counter's evidence for or against a limiter.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// What was counted, in words.
    pub counter: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The bound that the value must keep.
    pub bound: Bound,
}

impl Evidence {
    /// How far the value is on the right side of the bound, as a share of the bound and at most 1;
    /// negative on the wrong side.
    pub fn margin(&self) -> f64 {
        let margin = match self.bound {
            Bound::AtLeast(bound) => (self.value - bound) / bound.abs().max(f64::MIN_POSITIVE),
            Bound::AtMost(bound) => (bound - self.value) / bound.abs().max(f64::MIN_POSITIVE),
        };
        margin.clamp(-1.0, 1.0)
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// The evidence barely suffices, or holds for another limiter too.
    Low,
    /// The evidence suffices.
    Medium,
    /// The evidence is far from its bounds, and no other limiter comes near.
    High,
}

impl Confidence {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// A limiter with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The limiter.
    pub limiter: Limiter,
    /// More about it, in words; may be empty.
    pub detail: String,
    /// All the evidence that must hold.
    pub evidence: Vec<Evidence>,
}

impl Candidate {
    /// How well all of the evidence holds: the worst margin.
    pub fn strength(&self) -> f64 {
        self.evidence
            .iter()
            .map(Evidence::margin)
            .min_by(f64::total_cmp)
            .unwrap_or(-1.0)
    }

    /// True where all of it holds.
    pub fn holds(&self) -> bool {
        self.strength() >= 0.0
    }
}

/// What limited a run, or a part of its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The limiter with its evidence.
    pub chosen: Candidate,
    /// How sure the verdict is.
    pub confidence: Confidence,
    /// The next best limiter, with its evidence.
    pub runner_up: Option<Candidate>,
    /// The share of the run's time for which it was the limiter.
    pub share: f64,
    /// Whether only figures were known, as for runs of other programs.
    pub by_figures: bool,
}

impl Verdict {
    /// The verdict that no limiter can be named, and why.
    pub fn unknown(why: impl Into<String>, runner_up: Option<Candidate>) -> Verdict {
        let chosen = Candidate {
            limiter: Limiter::Unknown,
            detail: why.into(),
            evidence: Vec::new(),
        };
        Verdict {
            chosen,
            confidence: Confidence::Low,
            runner_up,
            share: 1.0,
            by_figures: false,
        }
    }

    /// What to change to relax the limiter.
    pub fn remedy(&self) -> &'static str {
        match self.limiter() {
            Limiter::Unknown if self.by_figures => {
                "these figures tell no more; make one such run with bitcost, and explain that"
            }
            limiter => limiter.remedy(),
        }
    }

    /// The limiter.
    pub fn limiter(&self) -> &Limiter {
        &self.chosen.limiter
    }
}
