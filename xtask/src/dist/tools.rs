//! Other programs with which packages are made and tried, and how to install them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::release::carry_out;

/// A program and its source.
#[derive(Clone, Copy)]
pub struct Tool {
    program: &'static str,
    origin: Origin,
}

#[derive(Clone, Copy)]
enum Origin {
    /// A package of Debian.
    Debian(&'static str),
    /// A crate of crates.io.
    Crate(&'static str),
    /// A requirement of PyPI, installed for this work alone.
    Python(&'static str),
}

impl Tool {
    const fn new(program: &'static str, origin: Origin) -> Tool {
        Tool { program, origin }
    }
}

/// Runs a program in a separate root.
pub const BUBBLEWRAP: Tool = Tool::new("bwrap", Origin::Debian("bubblewrap"));
/// Makes Debian packages of crates.
pub const CARGO_DEB: Tool = Tool::new("cargo-deb", Origin::Crate("cargo-deb"));
/// Finds faults in Debian packages.
pub const LINTIAN: Tool = Tool::new("lintian", Origin::Debian("lintian"));
/// Makes wheels of crates.
pub const MATURIN: Tool = Tool::new("maturin", Origin::Python("maturin>=1.8,<2"));
/// Makes Debian roots.
pub const MMDEBSTRAP: Tool = Tool::new("mmdebstrap", Origin::Debian("mmdebstrap"));
/// Reads and copies container images.
pub const SKOPEO: Tool = Tool::new("skopeo", Origin::Debian("skopeo"));

/// Where Python's programs are installed, below the folder of the sources.
const PYTHON_FOLDER: &str = "target/dist-tools";

impl Tool {
    /// The commands that install it, in the folder of the sources.
    fn commands(&self) -> Vec<Vec<String>> {
        let pip = format!("{PYTHON_FOLDER}/bin/pip");
        let commands: Vec<Vec<&str>> = match self.origin {
            Origin::Debian(package) => vec![vec![
                "apt-get",
                "install",
                "-y",
                "--no-install-recommends",
                package,
            ]],
            Origin::Crate(name) => vec![vec!["cargo", "install", "--locked", name]],
            Origin::Python(name) => {
                vec![
                    vec!["python3", "-m", "venv", PYTHON_FOLDER],
                    vec![&pip, "install", "--quiet", name],
                ]
            }
        };
        commands
            .iter()
            .map(|words| words.iter().map(|&word| word.to_owned()).collect())
            .collect()
    }

    /// The commands as a user types them.
    fn remedy(&self) -> String {
        let quoted = |word: &String| {
            if word.contains(['>', '<']) {
                format!("'{word}'")
            } else {
                word.clone()
            }
        };
        let line = |words: &Vec<String>| words.iter().map(quoted).collect::<Vec<_>>().join(" ");
        let commands: Vec<String> = self.commands().iter().map(line).collect();
        let who = if matches!(self.origin, Origin::Debian(_)) {
            "as root: "
        } else {
            ""
        };
        format!("{}: {who}{}", self.program, commands.join(" && "))
    }

    /// Its file, if it is installed.
    fn find(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let cargo = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo/bin"));
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).chain(cargo).collect();
        folders.push(sources().join(PYTHON_FOLDER).join("bin"));
        folders
            .iter()
            .map(|folder| folder.join(self.program))
            .find(|file| file.is_file())
    }

    /// A command that runs it.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn command(&self) -> Result<Command> {
        Ok(Command::new(
            self.find()
                .with_context(|| format!("missing: {}", self.remedy()))?,
        ))
    }
}

/// Checks that each tool is installed; installs missing ones if that is allowed.
///
/// # Errors
/// The missing tools, and the commands that install them.
pub fn require<'a>(tools: impl Iterator<Item = &'a Tool>, may_install: bool) -> Result<()> {
    let mut missing: Vec<&Tool> = Vec::new();
    for tool in tools.filter(|tool| tool.find().is_none()) {
        if !missing.iter().any(|known| known.program == tool.program) {
            missing.push(tool);
        }
    }
    let remedies: Vec<String> = missing.iter().map(|tool| tool.remedy()).collect();
    let remedies = remedies.join("\n  ");
    if !missing.is_empty() && !may_install {
        bail!(
            "missing, with what installs it in {}; --install does it:\n  {remedies}",
            sources().display()
        );
    }
    for tool in missing {
        eprintln!("installing {}", tool.remedy());
        for words in tool.commands() {
            let mut command = Command::new(&words[0]);
            command
                .args(&words[1..])
                .current_dir(sources())
                .env("DEBIAN_FRONTEND", "noninteractive");
            carry_out(&mut command)
                .with_context(|| format!("to install by hand:\n  {}", tool.remedy()))?;
        }
    }
    Ok(())
}

fn sources() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        let absent = Tool {
            program: "no-such-program",
            origin: Origin::Debian("no-such-package"),
        };
        let error = require([&absent, &absent].into_iter(), false)
            .unwrap_err()
            .to_string();
        let line =
            "no-such-program: as root: apt-get install -y --no-install-recommends no-such-package";
        assert_eq!(error.matches(line).count(), 1, "{error}");
        assert!(
            MATURIN
                .remedy()
                .ends_with("pip install --quiet 'maturin>=1.8,<2'"),
            "{}",
            MATURIN.remedy()
        );
    }
}
