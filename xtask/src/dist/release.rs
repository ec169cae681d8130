//! The facts that every package states: version, licence and source, of the commit that is checked
//! out; and the static program with the files that it writes, its manual and its completions.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::programs::{output, run};

/// The most bytes of the program in a package.
const MOST_BYTES: u64 = 10_000_000;

/// Where each shell's completions are, below `share`.
pub const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "bash-completion/completions/bitcost"),
    ("zsh", "zsh/site-functions/_bitcost"),
    ("fish", "fish/vendor_completions.d/bitcost.fish"),
];

/// A version of bitcost that is packaged.
pub struct Release {
    pub folder: PathBuf,
    pub target_folder: PathBuf,
    pub version: String,
    /// A description of bitcost in one sentence.
    pub description: String,
    /// The licence, as an SPDX expression.
    pub license: String,
    /// The place where the sources are developed, if the manifest names it.
    pub repository: Option<String>,
    /// The commit; with `-modified` if files differ from it.
    pub revision: String,
    /// The time of the commit, in seconds since 1970: that of every file in the packages.
    pub time_s: u64,
    /// The target that the program is built for: this machine's architecture, with glibc.
    pub target: String,
    /// Whether the program is the one that `cargo build --release` makes, which needs this machine's libraries: for a
    /// rehearsal without building all of it again.
    pub rehearsed: bool,
    /// The crates that would be published.
    pub crates: Vec<String>,
}

impl Release {
    /// The release of a checkout.
    pub fn of(folder: &Path, rehearsed: bool) -> Result<Release> {
        let folder = folder.canonicalize()?;
        let said = |program: &str, words: &[&str]| {
            output(Command::new(program).args(words).current_dir(&folder))
        };
        let words = ["metadata", "--format-version", "1", "--no-deps"];
        let metadata: Value = serde_json::from_str(&said(env!("CARGO"), &words)?)?;
        let packages = metadata["packages"].as_array();
        let packages = packages.context("cargo metadata lists packages")?;
        let package = packages
            .iter()
            .find(|package| package["name"] == "bitcost")
            .context("there is no bitcost")?;
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        let required = |key: &str| text(key).with_context(|| format!("bitcost has a {key}"));
        let head = said("git", &["rev-parse", "HEAD"]);
        let head = head.context("packages are made of a checkout of git")?;
        let modified = match said("git", &["status", "--porcelain"])?.as_str() {
            "" => "",
            _ => "-modified",
        };
        let published = packages.iter().filter(|one| one["publish"].is_null());
        let crates = published.filter_map(|one| one["name"].as_str());
        let target_folder = metadata["target_directory"].as_str();
        let time_s = said("git", &["log", "-1", "--format=%ct"])?;
        Ok(Release {
            target_folder: target_folder.context("a target folder")?.into(),
            version: required("version")?,
            description: required("description")?,
            license: required("license")?,
            repository: text("repository"),
            revision: format!("{}{modified}", head.trim()),
            time_s: time_s.trim().parse()?,
            target: format!("{ARCH}-unknown-linux-gnu"),
            rehearsed,
            crates: crates.map(str::to_owned).collect(),
            folder,
        })
    }

    /// The name of the program's archive, and of its only folder.
    pub fn name(&self) -> String {
        format!("bitcost-{}-{}", self.version, self.target)
    }

    pub fn source_name(&self) -> String {
        format!("bitcost-{}-source.tar.gz", self.version)
    }

    /// The architecture, as Debian and container images call it.
    pub fn architecture() -> &'static str {
        match ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    /// The text of the file SOURCE in the packages.
    fn source_text(&self) -> String {
        let repository = self.repository.iter();
        let repository = repository.map(|repository| format!("Repository: {repository}\n"));
        format!(
            "bitcost {}\nLicence: {}\nCommit: {}\nSource: {}, published together with this package\n{}",
            self.version,
            self.license,
            self.revision,
            self.source_name(),
            repository.collect::<String>()
        )
    }

    /// The options that say how cargo builds the program.
    pub fn options(&self) -> Vec<&str> {
        match self.rehearsed {
            true => vec!["--profile", "release"],
            false => vec!["--profile", "dist", "--target", &self.target],
        }
    }

    /// Where cargo puts the program.
    fn built(&self) -> PathBuf {
        let folder = self.target_folder.join(match self.rehearsed {
            true => "release".to_owned(),
            false => format!("{}/dist", self.target),
        });
        folder.join("bitcost")
    }

    /// Variables that link the C library statically and leave out the names of this machine's folders; none in a rehearsal.
    /// Every build with the same flags shares what is built.
    pub fn flags(&self) -> Option<(&'static str, String)> {
        if self.rehearsed {
            return None;
        }
        let folder = |name| std::env::var_os(name).map(PathBuf::from);
        let cargo = || folder("HOME").unwrap_or_default().join(".cargo");
        let cargo = folder("CARGO_HOME").unwrap_or_else(cargo);
        let (cargo, here) = (cargo.display(), self.folder.display());
        let mut flags = format!(
            "-Ctarget-feature=+crt-static\u{1f}-Cforce-unwind-tables=no\u{1f}--remap-path-prefix={cargo}=/cargo\u{1f}--remap-path-prefix={here}=/bitcost"
        );
        // Of the linker that comes with Rust for this architecture: functions of the same code once, and no tables to unwind.
        if ARCH == "x86_64" {
            flags += &format!(
                "\u{1f}-Clink-arg=-Wl,--icf=all,-z,pack-relative-relocs,--no-eh-frame-hdr,-T,{here}/xtask/src/dist/without-unwinding.ld"
            );
        }
        Some(("CARGO_ENCODED_RUSTFLAGS", flags))
    }
}

pub struct Program {
    pub release: Release,
    pub path: PathBuf,
    /// The folder next to it with `man`, completions and `doc`, laid out as below `/usr/share`.
    pub share: PathBuf,
}

impl Program {
    /// Builds the program, and makes it write its manual and completions.
    pub fn build(release: Release) -> Result<Program> {
        let options = release.options();
        eprintln!("building bitcost {} {}", release.version, options.join(" "));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--package", "bitcost"]);
        cargo.args(&options).envs(release.flags());
        run(cargo.current_dir(&release.folder))?;
        let path = release.built();
        let program = Program {
            share: path.with_file_name("share"),
            path,
            release,
        };
        let bytes = fs::metadata(&program.path)?.len();
        println!("{bytes:>11} bytes  {}", program.path.display());
        ensure!(
            program.release.rehearsed || bytes <= MOST_BYTES,
            "the program has {bytes} bytes, more than {MOST_BYTES}: what made it larger?"
        );
        program.describe()?;
        Ok(program)
    }

    /// Copies the program to a place, and makes its folder.
    pub fn install(&self, to: &Path) -> Result<()> {
        let mut install = Command::new("install");
        output(install.arg("-Dm755").args([&self.path, to])).map(drop)
    }

    fn describe(&self) -> Result<()> {
        let (share, release) = (&self.share, &self.release);
        if share.exists() {
            fs::remove_dir_all(share).with_context(|| format!("remove {}", share.display()))?;
        }
        let man = share.join("man/man1");
        output(Command::new(&self.path).args(["man", "--out"]).arg(man))?;
        for (shell, place) in COMPLETIONS {
            let completions = output(Command::new(&self.path).args(["completions", shell]))?;
            write(&share.join(place), completions.as_bytes())?;
        }
        let doc = share.join("doc/bitcost");
        write(&doc.join("SOURCE"), release.source_text().as_bytes())?;
        for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
            write(&doc.join(file), &fs::read(release.folder.join(file))?)?;
        }
        Ok(())
    }
}

/// Copies the files below a folder.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let mut copy = Command::new("cp");
    output(copy.arg("-rT").args([from, to])).map(drop)
}

/// Writes a file, and makes its folder.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file in a folder")?)?;
    fs::write(path, bytes).with_context(|| format!("write {}", path.display()))
}
