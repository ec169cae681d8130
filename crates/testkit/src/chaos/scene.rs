//! Follows a process to a step, and kills there.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

use crate::chaos::step::{Names, Step, Who};
use crate::chaos::trace::{Call, follow};
use crate::chaos::verdict::{Verdict, judge, wait_until_gone};
use crate::chaos::world::{CHANGES, Side, World};

/// The processes that are running when the step is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scene {
    /// A run: agent and watchdog of the far host apply its settings and restore them.
    Run,
    /// The agent of the far host was killed with everything in effect: its watchdog restores
    /// everything.
    Alone,
    /// Agent and watchdog of the far host were killed with everything in effect: `bitcost host
    /// restore` restores everything.
    Restore,
}

/// Which processes are killed at which step.
#[derive(Debug, Clone)]
pub struct Death {
    scene: Scene,
    step: Step,
    /// In the order in which they are killed.
    victims: Vec<Who>,
}

pub struct Deaths {
    pub chosen: Vec<Death>,
    /// At how many steps the process that makes the step is killed, and the number of steps.
    pub steps: [usize; 2],
}

/// How many of a hundred deaths are at a step, and how many of those kill the process that makes
/// the step.
const AT_STEPS_PCT: usize = 85;
const OWN_PCT: usize = 70;
/// How long a process may be followed; longer than any deadline of bitcost.
const FOLLOWED: Duration = Duration::from_secs(60);

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let victims: Vec<String> = self.victims.iter().map(Who::to_string).collect();
        let alone = if self.scene == Scene::Alone {
            " alone"
        } else {
            ""
        };
        write!(
            f,
            "{} killed at: {}{alone}",
            victims.join(", then "),
            self.step
        )
    }
}

impl Death {
    /// Follows the process to the step, kills, and judges the result.
    pub fn play(&self, world: &World) -> Result<Verdict, String> {
        let played = play(self.scene, world, Some(self))?;
        let Some(since) = played.killed_at else {
            wait_until_gone(world)?;
            return Ok(Verdict::NotReached);
        };
        let has = |who| played.killed.contains(&who);
        let nobody_is_left = self.scene != Scene::Run || (has(Who::Agent) && has(Who::Watchdog));
        judge(world, since, nobody_is_left, None)
    }
}

/// Chooses deaths for about this many kills: every step if there is room, else evenly spaced steps.
pub fn deaths(world: &World, kills: usize, random: &mut ChaCha8Rng) -> Result<Deaths, String> {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for scene in [Scene::Run, Scene::Alone, Scene::Restore] {
        let played = play(scene, world, None)?;
        wait_until_gone(world)?;
        world.check_usable()?;
        if played.steps.is_empty() {
            return Err(format!(
                "no step was seen in the scene {scene:?}: {}",
                world.said()
            ));
        }
        for step in played.steps {
            let death = |victims: &[Who]| Death {
                scene,
                step: step.clone(),
                victims: victims.to_vec(),
            };
            if scene == Scene::Run {
                let other = if step.who == Who::Agent {
                    Who::Watchdog
                } else {
                    Who::Agent
                };
                let orders = [
                    &[Who::Controller][..],
                    &[other],
                    &[Who::Agent, Who::Watchdog],
                    &[Who::Watchdog, Who::Agent],
                ];
                others.extend(orders.map(death));
            }
            own.push(death(&[step.who]));
        }
    }
    let (all, count) = (own.len(), own.len().min(kills * OWN_PCT / 100));
    let mut chosen: Vec<Death> = (0..count)
        .map(|index| own[index * all / count].clone())
        .collect();
    let rest = (kills * AT_STEPS_PCT / 100)
        .saturating_sub(count)
        .min(others.len());
    for _ in 0..rest {
        let index = random.next_u32() as usize % others.len();
        chosen.push(others.swap_remove(index));
    }
    Ok(Deaths {
        chosen,
        steps: [count, all],
    })
}

/// The observations of a scene.
#[derive(Default)]
struct Played {
    steps: Vec<Step>,
    killed: Vec<Who>,
    killed_at: Option<Instant>,
}

/// Plays a scene until the followed process ends, and kills at the step of `death`.
fn play(scene: Scene, world: &World, death: Option<&Death>) -> Result<Played, String> {
    if scene == Scene::Restore {
        leave_a_journal(world)?;
    }
    world.raise_gate()?;
    let mut child = if scene == Scene::Restore {
        world.start_restore()?
    } else {
        world.start()?
    };
    let first = world.waits()?;
    let (mut names, mut played, mut has_begun) =
        (Names::default(), Played::default(), scene != Scene::Alone);
    let mut on_call = |call: &Call| {
        let Some(step) = names.step(call) else { return };
        if !has_begun {
            has_begun = step.who == Who::Watchdog && step.what == format!("answers made {CHANGES}");
            if has_begun {
                world.signal(Who::Agent, Side::Far, Signal::SIGKILL);
            }
            return;
        }
        if let Some(death) = death.filter(|death| death.step == step && played.killed_at.is_none())
        {
            played.killed = kill(world, &death.victims);
            played.killed_at = Some(Instant::now());
        }
        played.steps.push(step);
    };
    let (done, is_done) = channel::<()>();
    let followed = std::thread::scope(|scope| {
        scope.spawn(move || {
            if let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(FOLLOWED) {
                world.signal_all(Signal::SIGKILL);
            }
        });
        let followed = follow(first, || world.open_gate(), &mut on_call);
        drop(done);
        followed
    });
    if followed.is_err() {
        world.signal_all(Signal::SIGKILL);
    }
    // The process ends without help; the verdict waits for it.
    std::thread::spawn(move || child.wait());
    followed.map(|()| played)
}

/// Kills one after the other; returns those that existed.
fn kill(world: &World, victims: &[Who]) -> Vec<Who> {
    let is_there = |who: &Who| {
        let side = match who {
            Who::Controller => Side::Near,
            _ => Side::Far,
        };
        world.signal(*who, side, Signal::SIGKILL) > 0
    };
    victims.iter().copied().filter(is_there).collect()
}

/// Kills agent and watchdog of the far host together when everything is in effect.
fn leave_a_journal(world: &World) -> Result<(), String> {
    let mut child = world.start()?;
    world.wait_for(Side::Far, "made", CHANGES)?;
    for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
        world.signal(Who::Watchdog, Side::Far, signal);
        world.signal(Who::Agent, Side::Far, signal);
    }
    let ended = child
        .wait()
        .map_err(|error| format!("wait for the controller: {error}"));
    ended.and_then(|_| wait_until_gone(world))
}
