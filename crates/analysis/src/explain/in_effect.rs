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

const LARGER_MESSAGES: &str = "larger messages";
const LARGER_RECEIVES: &str = "larger receive calls";
const SEND_MODE: &str = "a fast send mode (--send-mode)";
const RECEIVE_MODE: &str = "a fast receive mode (--receive-mode)";
const WRITEV: &str = "several messages a call (--send-mode writev)";
const TSO: &str = "segmentation offload at the sender";
const WAITING_TSO: &str = "segmentation offload, where data waits to be sent";
const GRO: &str = "GRO at the receiver";
const FLOWS: &str = "more flows on more CPUs";
const BBR: &str = "try a congestion control that tolerates loss (bbr)";
const SENDER_CPUS: &str = "another CPU for the sender (--sender-cpus)";
const RECEIVER_CPUS: &str = "another CPU for the receiver (--receiver-cpus)";
const SECOND_MACHINE: &str = "a second machine for one end";
const MODERATION: &str = "interrupt moderation (--set moderation=50us)";
const COALESCE: &str = "fewer interrupts (--set 'coalesce=rx_usecs 50')";

/// What to do about a receive window that may be what fills packets.
const BOTH_WAYS: &str =
    "try larger and smaller receive buffers (--mode auto): more window may leave packets less full";

/// What to do about a window that is smaller than its buffer allows.
const HELD_WINDOW: &str = "find what keeps the window under 64 KiB: the receive buffer has room for more; see net.ipv4.tcp_window_scaling of both hosts, and `window` of the route";

/// What to do about a buffer that the test sets, and about one of the kernel's autotuning; the former
/// is taken where the kernel sets it, and the latter where the test does.
const RECEIVE_SET: &str = "raise the receive buffer (--receive-buffer), or leave it to the kernel; net.core.rmem_max limits it";
const RECEIVE_TUNED: &str = "raise the maximum of net.ipv4.tcp_rmem (--tcp-buffers) at the receiver; a fixed --receive-buffer may be smaller";
const SEND_SET: &str =
    "raise the send buffer (--send-buffer), or leave it to the kernel; net.core.wmem_max limits it";
const SEND_TUNED: &str = "raise the maximum of net.ipv4.tcp_wmem (--tcp-buffers) at the sender; a fixed --send-buffer may be smaller";

/// The settings of a run that advice is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InEffect {
    /// The advice that the run follows already, or cannot follow.
    taken: Vec<&'static str>,
    /// Datagrams have no calls of several messages without a fast mode.
    is_datagram: bool,
    /// One message at a time is on its way, which no call can join with others.
    is_transactional: bool,
    /// How full packets were; absent where that is not known.
    packing: Option<Packing>,
    /// The window stays within 16 bits while the receive buffer has room for several times as much.
    window_is_held: bool,
}

impl InEffect {
    /// Those of a run.
    pub fn of(run: &RunView) -> InEffect {
        let conditions = run.conditions;
        let is_datagram = conditions.workload.is_datagram();
        let received = metric("bytes_per_receive_call").and_then(|metric| (metric.compute)(run));
        let cpus = run.sender.samples.first();
        let cpus = cpus.map_or(1, |sample| sample.cpus.len());
        let no_other_cpu = cpus <= if run.shared_cpus { 2 } else { 1 };
        let segments = is_datagram || !is_off(run.sender, "tx-tcp-segmentation");
        let [sets_receive, sets_send] = [
            conditions.receive_buffer_bytes.is_some(),
            conditions.send_buffer_bytes.is_some(),
        ];
        let mut in_effect = run.receiver.in_effect.iter();
        let moderation = in_effect.find(|setting| setting.name == "moderation_us");
        let is_unmoderated = moderation.is_some_and(|of| of.actual.as_deref() == Some("0"));
        let ways = [
            (
                LARGER_MESSAGES,
                f64::from(conditions.message_size_bytes) >= LARGE_BYTES,
            ),
            (
                LARGER_RECEIVES,
                is_datagram || received.is_some_and(|bytes| bytes >= LARGE_BYTES),
            ),
            (SEND_MODE, conditions.send_mode != Mode::Plain),
            (WRITEV, conditions.send_mode != Mode::Plain),
            (RECEIVE_MODE, conditions.receive_mode != Mode::Plain),
            (TSO, segments),
            (WAITING_TSO, segments),
            (GRO, is_datagram || !is_off(run.receiver, "rx-gro")),
            (
                FLOWS,
                no_other_cpu || conditions.flows as usize >= cpus.max(2),
            ),
            (BBR, actual(run.sender, "congestion_control") == Some("bbr")),
            (SENDER_CPUS, no_other_cpu),
            (RECEIVER_CPUS, no_other_cpu),
            (SECOND_MACHINE, !run.shared_cpus),
            (MODERATION, !is_unmoderated),
            (COALESCE, moderation.is_some() || run.shared_cpus),
            (RECEIVE_SET, !sets_receive),
            (RECEIVE_TUNED, sets_receive),
            (SEND_SET, !sets_send),
            (SEND_TUNED, sets_send),
        ];
        let taken = ways.into_iter().filter_map(|(way, is)| is.then_some(way));
        InEffect {
            taken: taken.collect(),
            is_datagram,
            is_transactional: conditions.workload.is_transactional(),
            packing: Packing::of(run),
            window_is_held: window_is_held(run),
        }
    }

    /// Replaces a verdict's advice where a part of it is in effect.
    pub fn advise(&self, verdict: &mut Verdict) {
        if verdict.by_figures || verdict.chosen.remedy.is_some() {
            return;
        }
        let ways = self.ways(verdict);
        if verdict.limiter().name() == SENDER_CPU.name
            && verdict.chosen.rival.is_none()
            && self.has_small_packets()
        {
            let known = std::mem::take(&mut verdict.chosen.detail);
            let more = if known.is_empty() { "" } else { "; " };
            verdict.chosen.detail = format!("{NOT_FULL}{more}{known}");
        }
        if ways.is_empty() {
            return;
        }
        let open: Vec<&str> = ways
            .into_iter()
            .filter(|way| !self.taken.contains(way))
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

    /// What can be done about a verdict's limiter; empty where its advice does not depend on settings.
    fn ways(&self, verdict: &Verdict) -> Vec<&'static str> {
        let name = verdict.limiter().name();
        let (is_sender, is_receiver) = (name == SENDER_CPU.name, name == RECEIVER_CPU.name);
        let own_cpu = if is_sender {
            SENDER_CPUS
        } else {
            RECEIVER_CPUS
        };
        if verdict.chosen.rival.is_some() {
            // Fewer packets, and work moved away: more flows would wait for the same CPU.
            let fewer = [LARGER_MESSAGES, TSO, GRO, MODERATION, COALESCE];
            return [&fewer[..], &[own_cpu, SECOND_MACHINE]].concat();
        }
        if (is_sender || is_receiver) && self.is_transactional {
            return vec![FLOWS, own_cpu, SECOND_MACHINE];
        }
        if is_sender && self.has_small_packets() {
            let both = "--mode auto, which also tries smaller and larger receive buffers";
            return vec![
                LARGER_MESSAGES,
                TSO,
                WRITEV,
                both,
                MODERATION,
                COALESCE,
                FLOWS,
            ];
        }
        if is_sender {
            let larger = (!self.is_datagram).then_some(LARGER_MESSAGES);
            return larger.into_iter().chain([TSO, SEND_MODE, FLOWS]).collect();
        }
        if is_receiver {
            return vec![LARGER_RECEIVES, GRO, RECEIVE_MODE, FLOWS];
        }
        if name == PACKETS_PER_SECOND.name {
            return vec![LARGER_MESSAGES, "a larger MTU", WAITING_TSO, SEND_MODE];
        }
        if name == CONGESTION_LOSS.name {
            return vec!["find where segments are lost", BBR];
        }
        if name == RECEIVE_BUFFER.name {
            let may_fill = self.packing.is_some_and(|of| !of.allows_more_window());
            return match (self.window_is_held, may_fill) {
                (true, _) => vec![HELD_WINDOW],
                (_, true) => vec![BOTH_WAYS],
                _ => vec![RECEIVE_SET, RECEIVE_TUNED],
            };
        }
        if name == SEND_BUFFER.name && !self.is_datagram {
            return vec![SEND_SET, SEND_TUNED];
        }
        if name == UNKNOWN.name {
            return vec!["measure for longer"];
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
    use crate::explain::limiters::unknown;

    #[test]
    fn what_a_run_has_is_not_advised() {
        let remedy = |limiter: &'static crate::explain::limiter::LimiterRow, has: InEffect| {
            let mut verdict = unknown("", None);
            verdict.chosen.limiter = limiter.limiter();
            has.advise(&mut verdict);
            verdict.remedy().to_owned()
        };
        let tuned = InEffect {
            taken: vec![LARGER_MESSAGES, FLOWS],
            ..InEffect::default()
        };
        let advice = "segmentation offload at the sender; a fast send mode (--send-mode)";
        assert_eq!(remedy(&SENDER_CPU, tuned.clone()), advice);
        let transactional = InEffect {
            is_transactional: true,
            ..tuned
        };
        let advice = "another CPU for the receiver (--receiver-cpus); a second machine for one end";
        assert_eq!(remedy(&RECEIVER_CPU, transactional), advice);
    }
}
