//! `cargo xtask dist`: the packages of bitcost, and a trial of each in a place where nothing is
//! installed.
//!
//! | file | it is |
//! |---|---|
//! | mod | the table of packages, and the command |
//! | release | the facts that every package states: version, licence, source |
//! | program | the static program, its manual and its completions |
//! | archive | tar, gzip and SHA-256 without anything of the machine that packs |
//! | tools | other programs that are needed, and how to install them |
//! | root | empty folders and Debian roots to try a package in |
//! | source | the source archive |
//! | tarball | the program as `tar.gz` |
//! | deb | the Debian package |
//! | wheel | the Python wheel and its source distribution |
//! | oci | the container image |
//! | crates | the crates as crates.io would get them |

mod archive;
mod crates;
mod deb;
mod oci;
mod program;
mod release;
mod root;
mod source;
mod tarball;
mod tools;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;

use program::Program;
use release::Release;
use tools::Tool;

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
    /// Install what is missing of the other programs that are needed; without asking where CI is
    /// set
    #[arg(long)]
    install: bool,
}

/// A kind of package.
struct Kind {
    /// Its name for `--only`.
    name: &'static str,
    /// The tools that are needed to make it.
    tools: &'static [Tool],
    /// The further tools that are needed to try it.
    check_tools: &'static [Tool],
    /// Makes it in a folder; returns the files.
    make: fn(&Program, &Path) -> Result<Vec<PathBuf>>,
    /// Tries these files in a place where nothing is installed.
    check: fn(&Program, &[PathBuf]) -> Result<()>,
}

/// Every kind of package.
const KINDS: &[Kind] = &[
    Kind {
        name: "tar",
        tools: &[],
        check_tools: &[tools::BUBBLEWRAP],
        make: tarball::make,
        check: tarball::check,
    },
    Kind {
        name: "deb",
        tools: &[tools::CARGO_DEB],
        check_tools: &[tools::LINTIAN, tools::MMDEBSTRAP, tools::BUBBLEWRAP],
        make: deb::make,
        check: deb::check,
    },
    Kind {
        name: "wheel",
        tools: &[tools::MATURIN],
        check_tools: &[tools::MMDEBSTRAP, tools::BUBBLEWRAP],
        make: wheel::make,
        check: wheel::check,
    },
    Kind {
        name: "oci",
        tools: &[],
        check_tools: &[tools::SKOPEO, tools::BUBBLEWRAP],
        make: oci::make,
        check: oci::check,
    },
    Kind {
        name: "crates",
        tools: &[],
        check_tools: &[],
        make: crates::make,
        check: crates::check,
    },
];

/// Makes the packages and, on request, tries them; returns whether everything succeeded.
///
/// # Errors
/// The tool that is missing or the step that failed.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let kinds = chosen(&arguments.only);
    let needed = kinds
        .iter()
        .flat_map(|kind| kind.tools.iter().chain(checked(kind, arguments.check)));
    tools::require(
        needed,
        arguments.install || std::env::var_os("CI").is_some(),
    )?;
    let stop = stopped()?;
    let release = Release::here()?;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| release.target_folder.join("packages"));
    fs::create_dir_all(&out).with_context(|| format!("create {}", out.display()))?;
    let out = out.canonicalize()?;
    source::make(&release, &out)?;
    let program = program::build(release)?;
    let mut made = Vec::new();
    for kind in &kinds {
        go_on(&stop)?;
        eprintln!("making {}", kind.name);
        let files = (kind.make)(&program, &out).with_context(|| format!("making {}", kind.name))?;
        for file in &files {
            println!(
                "{:>11} bytes  {}",
                fs::metadata(file)?.len(),
                file.display()
            );
        }
        made.push(files);
    }
    for (kind, files) in kinds.iter().zip(&made).filter(|_| arguments.check) {
        go_on(&stop)?;
        eprintln!("trying {}", kind.name);
        (kind.check)(&program, files).with_context(|| format!("trying {}", kind.name))?;
        println!("{}: works where nothing is installed", kind.name);
    }
    Ok(true)
}

fn checked(kind: &'static Kind, check: bool) -> &'static [Tool] {
    if check { kind.check_tools } else { &[] }
}

/// The names that `--only` accepts.
fn names() -> PossibleValuesParser {
    KINDS.iter().map(|kind| kind.name).into()
}

/// The kinds with these names, or all if none is named.
fn chosen(names: &[String]) -> Vec<&'static Kind> {
    KINDS
        .iter()
        .filter(|kind| names.is_empty() || names.iter().any(|name| name == kind.name))
        .collect()
}

/// Becomes true on Ctrl-C or a request to end. The running programs end by the same signal, and
/// this one ends after it has removed its folders.
fn stopped() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

fn go_on(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) {
        bail!("stopped")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_chosen_by_name_in_the_order_of_the_table() {
        let names = |only: &[&str]| -> Vec<&str> {
            let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
            chosen(&only).iter().map(|kind| kind.name).collect()
        };
        assert_eq!(names(&[]), ["tar", "deb", "wheel", "oci", "crates"]);
        assert_eq!(names(&["oci", "tar"]), ["tar", "oci"]);
    }
}
