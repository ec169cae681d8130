//! Whether runs are profiled, and how often their CPUs are sampled.

use bitcost_execute::Destination;
use bitcost_model::profile::RATE_HZ;
use bitcost_study::Study;

use super::whole::whole;
use crate::failure::Failure;

/// What is profiled.
#[derive(clap::Args)]
pub struct ProfileOptions {
    /// Repeat each run while the CPUs of the hosts are sampled, and show in which parts of the
    /// kernel the CPU time is spent. Needs root on the hosts; other figures are of the runs without
    /// sampling
    #[arg(long)]
    profile: bool,
    /// Samples per second of each CPU [default: 997]
    #[arg(long, value_name = "HZ", value_parser = whole::<u32>(10..=10_000))]
    profile_rate: Option<u32>,
}

impl ProfileOptions {
    /// Changes what the study says of profiles to what is asked for.
    ///
    /// # Errors
    /// Usage, when a rate is asked for and nothing is profiled.
    pub fn apply(&self, study: &mut Study) -> Result<(), Failure> {
        if self.profile {
            study.profile_hz.get_or_insert(RATE_HZ);
        }
        match (self.profile_rate, &mut study.profile_hz) {
            (Some(asked), Some(rate)) => *rate = asked,
            (Some(_), None) => {
                return Err(Failure::Usage("--profile-rate needs --profile".to_owned()));
            }
            (None, _) => {}
        }
        Ok(())
    }
}

/// Checks that this host can be profiled where a lab is to be built on it, before anything is made.
///
/// # Errors
/// Environment, with what the host lacks.
pub fn check_here(study: &Study, destination: &Destination) -> Result<(), Failure> {
    match (study.profile_hz, destination) {
        (Some(rate_hz), Destination::Lab) => Ok(bitcost_agent::check_profile(rate_hz)?),
        _ => Ok(()),
    }
}
