//! Who puts the host back when this agent cannot: a keeper, or nobody in a lab, which goes away with its processes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::recovery::obstacle;
use host::{Journal, Keeper, NoJournal};
use wire::Lease;

use crate::cached_metrics::CachedMetrics;

/// How long a keeper hears nothing of the controller before it takes this process for stuck: a little longer than this
/// process itself, which then puts the host back in good order.
const KEEPERS_LEASE: Duration = Lease::LENGTH.saturating_add(Duration::from_millis(200));

/// How the host is kept. Clones share one keeper.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// The folder of journals; absent in a lab.
    folder: Option<PathBuf>,
    keeper: Arc<Mutex<Option<Keeper>>>,
    metrics: CachedMetrics,
}

impl Keeping {
    /// For a host that is gone with its processes.
    pub fn lab() -> Keeping {
        Keeping { folder: None, keeper: Arc::default(), metrics: CachedMetrics::default() }
    }

    /// For a host that stays: what is changed is written down in this folder.
    pub fn journal_in(folder: PathBuf) -> Keeping {
        Keeping { folder: Some(folder), keeper: Arc::default(), metrics: CachedMetrics::default() }
    }

    /// Whether this is a host of a lab.
    pub fn is_lab(&self) -> bool {
        self.folder.is_none()
    }

    /// What the kernel remembers of connections.
    pub fn metrics(&self) -> &CachedMetrics {
        &self.metrics
    }

    /// Where the changes of one run are written down. A keeper, who holds the host, is started for the first run that
    /// `changes` anything.
    ///
    /// # Errors
    /// When the host is held by another bitcost, or an earlier run left it changed.
    pub fn journal(&self, changes: bool) -> Result<Box<dyn Journal>, String> {
        let Some(folder) = &self.folder else { return Ok(Box::new(NoJournal)) };
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.is_none() {
            obstacle(folder).map_or(Ok(()), Err)?;
            if !changes {
                return Ok(Box::new(NoJournal));
            }
            let started = Keeper::start(Path::new("/proc/self/exe"), folder, KEEPERS_LEASE);
            *keeper = Some(started.map_err(|error| error.to_string())?);
        }
        match keeper.as_ref() {
            Some(keeper) if keeper.pending() == 0 => Ok(keeper.journal()),
            _ => Err("an earlier run could not put this host back; see bitcost host show".to_owned()),
        }
    }

    /// Passes on to the keeper that the controller was heard.
    pub fn renew(&self) {
        if let Some(keeper) = self.keeper() {
            keeper.renew();
        }
    }

    /// Whether the keeper has ended though nobody told it to: the host must be put back at once.
    pub fn is_lost(&self) -> bool {
        self.keeper().is_some_and(|keeper| keeper.is_lost())
    }

    /// The keeper, unless it is being started.
    fn keeper(&self) -> Option<Keeper> {
        self.keeper.try_lock().ok()?.clone()
    }

    /// Lets the keeper go. What it wrote down and cannot take back any more is taken back here.
    pub fn let_go(&self) {
        drop(self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
