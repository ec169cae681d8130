//! What to do about a limiter in a run: nothing that its records show in effect.

use bitcost_model::modes::Mode;
use bitcost_model::record::{EndpointRecord, Sample};

use crate::explain::limiter::Verdict;
use crate::explain::load::bytes_per_packet;
use crate::explain::signals::Signals;
use crate::metrics::{RunView, actual, figure_of, full_from};

/// Bytes of a call from which larger ones make little difference.
const LARGE_BYTES: f64 = 65_536.0;

/// The share of a CPU that the busier end may need for packets of one message each.
const TIME_LEFT: f64 = 0.9;

/// What is advised where all that would help is in effect.
const NOTHING_LEFT: &str = "every setting that would help is already in effect; use a faster CPU";

/// Between the parts of a remedy.
const BETWEEN: &str = "; ";

/// What to do about the receive window where it is not known what helps.
const BOTH_WAYS: &str = "try larger and smaller receive buffers (--mode auto), since packets may be less full with more window";
const WINDOW_HELD: &str = "find what keeps the window under 64 KiB, for which the receive buffer has more room: net.ipv4.tcp_window_scaling of both hosts, or `window` of the route";

/// What is advised of a run and that it has already, or cannot have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InEffect {
    /// Parts of remedies.
    taken: Vec<&'static str>,
    /// What to do about the receive window instead of what its row says.
    of_window: Option<&'static str>,
}

impl InEffect {
    pub(super) fn of(run: &RunView, signals: &Signals) -> InEffect {
        let of_window = match window_is_held(run) {
            true => Some(WINDOW_HELD),
            false => may_fill_packets(run, signals).then_some(BOTH_WAYS),
        };
        let ways = of_calls(run).into_iter().chain(of_hosts(run));
        let taken = ways.filter_map(|(way, is)| is.then_some(way));
        InEffect {
            taken: taken.collect(),
            of_window,
        }
    }

    /// Leaves of a verdict's remedy what is not in effect.
    pub fn advise(&self, verdict: &mut Verdict) {
        let is_of_window = verdict.limiter().name() == "receive_buffer";
        if let Some(instead) = self.of_window.filter(|_| is_of_window) {
            verdict.chosen.remedy = Some(instead.to_owned());
            return;
        }
        let all = verdict.own_remedy();
        let parts = all.split(BETWEEN).filter(|part| !self.taken.contains(part));
        let open = parts.collect::<Vec<_>>().join(BETWEEN);
        verdict.chosen.remedy = Some(match open.is_empty() {
            true => NOTHING_LEFT.to_owned(),
            false => open,
        });
    }
}

/// Ways that change calls, buffers and packets, each with whether the run has it, or cannot have it.
fn of_calls(run: &RunView) -> [(&'static str, bool); 12] {
    let conditions = run.conditions;
    let is_stream = conditions.workload.is_byte_stream();
    let is_transactional = conditions.workload.is_transactional();
    let received = figure_of(run, "bytes_per_receive_call");
    let large = f64::from(conditions.message_size_bytes) >= LARGE_BYTES;
    let has_small_packets = bytes_per_packet(run).is_some_and(|of| of < full_from(conditions));
    let sets_receive = conditions.receive_buffer_bytes.is_some();
    let sets_send = conditions.send_buffer_bytes.is_some();
    let tso = is_stream && is_off(run.sender, "tx-tcp-segmentation");
    let gro = is_stream && is_off(run.receiver, "rx-gro");
    [
        ("larger messages", large || is_transactional),
        (
            "larger receive calls",
            !is_stream || received >= Some(LARGE_BYTES),
        ),
        (
            "a fast send mode (--send-mode)",
            conditions.send_mode != Mode::Plain,
        ),
        (
            "a fast receive mode (--receive-mode)",
            conditions.receive_mode != Mode::Plain,
        ),
        ("segmentation offload at the sender", !tso),
        ("GRO at the receiver", !gro),
        (
            "--mode auto, since packets are not full",
            !has_small_packets,
        ),
        (
            "try a congestion control that tolerates loss (bbr)",
            actual(run.sender, "congestion_control") == Some("bbr"),
        ),
        (
            "raise the receive buffer (--receive-buffer), or leave it to the kernel",
            !sets_receive,
        ),
        (
            "raise the maximum of net.ipv4.tcp_rmem (--tcp-buffers) at the receiver",
            sets_receive,
        ),
        (
            "raise the send buffer (--send-buffer), or leave it to the kernel",
            !sets_send,
        ),
        (
            "raise the maximum of net.ipv4.tcp_wmem (--tcp-buffers) at the sender",
            sets_send,
        ),
    ]
}

/// Ways that change where work is done and how often a host is interrupted.
fn of_hosts(run: &RunView) -> [(&'static str, bool); 6] {
    let cpus = run.sender.samples.first();
    let cpus = cpus.map_or(1, |sample| sample.cpus.len());
    let no_other_cpu = cpus <= if run.shared_cpus { 2 } else { 1 };
    let mut in_effect = run.receiver.in_effect.iter();
    let moderation = in_effect.find(|setting| setting.name == "moderation_us");
    let can_moderate = moderation.is_some_and(|of| of.actual.as_deref() == Some("0"));
    let has_all_flows = run.conditions.flows as usize >= cpus.max(2);
    let is_virtual = moderation.is_some() || run.shared_cpus;
    [
        ("more flows on more CPUs", no_other_cpu || has_all_flows),
        ("another CPU for the sender (--sender-cpus)", no_other_cpu),
        (
            "another CPU for the receiver (--receiver-cpus)",
            no_other_cpu,
        ),
        ("a second machine for one end", !run.shared_cpus),
        (
            "interrupt moderation (--set moderation=50us)",
            !can_moderate,
        ),
        (
            "fewer interrupts (--set 'coalesce=rx_usecs 50')",
            is_virtual,
        ),
    ]
}

/// Whether a feature of the endpoint's interface is known to be off; a run that sets some of them
/// reads only these.
fn is_off(end: &EndpointRecord, feature: &str) -> bool {
    end.offloads.active.get(feature) == Some(&false)
}

/// Whether the full window may be what fills packets: messages gather behind it. With more of it each of them may pass
/// both stacks alone, for which an end has no CPU time.
fn may_fill_packets(run: &RunView, signals: &Signals) -> bool {
    let ends = [signals.sender, signals.receiver].into_iter().flatten();
    let busy = ends.map(|end| end.cpu).fold(0.0, f64::max);
    let message_bytes = f64::from(run.conditions.message_size_bytes);
    let messages = bytes_per_packet(run).map(|bytes| (bytes / message_bytes).max(1.0));
    messages.is_some_and(|messages| busy * messages >= TIME_LEFT)
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
