//! Both machines while they run, and what the near one asks for.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};

use super::network::Network;
use crate::vm::boot::{self, Clock, Machine, Running};
use crate::vm::inside::{ROLE, Role};
use crate::vm::report::{Ask, Line, Tally};

/// What a machine boots.
pub struct Image {
    /// The kernel's image.
    pub kernel: PathBuf,
    /// The archive with its files.
    pub initramfs: PathBuf,
    /// The file for the kernel's output.
    pub console: PathBuf,
}

/// How far the clock of the far machine is ahead.
const AHEAD: SignedDuration = SignedDuration::from_hours(1);
/// CPUs of a machine.
const CPUS: u32 = 2;

/// Two machines.
pub struct Pair<'a> {
    images: &'a [Image; 2],
    network: &'a Network,
    end: Instant,
    near: Running,
    far: Running,
}

impl<'a> Pair<'a> {
    /// Starts both.
    ///
    /// # Errors
    /// When one cannot be started.
    pub fn start(
        images: &'a [Image; 2],
        network: &'a Network,
        limit: Duration,
    ) -> Result<Pair<'a>> {
        let begin = |role| start(images, network, role, limit);
        Ok(Pair {
            near: begin(Role::Near)?,
            far: begin(Role::Far)?,
            images,
            network,
            end: Instant::now() + limit,
        })
    }

    /// Prints what the near machine reports and does what it asks for, until both are off.
    ///
    /// # Errors
    /// When one is not off in time, or what it asks for cannot be done.
    pub fn until_off(&mut self, tally: &mut Tally) -> Result<()> {
        let Pair {
            images,
            network,
            end,
            near,
            far,
        } = self;
        near.until_off(|line| {
            match serde_json::from_str(line) {
                Ok(Line::Ask(Ask::CutLink)) => network.set(false)?,
                Ok(Line::Ask(Ask::JoinLink)) => network.set(true)?,
                Ok(Line::Ask(Ask::BootOther)) => {
                    far.until_off(|_| Ok(()))?;
                    let left = end.saturating_duration_since(Instant::now());
                    *far = start(images, network, Role::Far, left)?;
                }
                _ => tally.print(line),
            }
            Ok(())
        })?;
        if tally.is_whole() {
            far.until_off(|_| Ok(()))?;
        }
        Ok(())
    }
}

fn start(images: &[Image; 2], network: &Network, role: Role, limit: Duration) -> Result<Running> {
    let mut devices = network.devices(role);
    if role == Role::Far {
        let ahead = Timestamp::now() + AHEAD;
        let base = ahead.strftime("%Y-%m-%dT%H:%M:%S");
        devices.extend(["-rtc".to_owned(), format!("base={base}")]);
    }
    let image = &images[role as usize];
    boot::start(&Machine {
        kernel: &image.kernel,
        initramfs: &image.initramfs,
        console: &image.console,
        clock: Clock::Host,
        cpus: CPUS,
        devices,
        words: &format!("{ROLE}={}", role.name()),
        limit,
    })
}
