//! Waits until every device passes packets: its kernel may learn only later that the other end is up.
//!
//! Before Linux 6.9 a change of a veth's carrier is worked off up to a second after it came (`linkwatch_nextevent` in
//! net/core/link_watch.c), and until then a bridge passes nothing through that port.

use std::thread;
use std::time::{Duration, Instant};

use model::topology::End;
use netlink::Rtnl;

use crate::LabError;

/// How long it is waited, for which the kernel takes a second at most.
const LONGEST: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// Returns when the device of `end`, in whose network namespace the caller is, passes packets.
pub(crate) fn wait(end: &End) -> Result<(), LabError> {
    let mut rtnl = Rtnl::open()?;
    let last = Instant::now() + LONGEST;
    while !rtnl.link(&end.device)?.is_running() {
        if Instant::now() > last {
            let device = &end.device;
            return Err(LabError::Build { happened: format!("{device} is up and has no carrier after {LONGEST:?}") });
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
