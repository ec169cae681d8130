//! Folders in which a package is tried, each the root of what runs there: an empty one, or a Debian
//! with its essential packages. Bubblewrap mounts the necessary folders while a program runs, and
//! nothing else mounts anything.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bitcost_model::Unavailable;
use serde_json::{Deserializer, Value};
use tempfile::TempDir;

use super::release::Release;
use crate::programs::{captured, command, median, run};

/// An ordinary user: `nobody`.
const USER: u32 = 65534;

/// Folders that are mounted, or that belong to no package.
const FOREIGN: [&str; 4] = ["dev", "proc", "sys", "tmp"];

/// The files in which a machine's apt finds its source of packages.
const SOURCES: [&str; 3] = [
    "/etc/apt/sources.list.d/debian.sources",
    "/etc/apt/sources.list.d/ubuntu.sources",
    "/etc/apt/sources.list",
];

/// A root, removed when dropped.
pub struct Root {
    folder: TempDir,
}

impl Root {
    /// A root that has only mount points.
    pub fn empty() -> Result<Root> {
        let root = Root::bare()?;
        for name in FOREIGN {
            fs::create_dir_all(root.path().join(name))?;
        }
        Ok(root)
    }

    /// A Debian of this machine's release and package source, with its essential packages and
    /// these.
    pub fn debian(packages: &[&str]) -> Result<Root> {
        if bitcost_sys::process::effective_uid() != 0 {
            let why = "a Debian root is made by root alone: run this as root, or choose other packages by --only";
            return Err(Unavailable(why.to_owned()).into());
        }
        let root = Root::bare()?;
        let release = fs::read_to_string("/etc/os-release").context("read /etc/os-release")?;
        let mut lines = release.lines();
        let suite = lines.find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let suite = suite.context("/etc/os-release names no release of Debian or Ubuntu")?;
        let suite = suite.trim_matches('"');
        let mut mmdebstrap = command("mmdebstrap");
        mmdebstrap.args(["--quiet", "--mode=root", "--variant=essential"]);
        if !packages.is_empty() {
            mmdebstrap.arg(format!("--include={}", packages.join(",")));
        }
        mmdebstrap.arg(suite).arg(root.path());
        let is_used = |path: &&&str| fs::metadata(path).is_ok_and(|file| file.len() > 0);
        mmdebstrap.args(SOURCES.iter().find(is_used));
        run(&mut mmdebstrap).map_err(|error| {
            Unavailable(format!(
                "no Debian root, whose packages apt's source must have: {error}"
            ))
        })?;
        fs::set_permissions(root.path(), Permissions::from_mode(0o755))?;
        Ok(root)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command in it as an ordinary user, without a network; returns its output.
    pub fn as_user(&self, words: &[&str]) -> Result<String> {
        let mut bwrap = self.inside()?;
        if bitcost_sys::process::effective_uid() == 0 {
            bwrap.uid(USER).gid(USER);
        }
        Ok(captured(bwrap.args(words))?.concat())
    }

    /// Runs a command in it as root; returns its output.
    pub fn as_root(&self, words: &[&str]) -> Result<String> {
        let mut bwrap = self.inside()?;
        Ok(captured(bwrap.args(["--cap-add", "ALL"]).args(words))?.concat())
    }

    /// Makes a run of one second with this program as an ordinary user, after the commands of a line of shell, if it has
    /// any, in the same `/tmp`.
    pub fn check_run(&self, line: &str, program: &str, release: &Release) -> Result<()> {
        let printed = |words: &[&str]| match line {
            "" => self.as_user(&[&[program], words].concat()),
            line => {
                let line = format!("{line}; exec {program} {}", words.join(" "));
                self.as_user(&["sh", "-ec", &line])
            }
        };
        let version = printed(&["--version"])?;
        let own = format!("bitcost {}", release.version);
        ensure!(
            version.contains(&own),
            "{program} --version says {version}, not {own}"
        );
        let run = printed(&["test", "tcp", "--time", "1s", "--no-log", "--json"])?;
        let begin = run.find('{').unwrap_or_default();
        let mut documents = Deserializer::from_str(&run[begin..]).into_iter::<Value>();
        let document = documents.next().transpose()?.unwrap_or_default();
        let mbps = median(&document, "throughput_mbps")?;
        ensure!(mbps > 0.0, "nothing arrived: {run}");
        println!("    {program} test tcp: {mbps:.0} Mbit/s");
        Ok(())
    }

    pub fn paths(&self) -> Result<BTreeSet<PathBuf>> {
        let mut paths = BTreeSet::new();
        collect(self.path(), self.path(), &mut paths)?;
        Ok(paths)
    }

    /// A folder that every user may enter.
    fn bare() -> Result<Root> {
        let folder = tempfile::Builder::new().prefix("bitcost-dist-").tempdir()?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        Ok(Root { folder })
    }

    fn inside(&self) -> Result<Command> {
        let mut bwrap = command("bwrap");
        bwrap.arg("--bind").arg(self.path()).arg("/");
        let words = "--proc /proc --dev /dev --bind /sys /sys --tmpfs /tmp --chdir /tmp --unshare-pid --unshare-net --unshare-ipc \
            --die-with-parent --clearenv --setenv PATH /usr/sbin:/usr/bin:/sbin:/bin --setenv HOME /tmp";
        bwrap.args(words.split_whitespace());
        Ok(bwrap)
    }
}

fn collect(root: &Path, folder: &Path, paths: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        let inside = path.strip_prefix(root)?.to_owned();
        if FOREIGN.iter().any(|name| inside == Path::new(name)) {
            continue;
        }
        if fs::symlink_metadata(&path)?.is_dir() {
            collect(root, &path, paths)?;
        }
        paths.insert(inside);
    }
    Ok(())
}
