//! Labs of an ordinary user under Debian's settings.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::vm::inside::guest::bitcost;
use crate::vm::inside::port::Port;

/// Debian's own switch: whether ordinary users may make user namespaces.
const SWITCH: &str = "/proc/sys/kernel/unprivileged_userns_clone";

pub(super) fn refused(_: &mut Port) -> Result<String> {
    let usual = fs::read_to_string(SWITCH).context(SWITCH)?;
    ensure!(
        usual.trim() == "1",
        "{SWITCH} is {} by default",
        usual.trim()
    );
    fs::write(SWITCH, "0")?;
    let outcome = bitcost(&["test", "udp", "--topology", "pair", "-k", "10"]);
    fs::write(SWITCH, usual)?;
    let outcome = outcome?;
    ensure!(
        outcome.code == Some(3),
        "it ended with {:?}: {}",
        outcome.code,
        outcome.err
    );
    ensure!(
        outcome.err.contains("kernel.unprivileged_userns_clone=1"),
        "no remedy: {}",
        outcome.err
    );
    Ok(outcome.err.trim().to_owned())
}
