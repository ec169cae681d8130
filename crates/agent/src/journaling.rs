//! The restoration of a host when this agent dies: by a watchdog, from a journal. A lab needs
//! neither: it ends with its processes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bitcost_host::recovery::check_restored;
use bitcost_host::{Journal, NoJournal, Watchdog};
use bitcost_model::Unavailable;
use bitcost_model::protocol::Lease;
use bitcost_sys::process::OWN_PROGRAM;

use crate::cached_metrics::CachedMetrics;
use crate::refusal::Refusal;

/// The time that a watchdog waits for a renewal before it assumes that this process hangs: slightly
/// longer than this process itself waits, which then restores the host normally.
const WATCHDOG_LEASE: Duration = Lease::LENGTH.saturating_add(Duration::from_millis(200));

/// The journaling of the changes of a host. Clones share one watchdog. The default is that of a host of a
/// lab, which ends with its processes.
#[derive(Clone, Debug, Default)]
pub struct Journaling {
    /// The folder of journals; absent in a lab.
    folder: Option<PathBuf>,
    watchdog: Arc<Mutex<Option<Watchdog>>>,
    metrics: CachedMetrics,
}

impl Journaling {
    /// The journaling of another host, whose changes are recorded in this folder.
    pub fn in_folder(folder: PathBuf) -> Journaling {
        Journaling {
            folder: Some(folder),
            ..Journaling::default()
        }
    }

    pub fn is_lab(&self) -> bool {
        self.folder.is_none()
    }

    pub fn metrics(&self) -> &CachedMetrics {
        &self.metrics
    }

    /// The journal of one run's changes. A watchdog, which locks the host, is started for the first
    /// run that `changes` anything.
    pub fn journal(&self, changes: bool) -> Result<Box<dyn Journal>, Refusal> {
        let Some(folder) = &self.folder else {
            return Ok(Box::new(NoJournal));
        };
        let mut watchdog = self.watchdog.lock().unwrap_or_else(PoisonError::into_inner);
        if watchdog.is_none() {
            check_restored(folder)?;
            if !changes {
                return Ok(Box::new(NoJournal));
            }
            let started = Watchdog::start(Path::new(OWN_PROGRAM), folder, WATCHDOG_LEASE);
            *watchdog = Some(started?);
        }
        match watchdog.as_ref() {
            Some(watchdog) if watchdog.pending() == 0 => Ok(watchdog.journal()),
            _ => {
                let why = "an earlier run could not restore this host; see bitcost host show";
                Err(Unavailable(why.to_owned()).into())
            }
        }
    }

    pub fn renew(&self) {
        if let Some(watchdog) = self.watchdog() {
            watchdog.renew();
        }
    }

    /// Whether the watchdog has ended unexpectedly: the host must be restored at once.
    pub fn is_lost(&self) -> bool {
        self.watchdog().is_some_and(|watchdog| watchdog.is_lost())
    }

    /// The watchdog, unless it is being started.
    fn watchdog(&self) -> Option<Watchdog> {
        self.watchdog.try_lock().ok()?.clone()
    }

    /// Releases the watchdog. Changes that its journal still holds are restored here.
    pub fn let_go(&self) {
        drop(
            self.watchdog
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }
}
