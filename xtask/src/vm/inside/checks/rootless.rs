//! Labs of an ordinary user under Debian's settings.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bitcost_testkit::process::within;

use crate::vm::inside::guest::{StandingLab, bitcost, two_hosts};

/// Debian's own switch: whether ordinary users may make user namespaces.
const SWITCH: &str = "/proc/sys/kernel/unprivileged_userns_clone";

pub(super) fn refused() -> Result<String> {
    let usual = fs::read_to_string(SWITCH).context(SWITCH)?;
    ensure!(usual.trim() == "1", "{SWITCH} is {usual} by default");
    fs::write(SWITCH, "0")?;
    let outcome = bitcost(&["test", "udp", "--topology", "pair", "-k", "10"]);
    fs::write(SWITCH, usual)?;
    outcome?.refused(Some(3), "kernel.unprivileged_userns_clone=1")
}

/// All traces of labs that a process could have left: network namespaces, devices, processes of
/// bitcost.
fn traces() -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for device in fs::read_dir("/sys/class/net")? {
        found.insert(format!("device {}", device?.file_name().to_string_lossy()));
    }
    for entry in fs::read_dir("/proc")?.filter_map(Result::ok) {
        if let Ok(namespace) = fs::read_link(entry.path().join("ns/net")) {
            found.insert(namespace.display().to_string());
        }
        let name = fs::read_to_string(entry.path().join("comm"));
        if name.is_ok_and(|name| name.trim() == "bitcost") {
            found.insert(format!("process {}", entry.file_name().to_string_lossy()));
        }
    }
    Ok(found)
}

/// When all traces must be gone.
const GONE: Duration = Duration::from_secs(2);

pub(super) fn gone() -> Result<String> {
    let before = traces()?;
    let lab = StandingLab::up(&two_hosts("delay = \"5ms\""), &[])?;
    let during = traces()?;
    let rtt = lab.round_trip_ms(3, 5.0)?;
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
