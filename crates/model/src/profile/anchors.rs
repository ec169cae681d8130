//! The table of anchors (`anchors.txt`): entry points of the kernel that outlive its releases, each with its layer.

use std::sync::LazyLock;

use super::layer::Layer;

/// What the name of a function says about the layer of a chain that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// An entry point of this layer.
    Of(Layer),
    /// An entry of the kernel, whose layer counts only at the leaf or close to it.
    Entry(Layer),
    /// Where a kernel thread, an interrupt of a program or a fault starts.
    Start,
}

/// An anchor with its functions' names, and starts of names that end in `*`.
type Row = (Anchor, Vec<&'static str>);

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| lines().filter_map(row).collect());

fn lines() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("anchors.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn row(line: &'static str) -> Option<Row> {
    let (key, names) = line.split_once(':')?;
    let layer = |key: &str| Layer::ALL.into_iter().find(|layer| layer.name() == key);
    let anchor = match (key, key.strip_prefix("entry ")) {
        ("start", _) => Anchor::Start,
        (_, Some(key)) => Anchor::Entry(layer(key)?),
        _ => Anchor::Of(layer(key)?),
    };
    Some((anchor, names.split_whitespace().collect()))
}

/// The anchor whose names match this function's most closely.
pub fn anchor(function: &str) -> Option<Anchor> {
    let matches = |(anchor, names): &Row| Some((matched(names, function)?, *anchor));
    let best = ROWS.iter().filter_map(matches);
    best.max_by_key(|(length, _)| *length)
        .map(|(_, anchor)| anchor)
}

/// How closely a function's name matches one of these; a whole name is closer than a start.
fn matched(patterns: &[&str], name: &str) -> Option<usize> {
    let length = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start).then_some(2 * start.len()),
        None => (name == *pattern).then_some(2 * name.len() + 1),
    };
    patterns.iter().filter_map(length).max()
}

#[cfg(test)]
mod tests {
    use super::{lines, matched, row};

    #[test]
    fn every_line_of_the_table_has_a_layer_and_names() {
        for line in lines() {
            assert!(
                row(line).is_some_and(|(_, names)| !names.is_empty()),
                "{line}"
            );
        }
    }

    #[test]
    fn a_whole_name_is_closer_than_a_start() {
        assert!(matched(&["tcp_send"], "tcp_send") > matched(&["tcp_send*"], "tcp_send"));
        assert_eq!(matched(&["tcp_send"], "tcp_sendmsg"), None);
    }
}
