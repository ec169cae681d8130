//! `bitcost lab ls`: the labs that stand.

use lab::registry::{Description, describe};
use serde_json::json;

use crate::failure::Failure;
use crate::output;

/// How to list.
#[derive(clap::Args)]
pub struct Arguments {
    /// Draw the lab of this name
    name: Option<String>,
    /// Print one JSON document
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

/// Lists or draws.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(name) = &arguments.name {
        let lab = super::standing(Some(name))?;
        return output::print(&lab::draw(&lab.topology));
    }
    // One that went away in between is left out.
    let labs: Vec<Description> = super::names()?.iter().filter_map(|name| describe(name)).collect();
    if arguments.json {
        return output::line(&format!("{:#}", json!({ "labs": labs })));
    }
    if labs.is_empty() {
        return output::line("no lab stands");
    }
    for lab in labs {
        let hosts: Vec<String> = lab
            .topology
            .hosts()
            .map(|host| match lab.topology.address(&host.name) {
                Some(address) => format!("{} {address}", host.name),
                None => host.name.clone(),
            })
            .collect();
        let Description { name, origin, since, pid, .. } = &lab;
        output::line(&format!("{name}  {origin}  since {since}  process {pid}  {}", hosts.join(", ")))?;
    }
    Ok(())
}
