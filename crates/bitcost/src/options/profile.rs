//! Whether runs are profiled.

use bitcost_study::Study;

#[derive(clap::Args)]
pub struct ProfileOptions {
    /// Repeat each run while the CPUs are sampled, and show in which parts of the kernel CPU time
    /// is spent. Needs root on the hosts; other figures are of the runs without sampling
    #[arg(long)]
    profile: bool,
}

impl ProfileOptions {
    /// Changes what the study says of profiles to what is asked for.
    pub fn apply(&self, study: &mut Study) {
        study.is_profiled |= self.profile;
    }
}
