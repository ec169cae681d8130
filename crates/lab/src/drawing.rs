//! A lab drawn as text: its nodes as a tree from the first one, with what each link does.

use std::collections::BTreeSet;

use bitcost_model::shaping::show_shaping;
use bitcost_model::topology::{End, Link, Node, NodeKind, Topology};

/// Draws a topology.
///
/// Each link is below the node that is nearer to the first one: its device there, the device at the
/// other endpoint, and after `→` and `←` what it does to packets away from the first node and
/// towards it. Links that would close a loop are listed last.
pub fn draw(topology: &Topology) -> String {
    let mut drawing = Drawing {
        topology,
        drawn: BTreeSet::new(),
        used: BTreeSet::new(),
        text: String::new(),
    };
    for node in &topology.nodes {
        if !drawing.drawn.contains(node.name.as_str()) {
            drawing.node(node, "");
        }
    }
    let rest: Vec<&Link> = (0..topology.links.len())
        .filter(|index| !drawing.used.contains(index))
        .map(|index| &topology.links[index])
        .collect();
    let mut text = drawing.text;
    if !rest.is_empty() {
        text += "and\n";
    }
    rest.iter()
        .for_each(|link| text += &format!("  {}\n", link_line(&link.ends[0], &link.ends[1])));
    text
}

struct Drawing<'a> {
    topology: &'a Topology,
    drawn: BTreeSet<&'a str>,
    used: BTreeSet<usize>,
    text: String,
}

impl<'a> Drawing<'a> {
    fn node(&mut self, node: &'a Node, margin: &str) {
        self.drawn.insert(&node.name);
        self.text += &format!("{}\n", node_line(self.topology, node));
        let mut links = self.links_of(node);
        while let Some((index, near, far)) = links.pop() {
            let Some(next) = self
                .topology
                .node(&far.node)
                .filter(|next| !self.drawn.contains(next.name.as_str()))
            else {
                continue;
            };
            self.used.insert(index);
            let is_last = !links
                .iter()
                .any(|(_, _, far)| !self.drawn.contains(far.node.as_str()));
            let (branch, stem) = if is_last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            self.text += &format!("{margin}{branch}{}\n{margin}{stem}", link_line(near, far));
            self.node(next, &format!("{margin}{stem}"));
        }
    }

    /// A node's links that are not drawn yet, the first one last: number, near endpoint, far
    /// endpoint.
    fn links_of(&self, node: &Node) -> Vec<(usize, &'a End, &'a End)> {
        let links = self
            .topology
            .links
            .iter()
            .enumerate()
            .rev()
            .filter(|(index, _)| !self.used.contains(index));
        let ends = links.filter_map(|(index, link)| {
            let side = link.ends.iter().position(|end| end.node == node.name)?;
            Some((index, &link.ends[side], &link.ends[1 - side]))
        });
        ends.collect()
    }
}

fn node_line(topology: &Topology, node: &Node) -> String {
    let ends = topology.ends().filter(|end| end.node == node.name);
    let addresses = ends.flat_map(|end| &end.addresses).map(ToString::to_string);
    let kind = (node.kind != NodeKind::Host).then(|| node.kind.name().to_owned());
    let words: Vec<String> = kind.into_iter().chain(addresses).collect();
    format!("{}  {}", node.name, words.join(" "))
}

/// A link in one line: both devices, and what it does to packets away from `near` and towards it.
fn link_line(near: &End, far: &End) -> String {
    let shaped = |arrow: &str, end: &End| match end.egress.is_nothing() {
        true => String::new(),
        false => format!("   {arrow} {}", show_shaping(&end.egress)),
    };
    format!(
        "{} ── {}{}{}",
        near.device,
        far.device,
        shaped("→", near),
        shaped("←", far)
    )
}
