//! Links that the kernel cannot delay: where it has no netem, a line of our own stands between their two ends.

use model::topology::{End, Link, show_shaping};

use crate::LabError;

/// A link whose packets a line carries from one of its devices to the other.
#[derive(Debug)]
pub(crate) struct Carried<'a> {
    /// The link.
    pub(crate) link: &'a Link,
}

/// Whether a link needs a line: one of its ends does what only netem or a line can.
pub(crate) fn needs_line(link: &Link, has_netem: bool) -> bool {
    !has_netem && link.ends.iter().any(|end| end.egress.needs_emulator())
}

/// Starts the lines of these links.
pub(crate) fn start(links: &[Carried<'_>]) -> Result<(), LabError> {
    let asked = |end: &&End| end.egress.needs_emulator();
    match links.iter().flat_map(|carried| &carried.link.ends).find(asked) {
        Some(end) => Err(LabError::NoDelay { device: end.device.clone(), shaping: show_shaping(&end.egress) }),
        None => Ok(()),
    }
}
