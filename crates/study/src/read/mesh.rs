//! Reads a study's `[mesh]`.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::near::near_or_all;
use bitcost_model::study::{LabSpec, Label};

use crate::definition::{Factor, Level, Study};
use crate::limits::{MESH_HOSTS, MESH_PAIRS};
use crate::mesh::{Mesh, Pattern, RECEIVER, SENDER};
use crate::tables::{ClusterNetwork, MeshTable};
use crate::toml::Node;

/// The mesh of a study; the hosts are those of the lab where it names none.
pub fn mesh(node: &Node, lab: &LabSpec) -> Option<Mesh> {
    let table: MeshTable = node.read()?;
    if table.file.is_some() {
        let message = "the file of hosts is read where the study is a file; allowed here: hosts";
        return node.at("file").error(message);
    }
    let is_lab = table.hosts.is_none();
    let written: Vec<String> = table.hosts.unwrap_or_else(|| {
        let hosts = lab.network.hosts();
        hosts.map(|host| host.name.clone()).collect()
    });
    let hosts: Vec<String> = written.iter().map(|host| name(host).to_owned()).collect();
    check(&node.at("hosts"), &hosts)?;
    let pattern = match (table.pairs, table.pattern) {
        (Some(_), Some(_)) => {
            let message = "`pairs` and `pattern` both say which pairs are measured; allowed: one";
            return node.at("pattern").error(message);
        }
        (Some(lines), None) => Pattern::Pairs(pairs(&node.at("pairs"), &lines.0, &hosts)?),
        (None, pattern) => pattern.map_or(Pattern::Screen, |pattern| pattern.0),
    };
    Some(Mesh {
        hosts,
        written,
        is_lab,
        pattern,
        is_concurrent: table.concurrent.unwrap_or_default(),
        is_host_network: table.network == Some(ClusterNetwork::Host),
    })
}

/// The factors of which the pair of a run is a level each.
pub fn factors(mesh: &Mesh) -> Vec<Factor> {
    let level = |name: &str| Level::named(Label::Text(name.to_owned()));
    let factor = |name: &str| Factor {
        name: name.to_owned(),
        levels: mesh.hosts.iter().map(|host| level(host)).collect(),
    };
    vec![factor(SENDER), factor(RECEIVER)]
}

pub fn fits(top: &Node, study: &Study) -> Option<()> {
    let is_taken = |factor: &&Factor| [SENDER, RECEIVER].contains(&factor.name.as_str());
    if let Some(factor) = study.factors.iter().find(is_taken) {
        let name = &factor.name;
        let message = format!("a mesh has the factor `{name}`; allowed: another name");
        return top.at("factor").error(message);
    }
    let refused = match (&study.until, study.is_profiled) {
        (None, false) => return Some(()),
        (Some(_), _) => "a mesh has no stop rule; allowed: a number of blocks",
        (_, true) => "the runs of a mesh are not profiled; allowed: no `profile`",
    };
    top.at("run").error(refused)
}

/// A host without how it is reached.
fn name(written: &str) -> &str {
    let ways = ["ssh:", "slurm:", "kubernetes:"];
    let way = ways.iter().find_map(|way| written.strip_prefix(way));
    way.filter(|name| !name.starts_with("//"))
        .unwrap_or(written)
}

fn check(node: &Node, hosts: &[String]) -> Option<()> {
    let is_name = |host: &&String| {
        let is_odd = |c: char| c.is_whitespace() || c.is_control();
        !host.is_empty() && !host.starts_with('-') && !host.contains(is_odd)
    };
    let mut known = BTreeSet::new();
    if let Some(host) = hosts.iter().find(|host| !is_name(host)) {
        return node.error(format!(
            "{host:?} is not a host; allowed: `local`, or a name that ssh knows"
        ));
    }
    if let Some(host) = hosts.iter().find(|host| !known.insert(*host)) {
        let message = format!("the host `{host}` appears twice; allowed: each host once");
        return node.error(message);
    }
    if !(2..=MESH_HOSTS).contains(&hosts.len()) {
        let count = hosts.len();
        let message = format!("a mesh of {count} hosts; allowed: 2 to {MESH_HOSTS}");
        return node.error(message);
    }
    Some(())
}

fn pairs(node: &Node, lines: &[String], hosts: &[String]) -> Option<Vec<(usize, usize)>> {
    if lines.is_empty() || lines.len() > MESH_PAIRS {
        let count = lines.len();
        return node.error(format!("{count} pairs; allowed: 1 to {MESH_PAIRS}"));
    }
    let places: BTreeMap<&str, usize> = hosts.iter().map(String::as_str).zip(0..).collect();
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [sender, receiver] = words[..] else {
            let message = format!("`{line}` is not a pair; allowed: a sender and a receiver");
            return node.error(message);
        };
        let place = |name: &str| {
            places.get(name).copied().or_else(|| {
                let all: Vec<&str> = hosts.iter().map(String::as_str).take(20).collect();
                let rest = near_or_all(name, &all);
                node.error(format!("`{name}` is not one of the hosts{rest}"))
            })
        };
        let pair = (place(sender)?, place(receiver)?);
        if pair.0 == pair.1 || !known.insert(pair) {
            return node.error(format!(
                "the pair `{line}` appears twice, or is one host; allowed: two hosts, each pair once"
            ));
        }
        found.push(pair);
    }
    Some(found)
}
