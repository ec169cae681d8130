//! What a situation may have, each with how it is relaxed and tightened.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What may limit a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Rate of the link, in bit/s.
    Rate,
    /// Delay of the link each way, in µs.
    Delay,
    /// Loss on the link, in per cent.
    Loss,
    /// Limit of the link's queue, in packets.
    Queue,
    /// Receive buffer, in bytes.
    ReceiveBuffer,
    /// Send buffer, in bytes.
    SendBuffer,
    /// Size of a message, in bytes.
    MessageSize,
    /// Rate of the application, in bit/s.
    ApplicationRate,
    /// Work for each message at the sender, in ns.
    SendWork,
    /// Work for each message at the receiver, in ns.
    ReceiveWork,
    Flows,
    /// Load of another program, in per cent of a CPU.
    Stress,
    /// CPU quota of the test's programs, in per cent of a CPU.
    Quota,
    /// CPU time of the sender, which no option gives: it can only be tightened.
    SenderCpu,
    /// The same of the receiver.
    ReceiverCpu,
    /// Wake-ups, which receivers that poll do without: they can only be relaxed.
    WakeUps,
}

pub const DRAWN: [Kind; 13] = [
    Kind::Rate,
    Kind::Delay,
    Kind::Loss,
    Kind::Queue,
    Kind::ReceiveBuffer,
    Kind::SendBuffer,
    Kind::MessageSize,
    Kind::ApplicationRate,
    Kind::SendWork,
    Kind::ReceiveWork,
    Kind::Flows,
    Kind::Stress,
    Kind::Quota,
];

impl Kind {
    /// Whether it is a property of the lab's link.
    pub fn is_of_link(self) -> bool {
        matches!(self, Kind::Rate | Kind::Delay | Kind::Loss | Kind::Queue)
    }

    /// The value with `factor` times as much of the resource.
    pub fn scaled(self, value: f64, factor: f64) -> f64 {
        match self {
            Kind::Delay | Kind::SendWork | Kind::ReceiveWork => value / factor,
            // TCP's rate goes with one over the root of the loss.
            Kind::Loss => value / (factor * factor),
            Kind::Flows => (value * factor).round().max(1.0),
            Kind::Stress if factor > 1.0 => 0.0,
            Kind::Stress => (value / factor).min(100.0),
            _ => value * factor,
        }
    }

    pub fn names(self) -> &'static [&'static str] {
        match self {
            Kind::Rate => &["rate", "queue_overflow"],
            Kind::Delay => &[
                "latency",
                "receive_buffer",
                "send_buffer",
                "congestion_window_loss",
                "congestion_window_slow_start",
            ],
            Kind::Loss => &["congestion_window_loss", "path_loss"],
            Kind::Queue => &["queue_overflow", "congestion_window_loss"],
            Kind::ReceiveBuffer => &["receive_buffer", "udp_receive_buffer"],
            Kind::SendBuffer => &["send_buffer"],
            Kind::MessageSize => &["sender_cpu", "receiver_cpu", "packets_per_second"],
            Kind::ApplicationRate => &["application_pacing"],
            Kind::SendWork | Kind::SenderCpu => &["sender_cpu", "packets_per_second"],
            Kind::ReceiveWork | Kind::ReceiverCpu => {
                &["receiver_cpu", "slow_reader", "udp_receive_buffer"]
            }
            Kind::Flows => &[
                "sender_cpu",
                "receiver_cpu",
                "receive_buffer",
                "congestion_window_loss",
            ],
            Kind::Stress => &["sender_cpu", "receiver_cpu"],
            Kind::Quota => &["cpu_quota"],
            Kind::WakeUps => &["wake_ups"],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    pub kind: Kind,
    /// How much, in the kind's unit.
    pub value: f64,
}

impl Factor {
    /// The options of `bitcost test`; none for what the lab has.
    pub fn words(self) -> Vec<String> {
        let whole = format!("{:.0}", self.value);
        let option = |name: &str, text: String| vec![name.to_owned(), text];
        match self.kind {
            Kind::ReceiveBuffer => option("--receive-buffer", whole),
            Kind::SendBuffer => option("--send-buffer", whole),
            Kind::MessageSize => option("-l", whole),
            Kind::ApplicationRate => option("-b", whole),
            Kind::SendWork => option("--set", format!("send_work_ns={whole}ns")),
            Kind::ReceiveWork => option("--set", format!("receive_work_ns={whole}ns")),
            Kind::Flows => option("-P", whole),
            Kind::Stress if self.value < 1.0 => Vec::new(),
            Kind::WakeUps => option("--set", "waiting=spin".to_owned()),
            Kind::Stress => option("--set", format!("stress=1 cpu {whole}%")),
            _ => Vec::new(),
        }
    }

    pub fn line(self) -> Option<String> {
        match self.kind {
            Kind::Rate => Some(format!("rate = \"{:.0}k\"", self.value / 1e3)),
            Kind::Delay => Some(format!("delay = \"{:.0}us\"", self.value)),
            Kind::Loss => Some(format!("loss = \"{:.4}%\"", self.value)),
            Kind::Queue => Some(format!("queue_limit = \"{:.0} packets\"", self.value)),
            _ => None,
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line() {
            None if self.kind == Kind::Quota => write!(f, "quota of {:.0} % of a CPU", self.value),
            Some(line) => write!(f, "{}", line.replace(['"', '='], "").replace("  ", " ")),
            None => write!(f, "{}", self.words().join(" ")),
        }
    }
}
