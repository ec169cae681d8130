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
use bitcost_model::Unavailable;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::programs::{output, require, root, run as carry_out, stop_flag};
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
    /// Then try each package where nothing is installed; exit code 3 names what could not be tried here
    #[arg(long)]
    check: bool,
    /// Make all of it a second time, in a clone in another folder: every file must be the same
    #[arg(long)]
    twice: bool,
    /// Package the program that `cargo build --release` makes, which needs this machine's libraries; of the crates and the
    /// wheel, try only what is quick
    #[arg(long, conflicts_with = "twice")]
    rehearse: bool,
}

struct Kind {
    /// Its name for `--only`.
    name: &'static str,
    /// Whether it must run without the libraries of a machine.
    alone: bool,
    /// The programs that are needed to make it, and those to try it.
    programs: [&'static str; 2],
    /// Makes it in a folder; returns the files.
    make: fn(&Program, &Path) -> Result<Vec<PathBuf>>,
    /// Tries these files in a place where nothing is installed.
    check: fn(&Program, &[PathBuf]) -> Result<()>,
}

/// Where the programs are.
const PACKAGES: &str = "bubblewrap lintian mmdebstrap skopeo; cargo install --locked cargo-deb; pip install 'maturin>=1.8,<2' twine";

const KINDS: &[Kind] = &[
    Kind {
        name: "tar",
        alone: true,
        programs: ["", "bwrap"],
        make: make_tarball,
        check: check_tarball,
    },
    Kind {
        name: "deb",
        alone: false,
        programs: ["cargo-deb", "lintian mmdebstrap bwrap"],
        make: deb::make,
        check: deb::check,
    },
    Kind {
        name: "wheel",
        alone: false,
        programs: ["maturin", "twine mmdebstrap bwrap"],
        make: wheel::make,
        check: wheel::check,
    },
    Kind {
        name: "image",
        alone: true,
        programs: ["", "skopeo bwrap"],
        make: image::make,
        check: image::check,
    },
    Kind {
        name: "crates",
        alone: false,
        programs: ["", ""],
        make: make_crates,
        check: |program, _| publish_nothing(&program.release),
    },
];

/// The names that `--only` accepts.
fn names() -> PossibleValuesParser {
    KINDS.iter().map(|kind| kind.name).into()
}

/// Makes the packages and, on request, tries them; [`Unavailable`] with the kinds that this machine lacks something for, after
/// all others.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let stop = stop_flag()?;
    // Packages have the same modes whoever makes them.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let release = Release::of(&root(), arguments.rehearse)?;
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| release.target_folder.join("packages"));
    fs::create_dir_all(&out).with_context(|| format!("create {}", out.display()))?;
    let out = out.canonicalize()?;
    made(&make_source(&release, &out)?)?;
    let program = Program::build(release)?;
    let is_wanted = |kind: &&Kind| match arguments.only.as_slice() {
        [] => !(kind.alone && arguments.rehearse),
        only => only.iter().any(|name| name == kind.name),
    };
    let (mut all, mut lacking) = (Vec::new(), Vec::new());
    for kind in KINDS.iter().filter(is_wanted) {
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
        match make_and_try(kind, &program, &out, arguments.check) {
            Ok(files) => all.push((kind, files)),
            Err(error) if error.is::<Unavailable>() => lacking.push(format!("{error:#}")),
            Err(error) => return Err(error),
        }
    }
    if arguments.twice {
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
        make_again(&program.release, &all)?;
    }
    match lacking.is_empty() {
        true => Ok(true),
        false => Err(Unavailable(lacking.join("\n")).into()),
    }
}

fn make_and_try(kind: &Kind, program: &Program, out: &Path, check: bool) -> Result<Vec<PathBuf>> {
    let (name, [make, trial]) = (kind.name, kind.programs);
    eprintln!("making {name}");
    let make = require(make, PACKAGES).and_then(|()| (kind.make)(program, out));
    let files = make.with_context(|| format!("making {name}"))?;
    files.iter().try_for_each(|file| made(file))?;
    if check {
        eprintln!("trying {name}");
        let trial = require(trial, PACKAGES).and_then(|()| (kind.check)(program, &files));
        trial.with_context(|| format!("trying {name}"))?;
        println!("{name}: tried");
    }
    Ok(files)
}

/// Makes these files once more, of a clone of the commit in another folder, and compares them byte for byte.
fn make_again(first: &Release, all: &[(&Kind, Vec<PathBuf>)]) -> Result<()> {
    ensure!(
        !first.revision.ends_with("-modified"),
        "two builds are compared of a commit: commit what differs from it, or put it aside"
    );
    let place = tempfile::tempdir()?;
    let [clone, out] = ["clone", "packages"].map(|name| place.path().join(name));
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"]).arg(&first.folder);
    output(git.arg(&clone))?;
    fs::create_dir(&out)?;
    let release = Release::of(&clone, false)?;
    ensure!(
        release.target_folder != first.target_folder,
        "the second build finds what the first one built: unset CARGO_TARGET_DIR"
    );
    let program = Program::build(release)?;
    for (kind, files) in all {
        let again = (kind.make)(&program, &out)?;
        for (one, other) in files.iter().zip(&again) {
            let same = one.file_name() == other.file_name() && fs::read(one)? == fs::read(other)?;
            ensure!(
                same,
                "two builds of {} differ: diffoscope says in what",
                one.display()
            );
        }
        ensure!(
            files.len() == again.len(),
            "two builds of {} made {files:?} and {again:?}",
            kind.name
        );
        println!("{}: byte for byte the same again", kind.name);
    }
    Ok(())
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
    of_crates(release, &["package", "--no-verify"])?;
    let folder = release.target_folder.join("package");
    let file = |name| folder.join(format!("{name}-{}.crate", release.version));
    Ok(release.crates.iter().map(file).collect())
}

/// All of publishing but the upload, in the order in which the crates need each other: crates.io would take their
/// manifests, and each builds from its package alone, which so lacks no file; a rehearsal leaves the building out.
fn publish_nothing(release: &Release) -> Result<()> {
    // Cargo keeps what it unpacks by the place of the registry that it makes in its target folder: in the folder of an earlier
    // trial, crates would be built with the packages of that one.
    let place = tempfile::tempdir_in(&release.target_folder)?;
    let mut words = vec!["publish", "--dry-run", "--target-dir"];
    words.push(place.path().to_str().context("a folder in UTF-8")?);
    words.extend(release.rehearsed.then_some("--no-verify"));
    of_crates(release, &words)
}

fn of_crates(release: &Release, words: &[&str]) -> Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(words);
    cargo.args(["--quiet", "--locked", "--allow-dirty"]);
    cargo.args(release.crates.iter().flat_map(|name| ["--package", name]));
    carry_out(cargo.current_dir(&release.folder))
}
