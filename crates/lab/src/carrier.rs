//! Waits until a device has a carrier: the kernel may notice late that its peer is up.
//!
//! Before Linux 6.9 a change of a veth's carrier is processed up to a second later
//! (`linkwatch_nextevent` in net/core/link_watch.c), and until then a bridge forwards nothing
//! through that port.

use std::thread;
use std::time::{Duration, Instant};

use bitcost_model::topology::End;
use bitcost_sys::netlink::Rtnl;

use crate::LabError;

/// The longest wait; the kernel needs a second at most.
const LONGEST: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// Returns when the device of `end`, in whose network namespace the caller is, has a carrier.
pub(crate) fn wait(end: &End) -> Result<(), LabError> {
    let mut rtnl = Rtnl::open()?;
    let last = Instant::now() + LONGEST;
    while !rtnl.link(&end.device)?.is_running() {
        if Instant::now() > last {
            let device = &end.device;
            return Err(LabError::happened(format!(
                "{device} is up and has no carrier after {LONGEST:?}"
            )));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
