//! `bitcost lab ls`: the running labs.

use bitcost_lab::registry::{Description, describe};
use bitcost_model::units::counted;
use serde_json::json;

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON document
    #[arg(short = 'J', long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    // A lab that ended in the meantime is left out.
    let labs: Vec<Description> = super::running::names()?
        .iter()
        .filter_map(|name| describe(name))
        .collect();
    if arguments.json {
        return output::line(&format!("{:#}", json!({ "labs": labs })));
    }
    if labs.is_empty() {
        return output::line("no lab is running");
    }
    for lab in labs {
        let topology = &lab.state.topology;
        let hosts: Vec<String> = topology
            .hosts()
            .map(|host| match topology.address(&host.name) {
                Some(address) => format!("{} {address}", host.name),
                None => host.name.clone(),
            })
            .collect();
        let Description {
            name,
            origin,
            since,
            pid,
            state,
        } = &lab;
        let changed = match state.changes.len() {
            0 => String::new(),
            count => format!("  {}", counted(count, "change")),
        };
        output::line(&format!(
            "{name}  {origin}  since {since}  process {pid}  {}{changed}",
            hosts.join(", ")
        ))?;
    }
    Ok(())
}
