//! Installs Debian's packages of the peers that are missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Program and package.
const PACKAGES: &[(&str, &str)] = &[
    ("netperf", "netperf"),
    ("iperf3", "iperf3"),
    ("nuttcp", "nuttcp"),
    ("iperf", "iperf"),
    ("taskset", "util-linux"),
];

/// The file that enables netperf's component.
const COMPONENT_FILE: &str = "/etc/apt/sources.list.d/bitcost-non-free.list";

/// Installs missing packages if that is allowed: by root, and only with `may_enable` if netperf's
/// component non-free is not enabled. Nothing is done silently.
///
/// # Errors
/// The missing packages and how to get them.
pub fn install(may_enable: bool) -> Result<()> {
    let missing: Vec<&str> = PACKAGES
        .iter()
        .filter(|(program, _)| !is_there(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    let mut remedy = format!("as root: apt-get install {names}");
    let source = component()?;
    let unavailable = missing.contains(&"netperf") && !is_offered("netperf");
    if unavailable {
        remedy = format!(
            "netperf is in Debian's component non-free, which is not enabled (or apt-get update was not run). As root: \
             echo '{source}' > {COMPONENT_FILE} && apt-get update && apt-get install {names}; \
             or run this as root with --install, which does the same"
        );
    }
    if bitcost_sys::process::effective_uid() != 0 || (unavailable && !may_enable) {
        bail!("missing: {names}; {remedy}");
    }
    if unavailable {
        eprintln!("enabling non-free in {COMPONENT_FILE}: {source}");
        std::fs::write(COMPONENT_FILE, format!("{source}\n"))
            .with_context(|| format!("write {COMPONENT_FILE}"))?;
        apt_get(&["update"], &remedy)?;
    }
    eprintln!("installing {names}");
    apt_get(
        &[&["install", "-y", "--no-install-recommends"], &missing[..]].concat(),
        &remedy,
    )
}

fn apt_get(words: &[&str], remedy: &str) -> Result<()> {
    let status = Command::new("apt-get")
        .args(words)
        .status()
        .with_context(|| remedy.to_owned())?;
    if status.success() {
        Ok(())
    } else {
        bail!("apt-get {} failed; {remedy}", words.join(" "))
    }
}

/// Fails where one of these programs is not here; `packages` are those of Debian that have them.
pub fn require(programs: &[&str], packages: &str) -> Result<()> {
    match programs.iter().find(|program| !is_there(program)) {
        Some(missing) => bail!("{missing} is missing: apt-get install {packages}"),
        None => Ok(()),
    }
}

fn is_there(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

/// Whether apt knows a version of the package.
fn is_offered(package: &str) -> bool {
    let output = Command::new("apt-cache")
        .args(["show", "--no-all-versions", package])
        .output();
    output.is_ok_and(|output| output.status.success() && !output.stdout.is_empty())
}

/// The line of apt's sources that offers netperf to this release of Debian.
fn component() -> Result<String> {
    let release = Path::new("/etc/os-release");
    let text =
        std::fs::read_to_string(release).with_context(|| format!("read {}", release.display()))?;
    source_line(&text)
        .context("this is no release of Debian; install netperf, iperf3, nuttcp and iperf by hand")
}

fn source_line(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        os_release
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .map(|word| word.trim_matches('"'))
    };
    let codename = value("VERSION_CODENAME=").filter(|_| value("ID=") == Some("debian"))?;
    Some(format!(
        "deb http://deb.debian.org/debian {codename} non-free"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_that_of_this_release() {
        let bookworm = "NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=bookworm\nID=debian\n";
        assert_eq!(
            source_line(bookworm).as_deref(),
            Some("deb http://deb.debian.org/debian bookworm non-free")
        );
        assert_eq!(source_line("ID=fedora\nVERSION_CODENAME=\"\"\n"), None);
    }
}
