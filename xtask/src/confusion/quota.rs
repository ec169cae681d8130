//! A quota of CPU time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use bitcost_testkit::process::within;

/// A control group with a quota, for root and version 1 or 2 of control groups.
pub struct Quota {
    pub group: PathBuf,
}

impl Quota {
    /// A quota of this many per cent of a CPU.
    pub fn new(percent: u32) -> Result<Quota> {
        let (period, quota) = (20_000, 200 * percent);
        let first = Path::new("/sys/fs/cgroup/cpu").exists();
        let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"][usize::from(first)];
        let group = Path::new(root).join(format!("bitcost-confusion-{}", std::process::id()));
        let made = std::fs::create_dir(&group);
        made.with_context(|| format!("a quota needs root: make {}", group.display()))?;
        let held = Quota { group };
        let write = |name: &str, text: String| {
            std::fs::write(held.group.join(name), text).context("set the quota")
        };
        if first {
            write("cpu.cfs_period_us", period.to_string())?;
            write("cpu.cfs_quota_us", quota.to_string())?;
        } else {
            write("cpu.max", format!("{quota} {period}"))?;
        }
        Ok(held)
    }
}

/// A command that starts `program` in the group; its arguments are added by the caller.
pub fn inside(group: &Path, program: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]);
    shell.arg(group).arg(program);
    shell
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its processes may need a moment to end.
        within(Duration::from_secs(1), || {
            std::fs::remove_dir(&self.group).ok()
        });
    }
}
