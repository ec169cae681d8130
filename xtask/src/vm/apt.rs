//! Debian's packages without installing them: those of this machine's sources, or of another
//! release by lists that are kept apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Where packages come from: options of apt.
#[derive(Default)]
pub struct Packages {
    options: Vec<String>,
}

/// Debian's archive, and the keys that sign it.
const ARCHIVE: &str = "http://deb.debian.org/debian";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

impl Packages {
    /// The sources of this machine.
    pub fn here() -> Packages {
        Packages::default()
    }

    /// A release of Debian such as `trixie`, with these components; its lists are below `cache`.
    ///
    /// # Errors
    /// When the archive cannot be reached and there are no older lists.
    pub fn of(cache: &Path, release: &str, components: &str) -> Result<Packages> {
        // apt takes relative paths as those of its folder of settings.
        let place = std::path::absolute(cache)?.join("apt").join(release);
        for folder in ["sources", "lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(place.join(folder))?;
        }
        let source = format!(
            "Types: deb\nURIs: {ARCHIVE}\nSuites: {release}\nComponents: {components}\nSigned-By: {KEYS}\n"
        );
        fs::write(place.join("sources/debian.sources"), source)?;
        let option = |name: &str, value: PathBuf| format!("{name}={}", value.display());
        let options = [
            option("Dir::Etc::SourceList", "/dev/null".into()),
            option("Dir::Etc::SourceParts", place.join("sources")),
            option("Dir::State::Lists", place.join("lists")),
            option("Dir::Cache", place.join("cache")),
            "APT::Update::Post-Invoke-Success::=".to_owned(),
        ];
        let packages = Packages {
            options: options.to_vec(),
        };
        let updated = output(packages.command("apt-get").args(["--quiet", "update"]));
        let has_lists = fs::read_dir(place.join("lists"))?
            .filter_map(Result::ok)
            .any(|entry| entry.file_name().to_string_lossy().contains("_Packages"));
        match updated {
            Err(error) if !has_lists => Err(error.context(format!("the packages of {release}"))),
            _ => Ok(packages),
        }
    }

    /// The first package whose name starts with `start` among those that `package` depends on.
    pub fn needed_by(&self, package: &str, start: &str) -> Result<String> {
        let said = output(self.command("apt-cache").args(["depends", package]))?;
        let depends = said
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "));
        depends
            .into_iter()
            .find(|name| name.starts_with(start))
            .map(str::to_owned)
            .with_context(|| format!("no package source has {package}"))
    }

    /// The files of a package below `cache`, which are fetched if they are not there.
    ///
    /// # Errors
    /// When it cannot be fetched.
    pub fn unpacked(&self, cache: &Path, package: &str) -> Result<PathBuf> {
        let place = cache.join(package);
        if !place.is_dir() {
            unpack(&self.download(cache, package)?, &place)?;
        }
        Ok(place)
    }

    fn download(&self, cache: &Path, package: &str) -> Result<PathBuf> {
        let into = cache.join("download");
        let _ = fs::remove_dir_all(&into);
        fs::create_dir_all(&into)?;
        output(
            self.command("apt-get")
                .args(["--quiet", "download", package])
                .current_dir(&into),
        )?;
        let found = fs::read_dir(&into)?
            .next()
            .context("apt-get download left no file")?;
        Ok(found?.path())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for option in &self.options {
            command.args(["-o", option]);
        }
        command
    }
}

/// Unpacks all of it or nothing, so that an interrupted unpacking is not taken for a package later.
///
/// # Errors
/// When it is no package.
pub fn unpack(deb: &Path, place: &Path) -> Result<()> {
    let half = place.with_extension("half");
    let _ = fs::remove_dir_all(&half);
    output(Command::new("dpkg").arg("-x").args([deb, &half]))?;
    fs::rename(&half, place).with_context(|| format!("rename {}", half.display()))
}

/// The output of a program; an error if it is missing or fails.
pub fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| program.clone())?;
    if !output.status.success() {
        bail!(
            "{program}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
