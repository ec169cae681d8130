//! Other programs with which packages are made and tried, and how to install them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::programs::{find, root, run};

/// A program, and the line of shell that installs it, in the folder of the sources.
#[derive(Clone, Copy)]
pub struct Tool {
    program: &'static str,
    install: &'static str,
}

macro_rules! debian {
    ($program:literal, $package:literal) => {
        Tool {
            program: $program,
            install: concat!(
                "apt-get install -y --no-install-recommends ",
                $package,
                " # as root"
            ),
        }
    };
}

/// Runs a program in a separate root.
pub const BUBBLEWRAP: Tool = debian!("bwrap", "bubblewrap");
/// Makes Debian packages of crates.
pub const CARGO_DEB: Tool = Tool {
    program: "cargo-deb",
    install: "cargo install --locked cargo-deb",
};
/// Finds faults in Debian packages.
pub const LINTIAN: Tool = debian!("lintian", "lintian");
/// Makes wheels of crates; it is installed for this work alone.
pub const MATURIN: Tool = Tool {
    program: "maturin",
    install: "python3 -m venv target/dist-tools && target/dist-tools/bin/pip install --quiet 'maturin>=1.8,<2'",
};
/// Makes Debian roots.
pub const MMDEBSTRAP: Tool = debian!("mmdebstrap", "mmdebstrap");
/// Reads and copies container images.
pub const SKOPEO: Tool = debian!("skopeo", "skopeo");

impl Tool {
    fn find(&self) -> Option<PathBuf> {
        let own = root().join("target/dist-tools/bin").join(self.program);
        find(self.program).or_else(|| Some(own).filter(|file| file.is_file()))
    }

    /// A command that runs it.
    pub fn command(&self) -> Result<Command> {
        let file = self.find();
        let file = file.with_context(|| format!("missing: {}: {}", self.program, self.install))?;
        Ok(Command::new(file))
    }
}

/// Checks that each tool is installed; installs missing ones if that is allowed.
pub fn require<'a>(tools: impl Iterator<Item = &'a Tool>, may_install: bool) -> Result<()> {
    let mut missing: Vec<&str> = tools
        .filter(|tool| tool.find().is_none())
        .map(|tool| tool.install)
        .collect();
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() && !may_install {
        bail!(
            "tools are missing; --install installs them, as do these in {}:\n  {}",
            root().display(),
            missing.join("\n  ")
        );
    }
    for line in missing {
        eprintln!("installing: {line}");
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", line])
            .current_dir(root())
            .env("DEBIAN_FRONTEND", "noninteractive");
        run(&mut shell).with_context(|| format!("to install by hand:\n  {line}"))?;
    }
    Ok(())
}
