//! The loss ledger of one run: what was sent is what was delivered, what each counter of a place on
//! the way says was dropped there, and a rest that no counter explains.
//!
//! The counters enclose the whole traffic of the run (`WholeRun`), so nothing is in flight at their
//! edges.

mod drops;
mod emulators;
mod hosts;
mod path;
mod readings;
mod ring;
mod sums;
mod traffic;

pub use drops::Drops;
pub use sums::{LossLedger, Spurious};

use crate::metrics::RunView;
use readings::Both;

/// The loss ledger of a run.
pub fn loss_ledger(run: &RunView) -> Result<LossLedger, &'static str> {
    if run.is_with_iperf3() {
        return Err("an iperf3 server reports only the totals of its end");
    }
    let both = Both::of(run);
    let both = both.ok_or("the counters around the whole traffic are not in this log")?;
    let mut found = traffic::totals(run, &both, emulators::copies(&both))?;
    let mut drops = path::drops(&both, found.ledger.sent, found.share);
    drops.extend(emulators::drops(&both, found.share));
    drops.extend(hosts::drops(&both));
    ring::once(&both, &mut drops);
    drops.append(&mut found.ledger.drops);
    Ok(LossLedger {
        drops,
        ..found.ledger
    })
}
