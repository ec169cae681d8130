//! Labs of an ordinary user under Debian's settings.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bitcost_testkit::process::within;

use super::netem::{least_rtt_ms, two_hosts};
use crate::vm::inside::guest::{StandingLab, bitcost};
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

/// All traces of labs that a process could have left: network namespaces, devices, processes of
/// bitcost.
fn traces() -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for device in fs::read_dir("/sys/class/net")? {
        found.insert(format!("device {}", device?.file_name().to_string_lossy()));
    }
    for entry in fs::read_dir("/proc")?.filter_map(Result::ok) {
        let at: PathBuf = entry.path();
        if let Ok(namespace) = fs::read_link(at.join("ns/net")) {
            found.insert(namespace.display().to_string());
        }
        if fs::read_to_string(at.join("comm")).is_ok_and(|name| name.trim() == "bitcost") {
            found.insert(format!("process {}", entry.file_name().to_string_lossy()));
        }
    }
    Ok(found)
}

/// When all traces must be gone.
const GONE: Duration = Duration::from_secs(2);

pub(super) fn gone(_: &mut Port) -> Result<String> {
    let before = traces()?;
    let lab = StandingLab::up(&two_hosts("delay = \"5ms\""), &[])?;
    let during = traces()?;
    let rtt = least_rtt_ms(&lab, 3)?;
    lab.down();
    ensure!(
        during.len() > before.len(),
        "no trace of a running lab: {during:?}"
    );
    let is_gone = || traces().is_ok_and(|now| now == before).then_some(());
    ensure!(
        within(GONE, is_gone).is_some(),
        "before: {before:?}; after: {:?}",
        traces()?
    );
    Ok(format!(
        "5 ms requested, {rtt:.3} ms measured; {} traces while it stood, none after it",
        during.len() - before.len()
    ))
}
