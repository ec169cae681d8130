//! The layer of a call chain.

use std::collections::HashMap;

use bitcost_model::profile::Layer;
use bitcost_model::profile::anchors::{self, ANCHORS, ENTRIES, STARTS};

/// What a single function of a chain says about its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// An entry point of this layer.
    Anchor(Layer),
    /// An entry of the kernel, whose layer counts only close to the leaf.
    Entry(Layer),
    /// Where a kernel thread starts.
    Start,
    /// A function of no layer.
    Nothing,
}

/// How far above the leaf an entry of the kernel is still the layer: what a system call does itself,
/// and not a part of the kernel that the table does not know.
const CLOSE: usize = 2;

/// Finds layers, and remembers what each function's name says.
#[derive(Default)]
pub struct Layers {
    known: HashMap<String, Said>,
}

impl Layers {
    /// The layer of a chain of functions, outermost first: that of its deepest anchor. `None` where
    /// the chain is of the kernel and no anchor is in it.
    pub fn of(&mut self, stack: &str) -> Option<Layer> {
        let mut is_kernel = false;
        for (above, frame) in stack.rsplit(';').enumerate() {
            match self.said(frame) {
                Said::Anchor(layer) => return Some(layer),
                Said::Entry(layer) if above <= CLOSE => return Some(layer),
                Said::Entry(_) | Said::Start => is_kernel = true,
                Said::Nothing => {}
            }
        }
        (!is_kernel).then_some(Layer::Application)
    }

    fn said(&mut self, frame: &str) -> Said {
        if let Some(said) = self.known.get(frame) {
            return *said;
        }
        let said = said_of(base(frame));
        self.known.insert(frame.to_owned(), said);
        said
    }
}

/// A function's name without what the compiler appends.
pub fn base(frame: &str) -> &str {
    let frame = frame.trim_end_matches("_[k]");
    let cut = [".isra", ".constprop", ".part", ".cold", ".llvm"]
        .iter()
        .filter_map(|ending| frame.find(ending))
        .min();
    cut.map_or(frame, |cut| &frame[..cut])
}

fn said_of(name: &str) -> Said {
    let matched = |patterns: &[&'static str]| anchors::matched(patterns, name);
    let anchors = ANCHORS
        .iter()
        .filter_map(|anchor| Some((matched(anchor.names)?, Said::Anchor(anchor.layer))));
    let entries = ENTRIES
        .iter()
        .filter_map(|entry| Some((matched(entry.names)?, Said::Entry(entry.layer))));
    let starts = matched(STARTS).map(|length| (length, Said::Start));
    let all = anchors.chain(entries).chain(starts);
    let best = all.max_by_key(|(length, _)| *length);
    best.map_or(Said::Nothing, |(_, said)| said)
}
