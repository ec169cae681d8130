//! In which state of the machine runs are made, and what may be spent on it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bitcost_execute::{Destination, States};
use bitcost_model::Invalid;
use bitcost_model::units::parse_duration;

use crate::failure::Failure;
use crate::opened::{self, Reading};

/// The state in which the runs of a study are made.
#[derive(clap::Args)]
pub struct StateOptions {
    /// Maximum time to wait for the study's state of the machine and to repeat runs that were made
    /// in another state, such as 30s; 0 disables both [default: a quarter of the time of the runs]
    #[arg(long, value_name = "TIME", value_parser = state_budget)]
    state_budget: Option<Duration>,
    /// Run in the same state of the machine as the execution in this folder: at the same distance
    /// between the endpoints' CPUs [default: the nearest state that over a quarter of the first
    /// runs have]
    #[arg(long, value_name = "FOLDER", conflicts_with = "resume")]
    state_of: Option<PathBuf>,
}

impl StateOptions {
    /// What the options ask for.
    ///
    /// # Errors
    /// Usage, when the other execution's log cannot be read or has no distances, or the endpoints
    /// are on different machines.
    pub fn states(&self, destination: &Destination) -> Result<States, Failure> {
        let wanted = match &self.state_of {
            Some(_) if matches!(destination, Destination::Hosts(_)) => {
                return Err(Failure::Usage(
                    "--state-of is for labs: the CPUs of two hosts have no distance; leave it out"
                        .to_owned(),
                ));
            }
            Some(folder) => distances(folder)?,
            None => Vec::new(),
        };
        let budget = self.state_budget;
        Ok(States { budget, wanted })
    }
}

fn distances(folder: &Path) -> Result<Vec<bitcost_model::machine_state::DistanceState>, Failure> {
    let states = opened::open(folder, Reading::default())?.summary.states;
    if states.is_empty() {
        return Err(Failure::Usage(format!(
            "--state-of {}: no run of that execution has a distance between the endpoints' CPUs; name one that was made in a lab with all probes",
            folder.display()
        )));
    }
    Ok(states)
}

/// Reads the time for repeating, which may be 0.
///
/// # Errors
/// When it is not a duration.
pub fn state_budget(text: &str) -> Result<Duration, Invalid> {
    match text.trim() {
        "0" | "0s" => Ok(Duration::ZERO),
        text => parse_duration(text),
    }
}
