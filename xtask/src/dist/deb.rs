//! The Debian package, from `[package.metadata.deb]` of `crates/bitcost`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::archive;
use super::release::{COMPLETIONS, Program, Release, copy_tree};
use super::root::Root;
use crate::programs::{command, output, run};

/// The changelog, in the folder of the sources.
const CHANGELOG: &str = "crates/bitcost/debian/changelog";

/// Debian's revision of a version.
const REVISION: &str = "1";

const OF_DPKG: [&str; 2] = ["var/log/dpkg.log", "var/lib/dpkg/status-old"];

/// The folder in a root where bitcost records its changes of the host.
const STATE: &str = "var/lib/bitcost";

pub fn make(program: &Program, out: &Path) -> Result<Vec<PathBuf>> {
    let release = &program.release;
    let version = format!("{}-{REVISION}", release.version);
    let changelog = fs::read_to_string(release.folder.join(CHANGELOG)).context(CHANGELOG)?;
    let is_current = changelog.starts_with(&format!("bitcost ({version}) "));
    ensure!(
        is_current,
        "the newest entry of {CHANGELOG} is not of {version}: add one"
    );
    let path = out.join(format!("bitcost_{version}_{}.deb", Release::architecture()));
    compress_manual(program)?;
    let mut cargo_deb = command("cargo-deb");
    cargo_deb.args("--quiet --no-build --strip --locked --package bitcost".split(' '));
    cargo_deb.args(release.options());
    cargo_deb
        .args(["--deb-revision", REVISION, "--output"])
        .arg(&path);
    cargo_deb.current_dir(&release.folder);
    output(cargo_deb.env("SOURCE_DATE_EPOCH", release.time_s.to_string()))?;
    archive::write_sum(&path)?;
    Ok(vec![path])
}

/// Writes the manual's pages where the package's metadata looks for them, compressed as in Debian.
fn compress_manual(program: &Program) -> Result<()> {
    let folder = program.path.with_file_name("deb").join("man1");
    let _ = fs::remove_dir_all(&folder);
    copy_tree(&program.share.join("man/man1"), &folder)?;
    fs::read_dir(&folder)?.try_for_each(|page| archive::gzip(&page?.path()))
}

/// Looks for faults in the package, and installs it, runs it and purges it in a Debian root.
pub fn check(program: &Program, files: &[PathBuf]) -> Result<()> {
    for file in files {
        let mut lintian = command("lintian");
        lintian.args(["--fail-on", "error,warning", "--allow-root"]);
        run(lintian.arg(file))?;
        let root = Root::debian(&[])?;
        let before = root.paths()?;
        install(&root, file)?;
        check_files(&root, program)?;
        root.check_run("", "/usr/bin/bitcost", &program.release)?;
        fs::create_dir_all(root.path().join(STATE))?;
        fs::write(root.path().join(STATE).join("left-as-found.log"), "")?;
        root.as_root(&["dpkg", "-P", "bitcost"])?;
        let after = root.paths()?;
        compare(&before, &after)?;
        let count = before.len();
        println!("    dpkg -P leaves no file: {count} paths before and after");
        check_journal(&root, file)?;
    }
    Ok(())
}

/// Every page of the manual and every shell's completions are where Debian's programs look for them, and bash reads its own.
fn check_files(root: &Root, program: &Program) -> Result<()> {
    let mut expected = Vec::new();
    for page in fs::read_dir(program.share.join("man/man1"))? {
        let name = page?.file_name();
        expected.push(format!("man/man1/{}.gz", name.to_string_lossy()));
    }
    let completions = COMPLETIONS.iter().map(|(_, place)| match *place {
        "zsh/site-functions/_bitcost" => "zsh/vendor-completions/_bitcost".to_owned(),
        place => place.to_owned(),
    });
    expected.extend(completions);
    let share = root.path().join("usr/share");
    let missing = expected.iter().find(|name| !share.join(name).is_file());
    ensure!(missing.is_none(), "the package has no {missing:?}");
    let bash = format!("/usr/share/{}", COMPLETIONS[0].1);
    root.as_user(&["bash", "-n", &bash])?;
    let count = expected.len();
    println!("    the manual and the completions are in place: {count} files");
    Ok(())
}

fn install(root: &Root, file: &Path) -> Result<()> {
    fs::copy(file, root.path().join("bitcost.deb"))?;
    let installed = root.as_root(&["dpkg", "-i", "/bitcost.deb"]);
    fs::remove_file(root.path().join("bitcost.deb"))?;
    installed.map(|_| ())
}

/// If a journal says that settings of the host are still changed, purging keeps it and reports
/// that.
fn check_journal(root: &Root, file: &Path) -> Result<()> {
    let journal = Path::new(STATE).join("network-1.journal");
    install(root, file)?;
    fs::create_dir_all(root.path().join(STATE))?;
    fs::write(root.path().join(&journal), "{}\n")?;
    let said = root.as_root(&["dpkg", "-P", "bitcost"])?;
    for words in [
        "'bitcost host restore' restores them",
        "/var/lib/bitcost is kept",
    ] {
        let is_said = said.contains(words);
        ensure!(
            is_said,
            "dpkg -P with a journal left does not say {words:?}:\n{said}"
        );
    }
    let is_kept = root.path().join(&journal).exists();
    ensure!(
        is_kept,
        "dpkg -P removed a journal that records changed settings"
    );
    println!("    dpkg -P keeps a journal of changed settings, and says so");
    Ok(())
}

fn compare(before: &BTreeSet<PathBuf>, after: &BTreeSet<PathBuf>) -> Result<()> {
    let differ = before
        .symmetric_difference(after)
        .filter(|path| !OF_DPKG.iter().any(|own| *path == Path::new(own)));
    let differ: Vec<String> = differ.map(|path| format!("/{}", path.display())).collect();
    let words = differ.join(", ");
    ensure!(
        differ.is_empty(),
        "dpkg -P does not leave the root as before: {words}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_named() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
        assert!(compare(&paths(&["etc"]), &paths(&["etc", "var/log/dpkg.log"])).is_ok());
        let error = compare(&paths(&["etc"]), &paths(&["etc", "etc/x"])).unwrap_err();
        let error = error.to_string();
        assert!(error.ends_with(": /etc/x"), "{error}");
    }
}
