//! `cargo xtask dist`: the packages of bitcost, and a trial of each in a place where nothing is
//! installed. `release` has what every package states and the program; `archive` makes archives without anything of the
//! machine that packs; `root` is where a package is tried.

mod archive;
mod deb;
mod image;
mod release;
mod root;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::programs::{require, run as carry_out, stop_flag};
use release::{Program, Release, copy_tree};
use root::Root;

/// Which packages, and where to.
#[derive(Args)]
pub struct Arguments {
    /// Only these, separated by commas; the source archive is always made
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// The folder for the packages (default: `packages` in cargo's target folder)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Then try each package where nothing is installed
    #[arg(long)]
    check: bool,
}

struct Kind {
    /// Its name for `--only`.
    name: &'static str,
    /// The programs that are needed to make it, and those to try it.
    programs: [&'static str; 2],
    /// Makes it in a folder; returns the files.
    make: fn(&Program, &Path) -> Result<Vec<PathBuf>>,
    /// Tries these files in a place where nothing is installed.
    check: fn(&Program, &[PathBuf]) -> Result<()>,
}

/// Where the programs are.
const PACKAGES: &str = "bubblewrap lintian mmdebstrap skopeo; cargo install --locked cargo-deb; pip install 'maturin>=1.8,<2'";

const KINDS: &[Kind] = &[
    Kind {
        name: "tar",
        programs: ["", "bwrap"],
        make: make_tarball,
        check: check_tarball,
    },
    Kind {
        name: "deb",
        programs: ["cargo-deb", "lintian mmdebstrap bwrap"],
        make: deb::make,
        check: deb::check,
    },
    Kind {
        name: "wheel",
        programs: ["maturin", "mmdebstrap bwrap"],
        make: wheel::make,
        check: wheel::check,
    },
    Kind {
        name: "image",
        programs: ["", "skopeo bwrap"],
        make: image::make,
        check: image::check,
    },
    Kind {
        name: "crates",
        programs: ["", ""],
        make: make_crates,
        // A crate that does not build from its package alone lacks a file there.
        check: |program, _| package(&program.release, &[]),
    },
];

/// The names that `--only` accepts.
fn names() -> PossibleValuesParser {
    KINDS.iter().map(|kind| kind.name).into()
}

/// Makes the packages and, on request, tries them; returns whether everything succeeded.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let only = &arguments.only;
    let is_wanted = |kind: &&Kind| only.is_empty() || only.iter().any(|name| name == kind.name);
    let kinds: Vec<&Kind> = KINDS.iter().filter(is_wanted).collect();
    for [make, check] in kinds.iter().map(|kind| kind.programs) {
        require(make, PACKAGES)?;
        require(if arguments.check { check } else { "" }, PACKAGES)?;
    }
    let stop = stop_flag()?;
    // Packages have the same modes whoever makes them.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let release = Release::here()?;
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| release.target_folder.join("packages"));
    fs::create_dir_all(&out).with_context(|| format!("create {}", out.display()))?;
    let out = out.canonicalize()?;
    made(&make_source(&release, &out)?)?;
    let program = Program::build(release)?;
    let mut all = Vec::new();
    for kind in &kinds {
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
        eprintln!("making {}", kind.name);
        let files = (kind.make)(&program, &out).with_context(|| format!("making {}", kind.name))?;
        files.iter().try_for_each(|file| made(file))?;
        all.push(files);
    }
    for (kind, files) in kinds.iter().zip(&all).filter(|_| arguments.check) {
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
        eprintln!("trying {}", kind.name);
        (kind.check)(&program, files).with_context(|| format!("trying {}", kind.name))?;
        println!("{}: works where nothing is installed", kind.name);
    }
    Ok(true)
}

fn made(file: &Path) -> Result<()> {
    let bytes = fs::metadata(file)?.len();
    println!("{bytes:>11} bytes  {}", file.display());
    Ok(())
}

fn make_source(release: &Release, out: &Path) -> Result<PathBuf> {
    if release.revision.ends_with("-modified") {
        eprintln!(
            "files differ from the commit: the packages have them as they are, the source archive as committed"
        );
    }
    let path = out.join(release.source_name());
    let mut git = Command::new("git");
    git.args(["-c", "tar.tar.gz.command=gzip -9n", "archive", "--output"]);
    git.arg(&path);
    git.arg(format!("--prefix=bitcost-{}/", release.version));
    carry_out(git.arg("HEAD").current_dir(&release.folder))?;
    archive::write_sum(&path)?;
    Ok(path)
}

/// The program as `tar.gz`: one folder, laid out as below `/usr/local`.
fn make_tarball(program: &Program, out: &Path) -> Result<Vec<PathBuf>> {
    let top = program.release.name();
    let place = tempfile::tempdir()?;
    let folder = place.path().join(&top);
    program.install(&folder.join("bin/bitcost"))?;
    copy_tree(&program.share, &folder.join("share"))?;
    let path = out.join(format!("{top}.tar.gz"));
    archive::pack(place.path(), program.release.time_s, &path)?;
    Ok(vec![path])
}

/// Unpacks it into an empty folder, and makes a run with that folder as the root.
fn check_tarball(program: &Program, files: &[PathBuf]) -> Result<()> {
    let root = Root::empty()?;
    for file in files {
        archive::unpack(file, root.path())?;
    }
    let inside = format!("/{}/bin/bitcost", program.release.name());
    root.check_run("", &inside, &program.release)
}

/// The crates as crates.io would receive them, in cargo's folder `package`.
fn make_crates(program: &Program, _out: &Path) -> Result<Vec<PathBuf>> {
    let release = &program.release;
    package(release, &["--no-verify"])?;
    let folder = release.target_folder.join("package");
    let file = |name| folder.join(format!("{name}-{}.crate", release.version));
    Ok(release.crates.iter().map(file).collect())
}

fn package(release: &Release, words: &[&str]) -> Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--quiet", "--locked", "--allow-dirty"]);
    cargo.args(words);
    cargo.args(release.crates.iter().flat_map(|name| ["--package", name]));
    carry_out(cargo.current_dir(&release.folder))
}
