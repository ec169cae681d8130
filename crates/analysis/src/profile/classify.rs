//! The layer of a call chain.

use std::collections::HashMap;

use bitcost_model::profile::Layer;
use bitcost_model::profile::anchors::{Anchor, anchor};

/// How far above the leaf an entry of the kernel is still the layer: what a system call does itself,
/// and not a part of the kernel that the table does not know.
const CLOSE: usize = 2;

/// Finds layers, and remembers what each function's name says.
#[derive(Default)]
pub struct Layers {
    known: HashMap<String, Option<Anchor>>,
}

impl Layers {
    /// The layer of a chain of functions, outermost first: that of its deepest anchor. `None` where
    /// the chain is of the kernel and no anchor is in it.
    pub fn of(&mut self, stack: &str) -> Option<Layer> {
        let mut is_kernel = false;
        for (above, frame) in stack.rsplit(';').enumerate() {
            match self.anchor(frame) {
                Some(Anchor::Of(layer)) => return Some(layer),
                Some(Anchor::Entry(layer)) if above <= CLOSE => return Some(layer),
                Some(Anchor::Entry(_) | Anchor::Start) => is_kernel = true,
                None => {}
            }
        }
        (!is_kernel).then_some(Layer::Application)
    }

    fn anchor(&mut self, frame: &str) -> Option<Anchor> {
        if let Some(known) = self.known.get(frame) {
            return *known;
        }
        let found = anchor(base(frame));
        self.known.insert(frame.to_owned(), found);
        found
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
