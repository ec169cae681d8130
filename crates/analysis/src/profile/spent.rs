//! On which layers the CPU that limits a cell spends its time, and what would make that less.

use bitcost_model::profile::Layer;
use bitcost_model::record::Role;

use super::found::{EndLayers, Profiled};
use crate::explain::Explanation;

/// Layers that are named.
const NAMED: usize = 3;
/// The share of *other kernel* from which its largest function is named.
const MUCH_UNCLASSIFIED: f64 = 0.05;

/// A sentence for each profiled cell that the CPU of an end limits.
pub fn spent(profiled: &Profiled, explanation: &Explanation) -> Vec<String> {
    let of_cell = |explained: &crate::explain::ExplainedCell| {
        let verdict = explained.verdict()?;
        let role = match verdict.limiter().name() {
            "sender_cpu" => Role::Sender,
            "receiver_cpu" => Role::Receiver,
            _ => return None,
        };
        let cell = match &profiled.cells[..] {
            [only] if explanation.cells.len() == 1 => only,
            several => several.iter().find(|cell| cell.name == explained.name)?,
        };
        let words = sentence(cell.end(role)?)?;
        Some(match explanation.cells.len() {
            1 => words,
            _ => format!("{}: {words}", cell.name),
        })
    };
    explanation.cells.iter().filter_map(of_cell).collect()
}

/// `31 % of the sender's time is TCP/UDP, 20 % copy, 14 % locks; to make the largest smaller: larger
/// messages, or several in one call`.
fn sentence(end: &EndLayers) -> Option<String> {
    let (largest, _) = end.largest()?;
    let mut layers: Vec<Layer> = end.layers.iter().map(|(layer, _)| *layer).collect();
    layers.sort_by(|one, other| end.share(*other).total_cmp(&end.share(*one)));
    let mut shares = layers.iter().take(NAMED).map(|layer| {
        let pct = 100.0 * end.share(*layer);
        (format!("{pct:.0} %"), layer.title())
    });
    let (pct, title) = shares.next()?;
    let rest: String = shares
        .map(|(pct, title)| format!(", {pct} {title}"))
        .collect();
    let remedy = remedy(largest).map_or_else(String::new, |remedy| {
        format!("; to spend less on {}: {remedy}", largest.title())
    });
    let name = end.end.name();
    Some(format!(
        "{pct} of the {name}'s CPU time is {title}{rest}{remedy}{}",
        unclassified(end)
    ))
}

/// The largest function of *other kernel*, where that is much.
fn unclassified(end: &EndLayers) -> String {
    let (name, _) = match end.unclassified.first() {
        Some(first) if end.share(Layer::OtherKernel) > MUCH_UNCLASSIFIED => first,
        _ => return String::new(),
    };
    format!("; the largest function outside all layers is {name}")
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
