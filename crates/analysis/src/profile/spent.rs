//! On which layers the CPU that limits a cell spends its time, and what would make that less.

use bitcost_model::profile::Layer;
use bitcost_model::record::Role;

use super::found::{EndLayers, Profiled};
use crate::explain::Explanation;

/// Layers that are named.
const NAMED: usize = 3;

/// A sentence for each profiled cell that the CPU of an end limits.
pub fn spent(profiled: &Profiled, explanation: &Explanation) -> Vec<String> {
    let of_cell = |explained: &crate::explain::ExplainedCell| {
        let role = match explained.verdict()?.limiter().name() {
            "sender_cpu" => Role::Sender,
            "receiver_cpu" => Role::Receiver,
            _ => return None,
        };
        if let ([only], [_]) = (&profiled.cells[..], &explanation.cells[..]) {
            return sentence(only.end(role)?);
        }
        let mut cells = profiled.cells.iter();
        let cell = cells.find(|cell| cell.name == explained.name)?;
        Some(format!("{}: {}", cell.name, sentence(cell.end(role)?)?))
    };
    explanation.cells.iter().filter_map(of_cell).collect()
}

/// `31 % of the sender's CPU time is TCP/UDP, 20 % copy, 14 % locks; to spend less on TCP/UDP: larger
/// messages, or several in one call`.
fn sentence(end: &EndLayers) -> Option<String> {
    let mut layers: Vec<Layer> = end.layers.iter().map(|(layer, _)| *layer).collect();
    layers.sort_by(|one, other| end.share(*other).total_cmp(&end.share(*one)));
    let share = |layer: &Layer, of: &str| {
        let pct = 100.0 * end.share(*layer);
        format!("{pct:.0} %{of} {}", layer.title())
    };
    let of_end = format!(" of the {}'s CPU time is", end.end.name());
    let first = share(layers.first()?, &of_end);
    let rest = layers.iter().take(NAMED).skip(1);
    let rest: String = rest
        .map(|layer| format!(", {}", share(layer, "")))
        .collect();
    let mut remedies = layers.iter().map(|layer| (layer, remedy(*layer)));
    let remedy = match remedies.find_map(|(layer, remedy)| Some((layer, remedy?))) {
        Some((layer, remedy)) => format!("; to spend less on {}: {remedy}", layer.title()),
        None => String::new(),
    };
    Some(format!("{first}{rest}{remedy}"))
}

/// What makes the share of a layer smaller; absent where no setting does.
fn remedy(layer: Layer) -> Option<&'static str> {
    match layer {
        Layer::Application => Some("let the program do less for each message"),
        Layer::SystemCall | Layer::Transport | Layer::Ip => {
            Some("larger messages, or several in one call")
        }
        Layer::Copy => Some("send or receive without copies (--send-mode, --receive-mode)"),
        Layer::Buffers | Layer::Device => Some("larger packets: offloads on, or a larger MTU"),
        Layer::Netfilter => Some("fewer rules in the path"),
        Layer::Segmentation => Some("segmentation by the card (TSO, USO), if it can"),
        Layer::WakeUps | Layer::Scheduler => {
            Some("fewer wake-ups: interrupt moderation, larger messages, batches")
        }
        Layer::Locks => Some("sender and receiver, or flows, on CPUs and sockets of their own"),
        Layer::Wire | Layer::OtherKernel | Layer::OtherPrograms | Layer::Idle => None,
    }
}
