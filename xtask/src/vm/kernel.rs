//! Debian's kernels, taken out of their packages into a folder without installing them, by lists that are kept apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::programs::output;

/// Debian's archive, and the keys that sign it.
const ARCHIVE: &str = "http://deb.debian.org/debian";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Unpacks the package of `$1` into the folder `$0`, with the modules of wired networks alone, uncompressed, since not every
/// `modprobe` can undo it, and the indexes by which it finds them.
const UNPACK: &str = r#"
dpkg -x "$1"/*.deb "$0"; cd "$0"
[ -d lib/modules ] || { mkdir -p lib; mv usr/lib/modules lib/; }
find lib -name '*.ko*' ! -path '*/net/*' ! -path '*/virtio/*' ! -path '*/lib/*' ! -path '*/crypto/*' -delete
rm -rf lib/modules/*/kernel/drivers/net/wireless
find lib -name '*.ko.xz' -exec xz -d {} +; find lib -name '*.ko.zst' -exec zstd -dq --rm {} +
depmod -b . "$(ls lib/modules)"; mv boot/vmlinuz-* boot/vmlinuz"#;

/// The folder of the newest kernel of a release such as `trixie`, on which `package` always depends, unpacked below `cache`: it has
/// `boot/vmlinuz` and `lib/modules`.
pub fn newest(cache: &Path, release: &str, package: &str) -> Result<PathBuf> {
    // apt takes relative paths as those of its folder of settings.
    let place = std::path::absolute(cache)?.join("apt").join(release);
    for folder in ["lists/partial", "cache/archives/partial", "download"] {
        fs::create_dir_all(place.join(folder))?;
    }
    let settings = place.join("apt.conf");
    let own = place.display();
    fs::write(
        &settings,
        format!(
            "Dir::Etc::SourceList \"{own}/sources.list\"; Dir::Etc::SourceParts \"/dev/null\";\n\
             Dir::State::Lists \"{own}/lists\"; Dir::Cache \"{own}/cache\";\n#clear APT::Update::Post-Invoke-Success;\n"
        ),
    )?;
    let source = format!("deb [signed-by={KEYS}] {ARCHIVE} {release} main\n");
    fs::write(place.join("sources.list"), source)?;
    let download = place.join("download");
    let apt = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", &settings).current_dir(&download);
        output(command.args(words))
    };
    // Where the archive cannot be reached, older lists will do.
    let updated = apt("apt-get", &["--quiet", "update"]);
    let printed = apt("apt-cache", &["depends", package]);
    let printed = printed.map_err(|error| updated.err().unwrap_or(error))?;
    let mut needed = printed.lines().map(str::trim);
    let package = needed
        .find_map(|line| {
            line.strip_prefix("Depends: ")
                .filter(|name| name.starts_with("linux-image-"))
        })
        .with_context(|| format!("no package source has {package}"))?;
    let kernel = cache.join("kernels").join(package);
    if !kernel.is_dir() {
        fs::remove_dir_all(&download)?;
        fs::create_dir(&download)?;
        apt("apt-get", &["--quiet", "download", package])?;
        // All of it or nothing, so that an interrupted unpacking is not taken for a kernel later.
        let half = cache.join("half");
        let _ = fs::remove_dir_all(&half);
        let mut shell = Command::new("sh");
        output(shell.args(["-ec", UNPACK]).args([&half, &download]))?;
        fs::create_dir_all(cache.join("kernels"))?;
        fs::rename(&half, &kernel).with_context(|| format!("rename {}", half.display()))?;
    }
    Ok(kernel)
}
