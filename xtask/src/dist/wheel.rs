//! The Python wheel, which brings the program to `pip` and `uvx`, and its source distribution; from
//! `pyproject.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::archive;
use super::release::Program;
use super::root::Root;
use crate::programs::{command, output, run};

pub fn make(program: &Program, out: &Path) -> Result<Vec<PathBuf>> {
    let release = &program.release;
    let place = release.target_folder.join("wheels-made");
    let _ = fs::remove_dir_all(&place);
    let build = [vec!["build", "--locked"], release.options()].concat();
    for words in [build, vec!["sdist"]] {
        let mut maturin = command("maturin");
        maturin.args(words).arg("--out").arg(&place);
        maturin.current_dir(&release.folder).envs(release.flags());
        output(maturin.env("SOURCE_DATE_EPOCH", release.time_s.to_string()))?;
    }
    let mut made = Vec::new();
    for entry in fs::read_dir(&place)? {
        let from = entry?.path();
        let to = out.join(from.file_name().context("a file has a name")?);
        fs::copy(&from, &to)?;
        archive::write_sum(&to)?;
        made.push(to);
    }
    ensure!(
        made.len() == 2,
        "maturin made {made:?}, not a wheel and a source distribution"
    );
    Ok(made)
}

/// Has twine read what an index shows of each file; but in a rehearsal, installs the wheel without a package index into a fresh
/// virtual environment, in a Debian root that has Python.
pub fn check(program: &Program, files: &[PathBuf]) -> Result<()> {
    run(command("twine").args(["check", "--strict"]).args(files))?;
    if program.release.rehearsed {
        return Ok(());
    }
    let is_wheel = |file: &&PathBuf| file.extension().is_some_and(|end| end == "whl");
    let wheel = files.iter().find(is_wheel).context("there is a wheel")?;
    let name = wheel.file_name().context("a file has a name")?;
    let name = name.to_string_lossy();
    let root = Root::debian(&["python3-venv"])?;
    fs::copy(wheel, root.path().join(&*name))?;
    let line =
        format!("python3 -m venv /tmp/venv; /tmp/venv/bin/pip install --quiet --no-index /{name}");
    root.check_run(&line, "/tmp/venv/bin/bitcost", &program.release)
}
