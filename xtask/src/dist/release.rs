//! The facts that every package states: version, licence and source, of the commit that is checked
//! out.

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A version of bitcost that is packaged.
pub struct Release {
    /// The folder of the sources.
    pub folder: PathBuf,
    /// Cargo's target folder.
    pub target_folder: PathBuf,
    /// The version.
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
    /// The crates that would be published.
    pub crates: Vec<String>,
}

impl Release {
    /// The release of the checkout that this program was built from.
    ///
    /// # Errors
    /// When it is no checkout of git, or cargo cannot read it.
    pub fn here() -> Result<Release> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .canonicalize()?;
        let words = ["metadata", "--format-version", "1", "--no-deps"];
        let metadata: Value = serde_json::from_str(&said(&folder, env!("CARGO"), &words)?)?;
        let packages = metadata["packages"]
            .as_array()
            .context("cargo metadata lists packages")?;
        let package = packages
            .iter()
            .find(|package| package["name"] == "bitcost")
            .context("there is no bitcost")?;
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        let head = said(&folder, "git", &["rev-parse", "HEAD"])
            .context("packages are made of a checkout of git")?;
        let modified = if said(&folder, "git", &["status", "--porcelain"])?.is_empty() {
            ""
        } else {
            "-modified"
        };
        let is_published = |package: &&Value| package["publish"].is_null();
        let names = packages
            .iter()
            .filter(is_published)
            .filter_map(|package| package["name"].as_str());
        Ok(Release {
            target_folder: metadata["target_directory"]
                .as_str()
                .context("cargo names its target folder")?
                .into(),
            version: text("version").context("bitcost has a version")?,
            description: text("description").context("bitcost has a description")?,
            license: text("license").context("bitcost has a licence")?,
            repository: text("repository"),
            revision: format!("{}{modified}", head.trim()),
            time_s: said(&folder, "git", &["log", "-1", "--format=%ct"])?
                .trim()
                .parse()?,
            target: format!("{ARCH}-unknown-linux-gnu"),
            crates: names.map(str::to_owned).collect(),
            folder,
        })
    }

    /// The name of the source archive.
    pub fn source_name(&self) -> String {
        format!("bitcost-{}-source.tar.gz", self.version)
    }

    /// The place of the source: the repository, or the archive that is published with the packages.
    pub fn source(&self) -> String {
        self.repository
            .clone()
            .unwrap_or_else(|| self.source_name())
    }

    /// The architecture, as Debian and container images call it.
    pub fn architecture() -> &'static str {
        match ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    /// The time of the commit, as RFC 3339 writes it.
    ///
    /// # Errors
    /// When it is outside of this calendar.
    pub fn time_text(&self) -> Result<String> {
        Ok(jiff::Timestamp::from_second(i64::try_from(self.time_s)?)?.to_string())
    }

    /// The text of the file SOURCE in the packages.
    pub fn source_text(&self) -> String {
        let repository = self
            .repository
            .iter()
            .map(|repository| format!("Repository: {repository}\n"));
        format!(
            "bitcost {}\nLicence: {}\nCommit: {}\nSource: {}, published together with this package\n{}",
            self.version,
            self.license,
            self.revision,
            self.source_name(),
            repository.collect::<String>()
        )
    }
}

/// The output of a program; an error if it is missing or fails.
pub fn said(folder: &Path, program: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(words)
        .current_dir(folder)
        .output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!(
            "{program} {}: {}: {}",
            words.join(" "),
            output.status,
            error.trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs a program whose output is shown to the user; an error if it is missing or fails.
pub fn carry_out(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot start {name}"))?;
    if status.success() {
        Ok(())
    } else {
        bail!("{name} failed: {status}")
    }
}

/// Runs a program whose output matters only if it fails; an error if it is missing or fails.
pub fn carry_out_quietly(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(())
    } else {
        bail!("{name} failed: {}\n{said}", output.status)
    }
}
