//! Links that a link emulator forwards: two veth pairs end in a separate namespace, and a thread of
//! the daemon connects them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::emulator::{Device, Emulator, Handle, rate_by_delay_bytes};
use bitcost_model::counters::LinkEmulator;
use bitcost_model::shaping::Shaping;
use bitcost_model::topology::{End, Link};
use bitcost_sys::namespace::{Kind, current, enter, unshare};
use bitcost_sys::netlink::{Rtnl, VethPair};

use crate::LabError;
use crate::memory_file::MemoryFile;

/// Packets that may be queued for the receiving endpoint of a link.
const QUEUE_PACKETS: u32 = 10_000;

/// Seed of all random numbers: the n-th packet of a direction has the same fate in every run.
const SEED: u64 = 1;

/// The link emulators of a lab. Their threads end with the daemon.
#[derive(Debug)]
pub(crate) struct EmulatedLinks {
    namespace: OwnedFd,
    running: Vec<Running>,
    sheet: Arc<Mutex<Sheet>>,
}

#[derive(Debug)]
struct Running {
    ends: [End; 2],
    handle: Handle,
    /// The product of rate and delay that the rings of each direction were made for, in bytes.
    room_bytes: [u64; 2],
}

/// The longest time that an emulator may take to apply other settings: it polls every millisecond.
const APPLY_LIMIT: Duration = Duration::from_secs(2);

/// The file into which every emulator writes its counters. Each direction is kept as it is written, so that an
/// emulator's thread formats its own alone.
#[derive(Debug)]
struct Sheet {
    file: MemoryFile,
    directions: BTreeMap<String, String>,
}

impl Sheet {
    /// Writes both directions of an emulator, together with the latest counters of the others.
    fn write(&mut self, devices: &[String; 2], readings: [LinkEmulator; 2]) {
        for (device, mut reading) in devices.iter().zip(readings) {
            reading.device.clone_from(device);
            self.directions.insert(device.clone(), reading.part());
        }
        let directions: Vec<&str> = self.directions.values().map(String::as_str).collect();
        // Memory suffices for so little; a reader ignores a file with an old end.
        let _ = self.file.write(&LinkEmulator::line_of(&directions));
    }
}

impl EmulatedLinks {
    /// A namespace for emulators, still without any. The caller's network namespace changes.
    pub(crate) fn new() -> Result<EmulatedLinks, LabError> {
        let failed = |error: io::Error| {
            LabError::build("make the network namespace of the link emulators", &error)
        };
        let namespace = unshare(&[Kind::Net])
            .and_then(|()| current(Kind::Net))
            .map_err(failed)?;
        // Its devices must send nothing themselves. Without IPv6 in the kernel there is nothing to
        // turn off.
        let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        let sheet = Arc::new(Mutex::new(Sheet {
            file: MemoryFile::new("bitcost-emulators").map_err(failed)?,
            directions: BTreeMap::new(),
        }));
        Ok(EmulatedLinks {
            namespace,
            running: Vec::new(),
            sheet,
        })
    }

    pub(crate) fn file(&self) -> i32 {
        self.sheet
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .file
            .fd()
    }

    /// Makes the devices of a link: each endpoint has its peer, of the same name, in the emulators'
    /// namespace.
    pub(crate) fn make_link<'a>(
        &self,
        link: &Link,
        node: impl Fn(&str) -> Result<BorrowedFd<'a>, LabError>,
    ) -> Result<(), LabError> {
        self.enter()?;
        let mut rtnl = Rtnl::open()?;
        for end in &link.ends {
            let peer = node(&end.node)?;
            let (name, mtu_bytes) = (end.device.as_str(), link.mtu_bytes);
            let pair = VethPair {
                name,
                peer_name: name,
                peer_netns: Some(peer),
                mtu_bytes,
            };
            rtnl.create_veth(&pair).map_err(LabError::of_veth)?;
            let index = rtnl.link(name)?.index;
            rtnl.set_up(index, true)?;
            // Without a queue, packets are lost when the peer's ring is full. A kernel without
            // qdiscs leaves no choice.
            let _ = rtnl.set_root_pfifo(index, QUEUE_PACKETS);
        }
        Ok(())
    }

    /// Starts the emulator of a link whose devices were made, one of so many `links`. Returns a
    /// sentence where its rings have less room than they need.
    pub(crate) fn start(&mut self, link: &Link, links: usize) -> Result<Option<String>, LabError> {
        self.enter()?;
        let mut rtnl = Rtnl::open()?;
        let mut device = |end: &End| {
            let (index, mtu_bytes) = (rtnl.link(&end.device)?.index, link.mtu_bytes);
            Ok::<_, LabError>(Device { index, mtu_bytes })
        };
        let devices = [device(&link.ends[0])?, device(&link.ends[1])?];
        let shapings = link.ends.each_ref().map(|end| emulated(&end.egress));
        let room_bytes = shapings.each_ref().map(rate_by_delay_bytes);
        let names = link.ends.each_ref().map(|end| end.device.clone());
        let failed = |error: io::Error| {
            LabError::build(
                &format!("start the link emulator of {} and {}", names[0], names[1]),
                &error,
            )
        };
        let emulator = Emulator::open(devices, shapings, SEED, links).map_err(failed)?;
        let note = emulator.has_short_rings().then(|| {
            format!(
                "this machine has too little memory for the rings of the link emulator of {} and {}: it may drop packets of bursts shorter than rate × delay",
                names[0], names[1]
            )
        });
        let handle = emulator.handle();
        let (sheet, devices) = (self.sheet.clone(), names.clone());
        let work = move || {
            let ended = emulator.run(|readings| {
                let mut sheet = sheet.lock().unwrap_or_else(PoisonError::into_inner);
                sheet.write(&devices, readings)
            });
            if let Err(error) = ended {
                let what = format!(
                    "the link emulator of {} and {} has ended: {error}\n",
                    devices[0], devices[1]
                );
                // Standard error may be closed.
                let _ = io::stderr().write_all(what.as_bytes());
            }
        };
        thread::Builder::new()
            .name("link-emulator".to_owned())
            .spawn(work)
            .map_err(failed)?;
        self.running.push(Running {
            ends: link.ends.clone(),
            handle,
            room_bytes,
        });
        Ok(note)
    }

    pub(crate) fn has(&self, device: &str) -> bool {
        self.running
            .iter()
            .flat_map(|running| &running.ends)
            .any(|end| end.device == device)
    }

    /// Makes the emulator of this device shape what leaves there, restarts its random numbers, and
    /// reads back that it does. A shaping that the kernel makes is none for the emulator. Returns a
    /// sentence where the emulator's rings have less room than the shaping needs.
    pub(crate) fn set(
        &mut self,
        device: &str,
        shaping: &Shaping,
    ) -> Result<Option<String>, LabError> {
        let found = self.running.iter_mut().find_map(|running| {
            let side = running.ends.iter().position(|end| end.device == device)?;
            Some((running, side))
        });
        let (running, side) = found.ok_or_else(|| LabError::no_emulator(device))?;
        running.ends[side].egress = shaping.clone();
        let wanted = running.ends.each_ref().map(|end| emulated(&end.egress));
        let in_effect = running
            .handle
            .set_and_read(wanted.clone(), SEED, APPLY_LIMIT);
        if in_effect.as_ref() != Some(&wanted) {
            return Err(LabError::happened(format!(
                "the link emulator of {device} did not take its settings: it forwards by {in_effect:?} and not by {wanted:?}"
            )));
        }
        let is_short = rate_by_delay_bytes(&wanted[side]) > running.room_bytes[side];
        Ok(is_short.then(|| {
            format!(
                "the link emulator of {device} was made for a smaller product of rate and delay: it may drop packets of bursts shorter than that; write these values into the lab file, and build the lab again, for more room"
            )
        }))
    }

    fn enter(&self) -> Result<(), LabError> {
        enter(self.namespace.as_fd(), Kind::Net).map_err(|error| {
            LabError::build("enter the network namespace of the link emulators", &error)
        })
    }
}

/// Whether a link gets an emulator: it needs one, or one of its devices is `asked` for.
pub(crate) fn carries(link: &Link, asked: &[String]) -> bool {
    link.ends
        .iter()
        .any(|end| end.egress.needs_emulator() || asked.contains(&end.device))
}

/// What the emulator does. The kernel handles a direction that only has a rate or a queue.
fn emulated(shaping: &Shaping) -> Shaping {
    match shaping.needs_emulator() {
        true => shaping.clone(),
        false => Shaping::default(),
    }
}
