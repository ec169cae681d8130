//! What a run had set already, so that nothing is advised that is in effect.

use bitcost_model::modes::Mode;
use bitcost_model::record::{EndpointRecord, Sample};

use crate::explain::limiter::Verdict;
use crate::explain::limiters::{
    CONGESTION_LOSS, PACKETS_PER_SECOND, RECEIVE_BUFFER, RECEIVER_CPU, SEND_BUFFER, SENDER_CPU,
    UNKNOWN,
};
use crate::explain::packing::Packing;
use crate::metrics::{RunView, actual, metric};

/// Bytes of a call from which larger ones make little difference.
const LARGE_BYTES: f64 = 65_536.0;

/// What takes the sender's CPU where packets are not full.
const NOT_FULL: &str = "work per packet: packets are not full";

/// What to do about a receive window that may be what fills packets.
const BOTH_WAYS: &str =
    "try larger and smaller receive buffers (--mode auto): more window may leave packets less full";

/// What to do about a window that is smaller than its buffer allows.
const HELD_WINDOW: &str = "find what keeps the window under 64 KiB: the receive buffer has room for more; see net.ipv4.tcp_window_scaling of both hosts, and `window` of the route";

/// What to do about a buffer that the test sets, and about one of the kernel's autotuning.
const LARGER_RECEIVE: [&str; 2] = [
    "raise the receive buffer (--receive-buffer), or leave it to the kernel; net.core.rmem_max limits it",
    "raise the maximum of net.ipv4.tcp_rmem (--tcp-buffers) at the receiver; a fixed --receive-buffer may be smaller",
];
const LARGER_SEND: [&str; 2] = [
    "raise the send buffer (--send-buffer), or leave it to the kernel; net.core.wmem_max limits it",
    "raise the maximum of net.ipv4.tcp_wmem (--tcp-buffers) at the sender; a fixed --send-buffer may be smaller",
];

fn larger_buffer(is_set: bool, ways: [&'static str; 2]) -> Vec<(bool, &'static str)> {
    vec![(false, ways[usize::from(!is_set)])]
}

/// How a run's interfaces can take fewer interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Moderation {
    /// It is in effect, or there is none to set.
    #[default]
    Set,
    /// By the lab's own moderation, which is off.
    OfLab,
    /// By the interrupt coalescing of a network card.
    OfCard,
}

impl Moderation {
    fn of(run: &RunView) -> Moderation {
        let mut settings = run.receiver.in_effect.iter();
        let of_lab = settings.find(|setting| setting.name == "moderation_us");
        match of_lab.map(|setting| setting.actual.as_deref()) {
            Some(Some("0")) => Moderation::OfLab,
            None if !run.shared_cpus => Moderation::OfCard,
            _ => Moderation::Set,
        }
    }

    fn way(self) -> (bool, &'static str) {
        match self {
            Moderation::Set => (true, ""),
            Moderation::OfLab => (false, "interrupt moderation (--set moderation=50us)"),
            Moderation::OfCard => (false, "fewer interrupts (--set 'coalesce=rx_usecs 50')"),
        }
    }
}

/// The settings of a run that advice is about; each is true where there is nothing to advise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InEffect {
    sends_large: bool,
    receives_large: bool,
    send_mode: bool,
    receive_mode: bool,
    segments: bool,
    joins: bool,
    flows: bool,
    cost: bool,
    bbr: bool,
    /// Datagrams have no calls of several messages without a fast mode.
    is_datagram: bool,
    /// One message at a time is on its way, which no call can join with others.
    is_transactional: bool,
    moderation: Moderation,
    /// The endpoints are on two machines.
    second_machine: bool,
    /// No CPU is left that an endpoint could have for itself.
    no_other_cpu: bool,
    /// How full packets were; absent where that is not known.
    packing: Option<Packing>,
    /// The size of the receive and of the send buffer is the test's and not the kernel's.
    sets_buffers: [bool; 2],
    /// The window stays within 16 bits while the receive buffer has room for several times as much.
    window_is_held: bool,
}

impl InEffect {
    /// Those of a run.
    pub fn of(run: &RunView) -> InEffect {
        let conditions = run.conditions;
        let received = metric("bytes_per_receive_call").and_then(|metric| (metric.compute)(run));
        let cpus = run
            .sender
            .samples
            .first()
            .map_or(1, |sample| sample.cpus.len());
        let no_other_cpu = cpus <= if run.shared_cpus { 2 } else { 1 };
        InEffect {
            sends_large: f64::from(conditions.message_size_bytes) >= LARGE_BYTES,
            receives_large: received.is_some_and(|bytes| bytes >= LARGE_BYTES),
            send_mode: conditions.send_mode != Mode::Plain,
            receive_mode: conditions.receive_mode != Mode::Plain,
            segments: !is_off(run.sender, "tx-tcp-segmentation"),
            joins: !is_off(run.receiver, "rx-gro"),
            flows: no_other_cpu || conditions.flows as usize >= cpus.max(2),
            cost: !conditions.no_cost,
            bbr: actual(run.sender, "congestion_control") == Some("bbr"),
            is_datagram: conditions.workload.is_datagram(),
            is_transactional: conditions.workload.is_transactional(),
            moderation: Moderation::of(run),
            second_machine: !run.shared_cpus,
            no_other_cpu,
            packing: Packing::of(run),
            sets_buffers: [
                conditions.receive_buffer_bytes.is_some(),
                conditions.send_buffer_bytes.is_some(),
            ],
            window_is_held: window_is_held(run),
        }
    }

    /// Replaces a verdict's advice where a part of it is in effect.
    pub fn advise(&self, verdict: &mut Verdict) {
        if verdict.by_figures || verdict.chosen.remedy.is_some() {
            return;
        }
        let name = verdict.limiter().name();
        let is_alone = verdict.chosen.rival.is_none();
        if name == SENDER_CPU.name && is_alone && self.has_small_packets() {
            let known = std::mem::take(&mut verdict.chosen.detail);
            let more = if known.is_empty() { "" } else { "; " };
            verdict.chosen.detail = format!("{NOT_FULL}{more}{known}");
        }
        let ways = match verdict.chosen.rival {
            Some(_) => self.ways_to_more_cpu(name),
            None => self
                .ways_of_packing(name)
                .unwrap_or_else(|| self.ways(name)),
        };
        if ways.is_empty() {
            return;
        }
        let open: Vec<&str> = ways
            .into_iter()
            .filter_map(|(is_set, way)| (!is_set).then_some(way))
            .collect();
        verdict.chosen.remedy = Some(match open.is_empty() {
            true => {
                "every setting that would help is already in effect; use a faster CPU".to_owned()
            }
            false => open.join("; "),
        });
    }

    /// Whether packets are known not to be full.
    fn has_small_packets(&self) -> bool {
        self.packing.is_some_and(|packing| !packing.is_full())
    }

    /// What can be done where the run's own work takes an endpoint's CPU: fewer packets, and work
    /// moved away. More flows would wait for the same CPU.
    fn ways_to_more_cpu(&self, limiter: &str) -> Vec<(bool, &'static str)> {
        let mut ways = vec![
            (self.sends_large, "larger messages"),
            (
                self.segments || self.is_datagram,
                "segmentation offload at the sender",
            ),
            (self.joins || self.is_datagram, "GRO at the receiver"),
            self.moderation.way(),
        ];
        ways.extend(self.ways_to_own_cpu(limiter));
        ways
    }

    fn ways_to_own_cpu(&self, limiter: &str) -> [(bool, &'static str); 2] {
        let own_cpu = match limiter == SENDER_CPU.name {
            true => "another CPU for the sender (--sender-cpus)",
            false => "another CPU for the receiver (--receiver-cpus)",
        };
        [
            (self.no_other_cpu, own_cpu),
            (self.second_machine, "a second machine for one end"),
        ]
    }

    /// What can be done about a limiter that depends on how full packets are; absent where it does not.
    fn ways_of_packing(&self, limiter: &str) -> Option<Vec<(bool, &'static str)>> {
        if limiter == RECEIVE_BUFFER.name && self.window_is_held {
            return Some(vec![(false, HELD_WINDOW)]);
        }
        let packing = self.packing?;
        if limiter == RECEIVE_BUFFER.name && !packing.allows_more_window() {
            return Some(vec![(false, BOTH_WAYS)]);
        }
        if limiter != SENDER_CPU.name || packing.is_full() {
            return None;
        }
        Some(vec![
            (self.sends_large, "larger messages"),
            (self.segments, "segmentation offload at the sender"),
            (
                self.send_mode,
                "several messages a call (--send-mode writev)",
            ),
            (
                false,
                "--mode auto, which also tries smaller and larger receive buffers",
            ),
            self.moderation.way(),
            (self.flows, "more flows on more CPUs"),
        ])
    }

    /// What can be done about a limiter, each with whether it is in effect; empty where its advice
    /// does not depend on settings.
    fn ways(&self, limiter: &str) -> Vec<(bool, &'static str)> {
        let flows = (self.flows, "more flows on more CPUs");
        let is_of_cpu = [SENDER_CPU.name, RECEIVER_CPU.name].contains(&limiter);
        if self.is_transactional && is_of_cpu {
            return [&[flows][..], &self.ways_to_own_cpu(limiter)].concat();
        }
        if limiter == RECEIVER_CPU.name {
            return vec![
                (
                    self.receives_large || self.is_datagram,
                    "larger receive calls",
                ),
                (self.joins || self.is_datagram, "GRO at the receiver"),
                (self.receive_mode, "a fast receive mode (--receive-mode)"),
                flows,
            ];
        }
        if limiter == SENDER_CPU.name {
            return vec![
                (self.sends_large || self.is_datagram, "larger messages"),
                (
                    self.segments || self.is_datagram,
                    "segmentation offload at the sender",
                ),
                (self.send_mode, "a fast send mode (--send-mode)"),
                flows,
            ];
        }
        if limiter == PACKETS_PER_SECOND.name {
            return vec![
                (self.sends_large, "larger messages"),
                (false, "a larger MTU"),
                (
                    self.segments || self.is_datagram,
                    "segmentation offload, where data waits to be sent",
                ),
                (self.send_mode, "a fast send mode (--send-mode)"),
            ];
        }
        if limiter == CONGESTION_LOSS.name {
            return vec![
                (false, "find where segments are lost"),
                (
                    self.bbr,
                    "try a congestion control that tolerates loss (bbr)",
                ),
            ];
        }
        if limiter == RECEIVE_BUFFER.name {
            return larger_buffer(self.sets_buffers[0], LARGER_RECEIVE);
        }
        if limiter == SEND_BUFFER.name && !self.is_datagram {
            return larger_buffer(self.sets_buffers[1], LARGER_SEND);
        }
        if limiter == UNKNOWN.name {
            return vec![
                (false, "measure for longer"),
                (self.cost, "measure CPU time, too (without --no-cost)"),
            ];
        }
        Vec::new()
    }
}

/// Whether no sample announces a window of more than 16 bits, while the receive buffer has four times as
/// much: then window scaling is off, or something else holds the window.
fn window_is_held(run: &RunView) -> bool {
    let windows = run.sender.samples.iter().flat_map(Sample::connections);
    let window = windows.filter_map(|tcp| tcp.snd_wnd_bytes).max();
    let sockets = run.receiver.samples.iter().flat_map(|one| &one.sockets);
    let buffer = sockets.map(|socket| socket.receive_buffer_bytes).max();
    window.zip(buffer).is_some_and(|(window, buffer)| {
        window <= u32::from(u16::MAX) && buffer / 4 >= u32::from(u16::MAX)
    })
}

/// Whether a feature of the endpoint's interface is known to be off; a run that sets some of them
/// reads only these.
fn is_off(end: &EndpointRecord, feature: &str) -> bool {
    end.offloads.active.get(feature) == Some(&false)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Set = fn(&mut InEffect);

    /// Each setting with the limiters whose advice names it, and a word of that advice.
    const ADVICE: [(Set, &str, &str); 9] = [
        (
            |set| set.sends_large = true,
            "sender_cpu",
            "larger messages",
        ),
        (|set| set.segments = true, "sender_cpu", "segmentation"),
        (|set| set.send_mode = true, "sender_cpu", "send mode"),
        (|set| set.flows = true, "sender_cpu", "more flows"),
        (
            |set| set.receives_large = true,
            "receiver_cpu",
            "receive calls",
        ),
        (|set| set.joins = true, "receiver_cpu", "GRO"),
        (
            |set| set.receive_mode = true,
            "receiver_cpu",
            "receive mode",
        ),
        (|set| set.bbr = true, "congestion_window_loss", "bbr"),
        (|set| set.cost = true, "unknown", "--no-cost"),
    ];

    fn open(in_effect: &InEffect, limiter: &str) -> String {
        let ways = in_effect.ways(limiter).into_iter();
        let open: Vec<&str> = ways
            .filter_map(|(is_set, way)| (!is_set).then_some(way))
            .collect();
        open.join("; ")
    }

    #[test]
    fn transactions_are_not_advised_to_send_more_a_call() {
        let in_effect = InEffect {
            is_transactional: true,
            flows: true,
            ..InEffect::default()
        };
        let advice = open(&in_effect, "receiver_cpu");
        assert_eq!(
            advice,
            "another CPU for the receiver (--receiver-cpus); a second machine for one end"
        );
    }

    #[test]
    fn what_is_set_is_not_advised() {
        for (set, limiter, words) in ADVICE {
            let mut in_effect = InEffect::default();
            assert!(
                open(&in_effect, limiter).contains(words),
                "{limiter}: {words}"
            );
            set(&mut in_effect);
            assert!(
                !open(&in_effect, limiter).contains(words),
                "{limiter}: {words}"
            );
        }
    }
}
