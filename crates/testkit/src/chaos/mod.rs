//! For tests only: kills bitcost at every step of applying and restoring, and checks with other
//! programs whether its hosts are as before.
//!
//! A run changes settings of two hosts, which are network namespaces of the caller: `c0`, where the
//! controller is too, and `c1`, behind a stand-in for ssh. Nothing of the machine is changed. The
//! settings are read by `ethtool`, `ip`, `tc` and `grep`, never by bitcost.
//!
//! | file | it is |
//! |---|---|
//! | world | the two hosts, their settings as other programs see them, and the processes |
//! | trace | system calls of a process and of all that it starts, each stopped before it is made |
//! | step | names for the effect of such a call on a host's settings |
//! | scene | follows a process to a step, and kills there |
//! | random | kills at random times, and processes that are stopped |
//! | verdict | the check that everything is as before, and which process restored it |
//! | tally | the results of all deaths |
//! | whole | complete runs, on hosts with unusual settings |

mod random;
mod scene;
mod step;
mod tally;
mod trace;
mod verdict;
mod whole;
mod world;

use std::path::Path;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

pub use tally::Tally;
pub use whole::{count as whole_run_count, whole_runs};

use crate::chaos::step::Who;
use crate::chaos::world::World;

/// The number of deaths, and the time limit of a host.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Deaths, those at named steps and those at random times.
    pub kills: usize,
    /// Seed of the choice of steps, victims and times.
    pub seed: u64,
    /// The time within which everything must be as before, and no process left.
    pub limit: Duration,
    /// Whether processes are also stopped (SIGSTOP), which takes as long as a lease.
    pub stops: bool,
}

/// Kills `program` (bitcost) as the plan says, in the caller's network namespace, which must be a
/// private one; `say` gets a line for each death.
pub fn run(program: &Path, plan: Plan, say: &mut dyn FnMut(&str)) -> Result<Tally, String> {
    let world = World::new(program, plan.limit)?;
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    let mut tally = Tally::default();
    let deaths = scene::deaths(&world, plan.kills, &mut random)?;
    tally.steps = deaths.steps;
    let at_steps = deaths.chosen.len();
    for death in &deaths.chosen {
        tally.add(&death.to_string(), death.play(&world)?, say);
        world.check_usable()?;
    }
    let span = random::span(&world)?;
    for _ in at_steps..plan.kills {
        let (name, verdict) = random::death(&world, span, &mut random)?;
        tally.add(&name, verdict, say);
        world.check_usable()?;
    }
    let stops = [Who::Agent, Who::Watchdog, Who::Controller].into_iter();
    for who in stops.filter(|_| plan.stops) {
        let verdict = random::stopped(&world, who)?;
        tally.add(&format!("{who} stopped"), verdict, say);
        world.check_usable()?;
    }
    Ok(tally)
}
