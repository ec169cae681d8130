//! The static program, and the files that it writes: its manual and its completions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::release::{Release, carry_out, said};

/// The profile of `Cargo.toml` that packages are built with.
pub const PROFILE: &str = "dist";

/// Where each shell's completions are, below `share`.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "bash-completion/completions/bitcost"),
    ("zsh", "zsh/site-functions/_bitcost"),
    ("fish", "fish/vendor_completions.d/bitcost.fish"),
];

/// The static program with its files.
pub struct Program {
    /// Its release.
    pub release: Release,
    /// The program.
    pub path: PathBuf,
    /// The folder next to it with `man`, completions and `doc`, laid out as below `/usr/share`.
    pub share: PathBuf,
}

/// Builds the program, and makes it write its manual and completions.
///
/// # Errors
/// When it cannot be built here.
pub fn build(release: Release) -> Result<Program> {
    eprintln!(
        "building bitcost {} for {}, static",
        release.version, release.target
    );
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--locked",
        "--package",
        "bitcost",
        "--profile",
        PROFILE,
        "--target",
        &release.target,
    ]);
    carry_out(cargo.current_dir(&release.folder).envs(flags(&release)))?;
    let folder = release.target_folder.join(&release.target).join(PROFILE);
    let program = Program {
        path: folder.join("bitcost"),
        share: folder.join("share"),
        release,
    };
    describe(&program)?;
    Ok(program)
}

/// Links the C library statically and leaves out the names of this machine's folders. Every build
/// with the same flags shares what is built.
pub fn flags(release: &Release) -> [(&'static str, String); 1] {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let cargo_home =
        std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let shorter =
        |folder: &Path, name: &str| format!("--remap-path-prefix={}={name}", folder.display());
    let words = [
        "-Ctarget-feature=+crt-static".to_owned(),
        shorter(&cargo_home, "/cargo"),
        shorter(&release.folder, "/bitcost"),
    ];
    [("CARGO_ENCODED_RUSTFLAGS", words.join("\u{1f}"))]
}

fn describe(program: &Program) -> Result<()> {
    let (share, release) = (&program.share, &program.release);
    if share.exists() {
        fs::remove_dir_all(share).with_context(|| format!("remove {}", share.display()))?;
    }
    let man = share.join("man/man1");
    let name = program.path.to_string_lossy();
    said(
        &release.folder,
        &name,
        &["man", "--out", &man.to_string_lossy()],
    )?;
    for (shell, place) in COMPLETIONS {
        write(
            &share.join(place),
            said(&release.folder, &name, &["completions", shell])?.as_bytes(),
        )?;
    }
    let doc = share.join("doc/bitcost");
    write(&doc.join("SOURCE"), release.source_text().as_bytes())?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        write(&doc.join(file), &fs::read(release.folder.join(file))?)?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file in a folder")?)?;
    fs::write(path, bytes).with_context(|| format!("write {}", path.display()))
}
