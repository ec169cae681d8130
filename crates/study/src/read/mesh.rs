//! Reads a study's `[mesh]`.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::near::near_or_all;
use bitcost_model::study::{LabSpec, Label};
use toml_edit::Value;

use crate::definition::{Factor, Level};
use crate::error::StudyError;
use crate::keys::MESH;
use crate::mesh::{HOSTS_MOST, Mesh, Pattern, RECEIVER, SENDER};
use crate::section::Section;

/// Most pairs that a study lists.
const PAIRS_MOST: usize = 10_000;

/// The mesh of a study; the hosts are those of the lab where it names none.
pub fn mesh(top: &Section, lab: &LabSpec) -> Result<Option<Mesh>, StudyError> {
    let Some(section) = top.section("mesh")? else {
        return Ok(None);
    };
    section.only(&MESH.names())?;
    if section.table.contains_key("file") {
        let message = "the file of hosts is read where the study is a file; allowed here: hosts";
        return Err(section.error_at("file", message));
    }
    let named = section.typed("hosts", "a list of names", names)?;
    let is_lab = named.is_none();
    let of_lab = || {
        let hosts = lab.network.iter().flat_map(|network| network.hosts());
        hosts.map(|host| host.name.clone()).collect()
    };
    let written: Vec<String> = named.unwrap_or_else(of_lab);
    let hosts = written.iter().map(|host| name(host).to_owned());
    let hosts: Vec<String> = hosts.collect();
    check(&section, &hosts)?;
    let mut pattern = section
        .typed("pattern", Pattern::ALLOWED, |value| {
            Pattern::parse(value.as_str()?)
        })?
        .unwrap_or(Pattern::Screen);
    if let Some(pairs) = pairs(&section, &hosts)? {
        if section.table.contains_key("pattern") {
            let message = "`pairs` and `pattern` both say which pairs are measured; allowed: one";
            return Err(section.error_at("pattern", message));
        }
        pattern = Pattern::Pairs(pairs);
    }
    let network = |value: &Value| match value.as_str()? {
        "pod" => Some(false),
        "host" => Some(true),
        _ => None,
    };
    let is_host_network = section.typed("network", Mesh::NETWORKS, network)?;
    Ok(Some(Mesh {
        hosts,
        written,
        is_lab,
        pattern,
        is_concurrent: section.switch("concurrent")?.unwrap_or_default(),
        is_host_network: is_host_network.unwrap_or_default(),
    }))
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

/// Refuses what a mesh cannot be combined with.
pub fn fits(
    top: &Section,
    factors: &[Factor],
    has_rule: bool,
    is_profiled: bool,
) -> Result<(), StudyError> {
    let is_taken = |factor: &&Factor| [SENDER, RECEIVER].contains(&factor.name.as_str());
    if let Some(factor) = factors.iter().find(is_taken) {
        let message = format!(
            "a mesh has the factor `{}`; allowed: another name",
            factor.name
        );
        return Err(top.error_at("factor", message));
    }
    match (has_rule, is_profiled) {
        (false, false) => Ok(()),
        (true, _) => Err(top.error_at(
            "run",
            "a mesh has no stop rule; allowed: a number of blocks",
        )),
        (_, true) => Err(top.error_at(
            "run",
            "the runs of a mesh are not profiled; allowed: no `profile`",
        )),
    }
}

/// The blocks of a mesh: those that the study writes, or one.
pub fn blocks(top: &Section, blocks: u32) -> Result<u32, StudyError> {
    let run = top.section("run")?;
    let is_written = run.is_some_and(|run| run.table.contains_key("blocks"));
    Ok(if is_written { blocks } else { 1 })
}

/// A host without how it is reached.
fn name(written: &str) -> &str {
    let ways = ["ssh:", "slurm:", "kubernetes:"];
    let way = ways.iter().find_map(|way| written.strip_prefix(way));
    way.filter(|name| !name.starts_with("//"))
        .unwrap_or(written)
}

fn names(value: &Value) -> Option<Vec<String>> {
    let array = value.as_array()?.iter();
    array.map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Refuses hosts of which no mesh can be made.
fn check(section: &Section, hosts: &[String]) -> Result<(), StudyError> {
    let fail = |message: String| Err(section.error_at("hosts", message));
    let is_name = |host: &&String| {
        let is_odd = |c: char| c.is_whitespace() || c.is_control();
        !host.is_empty() && !host.starts_with('-') && !host.contains(is_odd)
    };
    if let Some(host) = hosts.iter().find(|host| !is_name(host)) {
        return fail(format!(
            "{host:?} is not a host; allowed: `local`, or a name that ssh knows"
        ));
    }
    let mut known = BTreeSet::new();
    if let Some(host) = hosts.iter().find(|host| !known.insert(*host)) {
        return fail(format!(
            "the host `{host}` appears twice; allowed: each host once"
        ));
    }
    if !(2..=HOSTS_MOST).contains(&hosts.len()) {
        let count = hosts.len();
        return fail(format!(
            "a mesh of {count} hosts; allowed: 2 to {HOSTS_MOST}"
        ));
    }
    Ok(())
}

fn pairs(section: &Section, hosts: &[String]) -> Result<Option<Vec<(usize, usize)>>, StudyError> {
    let allowed = "a file, or a list of texts with a sender and a receiver each";
    let Some(lines) = section.typed("pairs", allowed, names)? else {
        return Ok(None);
    };
    if lines.len() > PAIRS_MOST {
        let count = lines.len();
        return Err(section.error_at(
            "pairs",
            format!("{count} pairs; allowed: at most {PAIRS_MOST}"),
        ));
    }
    let places: BTreeMap<&str, usize> = hosts.iter().map(String::as_str).zip(0..).collect();
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [sender, receiver] = words[..] else {
            let message = format!("`{line}` is not a pair; allowed: a sender and a receiver");
            return Err(section.error_at("pairs", message));
        };
        let place = |name: &str| {
            places.get(name).copied().ok_or_else(|| {
                let all: Vec<&str> = hosts.iter().map(String::as_str).take(20).collect();
                let rest = near_or_all(name, &all);
                section.error_at("pairs", format!("`{name}` is not one of the hosts{rest}"))
            })
        };
        let pair = (place(sender)?, place(receiver)?);
        if pair.0 == pair.1 || !known.insert(pair) {
            let message = format!(
                "the pair `{line}` appears twice, or is one host; allowed: two hosts, each pair once"
            );
            return Err(section.error_at("pairs", message));
        }
        found.push(pair);
    }
    if found.is_empty() {
        return Err(section.error_at("pairs", "no pair; allowed: one at least"));
    }
    Ok(Some(found))
}
