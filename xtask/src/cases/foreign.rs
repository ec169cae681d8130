//! A case's own programs, explained while they run.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::case::Own;
use super::stand::{Field, Stand};
use super::table::Row;

/// For how long the programs run, and of this before and while they are read, in seconds.
const RUN: u32 = 12;
const BEFORE: u64 = 3;
const READ: u32 = 5;

/// The file of this name: of a case the namespace and the connection.
#[derive(Deserialize)]
struct Table {
    foreign: BTreeMap<String, [String; 2]>,
}

/// Explains the programs of a case, by one end of their connections, or by both.
pub fn explained(row: &mut Row, (own, both): (&Own, bool), field: &Field) -> Result<()> {
    let table: Table = toml_edit::de::from_str(include_str!("foreign.toml"))?;
    let group = row.case.name.split('-').next().unwrap_or_default();
    let listed = table.foreign.get(group).unwrap_or(&own.foreign);
    let [namespace, connection] = listed;
    row.test = connection.clone();
    ensure!(!connection.is_empty(), "no row of foreign.toml");
    let stand = Stand::bare(own, field)?;
    let mut words = format!("explain --connection {connection} -t {READ}s --out logs");
    if both {
        words += &stand.at_other(namespace);
    }
    stand.explain(RUN, BEFORE, (namespace, &words))?;
    let shown = stand.shown("logs")?;
    let document: Value = serde_json::from_str(&shown).context("the document of a log")?;
    row.verdict = document["bottleneck"].clone();
    Ok(())
}
