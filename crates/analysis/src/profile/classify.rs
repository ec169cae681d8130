//! The layer of a call chain, by the table of anchors (`anchors.txt`): entry points of the kernel that outlive its releases.

use std::collections::HashMap;
use std::str::SplitWhitespace;
use std::sync::LazyLock;

use bitcost_model::profile::Layer;

/// What the name of a function says about the layer of a chain that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    /// An entry point of this layer.
    Of(Layer),
    /// An entry of the kernel, whose layer counts only at the leaf or close to it.
    Entry(Layer),
    /// Where a kernel thread, an interrupt of a program or a fault starts.
    Start,
}

/// Anchors by the names of functions, and by starts of names, which end in `*`.
static ANCHORS: LazyLock<Vec<(&str, Anchor)>> = LazyLock::new(|| {
    let rows = lines().filter_map(row);
    rows.flat_map(|(anchor, names)| names.map(move |name| (name, anchor)))
        .collect()
});

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

    /// The anchor whose names match this function's most closely.
    fn anchor(&mut self, frame: &str) -> Option<Anchor> {
        if let Some(known) = self.known.get(frame) {
            return *known;
        }
        let matches = |(name, anchor): &(&str, _)| Some((closeness(name, base(frame))?, *anchor));
        let best = ANCHORS.iter().filter_map(matches);
        let found = best.max_by_key(|(closeness, _)| *closeness);
        let found = found.map(|(_, anchor)| anchor);
        self.known.insert(frame.to_owned(), found);
        found
    }
}

/// A function's name without what the compiler appends.
pub fn base(frame: &str) -> &str {
    let endings = [".isra", ".constprop", ".part", ".cold", ".llvm"].iter();
    let cut = endings.filter_map(|ending| frame.find(ending)).min();
    &frame[..cut.unwrap_or(frame.len())]
}

fn lines() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("anchors.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn row(line: &'static str) -> Option<(Anchor, SplitWhitespace<'static>)> {
    let (key, names) = line.split_once(':')?;
    let anchor = match (key, key.strip_prefix("entry ")) {
        ("start", _) => Anchor::Start,
        (_, Some(key)) => Anchor::Entry(Layer::named(key)?),
        _ => Anchor::Of(Layer::named(key)?),
    };
    Some((anchor, names.split_whitespace()))
}

/// How closely a function's name matches a pattern; a whole name is closer than a start.
fn closeness(pattern: &str, name: &str) -> Option<usize> {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start).then_some(2 * start.len()),
        None => (name == pattern).then_some(2 * name.len() + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{closeness, lines, row};

    #[test]
    fn every_line_of_the_table_has_a_layer_and_names() {
        for line in lines() {
            assert!(
                row(line).is_some_and(|(_, mut names)| names.next().is_some()),
                "{line}"
            );
        }
    }

    #[test]
    fn a_whole_name_is_closer_than_a_start() {
        assert!(closeness("tcp_send", "tcp_send") > closeness("tcp_send*", "tcp_send"));
        assert_eq!(closeness("tcp_send", "tcp_sendmsg"), None);
    }
}
