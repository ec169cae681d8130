//! Where the time goes: the CPU time of a KiB or a transaction by layer, at each end of each profiled cell.

use bitcost_analysis::profile::{EndLayers, Profiled};
use bitcost_analysis::statistics::Interval;
use bitcost_model::profile::Layer;
use bitcost_model::record::Role;
use bitcost_model::units::counted;

use crate::block::Block;
use crate::lines::Lines;

const PLACES: [(&str, Role, &str); 4] = [
    ("KiB", Role::Sender, "at the sender"),
    ("KiB", Role::Receiver, "at the receiver"),
    ("transaction", Role::Sender, "at the client"),
    ("transaction", Role::Receiver, "at the server"),
];

/// A table for each end, of at most this many cells, and the profiles that are left out.
pub(crate) fn profile(profiled: &Profiled, columns: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (of, role, place) in PLACES {
        let cells = profiled.cells.iter().filter(|cell| cell.of == of);
        let known: Vec<(&str, &EndLayers)> = cells
            .filter_map(|cell| Some((cell.cell.as_str(), cell.ends.get(&role)?)))
            .collect();
        for part in known.chunks(columns.max(1)) {
            let title = format!("Where the time goes {place}, ns/{of} and share");
            blocks.push(Block::Heading(title));
            blocks.push(Block::Table(String::new(), lines(part)));
        }
    }
    let left_out = profiled.left_out.iter().map(|(reason, runs)| {
        let words = format!("{} left out: {reason}.", counted(*runs, "profile"));
        Block::Note("- ".to_owned(), words)
    });
    blocks.extend(left_out);
    blocks
}

fn title(layer: Layer) -> String {
    let known = match layer {
        Layer::Buffers => "buffer management",
        Layer::Transport => "TCP/UDP",
        Layer::Ip => "IP and routing",
        Layer::Netfilter => "netfilter and bridge",
        Layer::Device => "queueing and device",
        Layer::Segmentation => "segmentation and merging",
        Layer::WakeUps => "wake-ups and interrupts",
        Layer::Wire => "the lab's wire",
        other => return other.name().replace('_', " "),
    };
    known.to_owned()
}

fn lines(columns: &[(&str, &EndLayers)]) -> Lines {
    let row = |title: &str, figure: &dyn Fn(&EndLayers) -> Option<String>| {
        let figures = columns.iter().map(|(_, end)| figure(end));
        let figures = figures.map(|figure| figure.unwrap_or_else(|| "-".to_owned()));
        std::iter::once(title.to_owned()).chain(figures).collect()
    };
    let ns = |time: &Interval| time.with_places(0);
    let is_known = |layer: &Layer| {
        columns
            .iter()
            .any(|(_, end)| end.layers.contains_key(layer))
    };
    let known = Layer::ALL.into_iter().filter(is_known);
    let layers = known.map(|layer| {
        row(&title(layer), &|end| {
            let layer = end.layers.get(&layer)?;
            Some(format!("{} {:3.0} %", ns(&layer.time), layer.share_pct))
        })
    });
    let mut rows: Vec<Vec<String>> = layers.collect();
    rows.push(row("sum", &|end| Some(ns(&end.sum))));
    rows.push(row("by the run's CPU accounting", &|end| {
        end.accounted.as_ref().map(ns)
    }));
    let names = columns.iter().map(|(name, _)| *name);
    Lines::new(std::iter::once("layer").chain(names), rows)
}
