//! Instructions per KiB of a study: a machine with one CPU, whose clock counts instructions, runs it
//! in the embedded lab. A nanosecond of CPU time is an instruction there, so bitcost's service
//! demand of the host in us/KiB is thousands of instructions per KiB.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::vm::apt::output;
use crate::vm::boot::{self, Clock, Machine};
use crate::vm::files;
use crate::vm::inside::{ROLE, Role, Wanted};
use crate::vm::kernel::Kernel;
use crate::vm::report::Tally;

/// The study and its length: nothing is random in the machine, so that little suffices.
const STUDY: &str = "not-all-mbits --blocks 2 --duration 100ms --seed 1 --no-calibration";
/// The kernels of near and far, 6.1 and 6.12.
const NAMES: [&str; 2] = ["near", "far"];
/// How often each kernel runs it.
const TIMES: usize = 3;
/// The largest difference of any times on one kernel.
const EQUAL: f64 = 0.001;
/// Service demand of the whole host, which both endpoints share.
const FIGURE: &str = "sender_host_service_demand_us_per_kib";

/// Prints the instructions per KiB of each cell on each kernel, and what `compare` says of both
/// kernels. Returns whether each kernel needed the same every time.
///
/// # Errors
/// When a machine does not finish, or left no figures.
pub fn count(cache: &Path, kernels: &[Kernel; 2], bitcost: &Path, limit: Duration) -> Result<bool> {
    let place = |name: &str, time: usize| cache.join(format!("instructions-{name}-{time}"));
    for (name, kernel) in NAMES.iter().zip(kernels) {
        let began = Instant::now();
        thread::scope(|scope| {
            let start = |time| {
                let place = place(name, time);
                scope.spawn(move || run(kernel, bitcost, &place, limit))
            };
            let running: Vec<_> = (0..TIMES).map(start).collect();
            let ended = running.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|one| one.unwrap_or_else(|_| bail!("a thread died")))
                .collect::<Result<Vec<()>>>()
        })?;
        println!("{name}: {:.0} s", began.elapsed().as_secs_f64());
    }
    let mut equal = true;
    for name in NAMES {
        let seen: Result<Vec<_>> = (0..TIMES)
            .map(|time| cells(bitcost, &place(name, time)))
            .collect();
        equal &= is_equal(name, &seen?);
    }
    let compared = Command::new(bitcost)
        .arg("compare")
        .args(NAMES.map(|name| place(name, 0)))
        .args(["--metric", FIGURE])
        .output()?;
    println!("{}", String::from_utf8_lossy(&compared.stdout));
    eprint!("{}", String::from_utf8_lossy(&compared.stderr));
    Ok(equal)
}

/// Boots the machine for the study and unpacks into `place` what it wrote.
fn run(kernel: &Kernel, bitcost: &Path, place: &Path, limit: Duration) -> Result<()> {
    let wanted = Wanted {
        command: STUDY.split(' ').map(str::to_owned).collect(),
        ..Wanted::default()
    };
    let [initramfs, console, sent] =
        ["initramfs", "console.log", "tar.gz"].map(|ending| place.with_extension(ending));
    files::base(kernel, bitcost, &wanted)?.write(&initramfs)?;
    let mut tally = Tally::default();
    let machine = Machine {
        kernel: &kernel.image,
        initramfs: &initramfs,
        console: &console,
        clock: Clock::Instructions,
        cpus: 1,
        devices: vec!["-serial".to_owned(), format!("file:{}", sent.display())],
        words: &format!("{ROLE}={} nokaslr", Role::Cost.name()),
        limit,
    };
    boot::start(&machine)?.until_off(|line| {
        tally.print(line);
        Ok(())
    })?;
    ensure!(
        tally.is_whole(),
        "the study was not made; the console:\n{}",
        boot::tail(&console)
    );
    let _ = fs::remove_dir_all(place);
    tar::Archive::new(GzDecoder::new(File::open(&sent)?))
        .unpack(place)
        .with_context(|| sent.display().to_string())
}

/// The instructions per KiB of each cell, by bitcost's figures.
fn cells(bitcost: &Path, folder: &Path) -> Result<Vec<(String, f64)>> {
    let text = output(Command::new(bitcost).arg("show").arg(folder).arg("--json"))?;
    let shown: Value = serde_json::from_str(&text)?;
    let figure = |cell: &Value| {
        let levels = &cell["levels"];
        let transport = levels["transport"].as_str().unwrap_or_default();
        let name = format!("{transport}, {} bytes", levels["message_size_bytes"]);
        let us = cell[FIGURE]["median"].as_f64();
        let us = us.with_context(|| format!("{FIGURE} of {name} is absent"))?;
        Ok((name, us * 1000.0))
    };
    let cells = shown["cells"].as_array().context("no cells")?;
    cells.iter().map(figure).collect()
}

/// Prints the instructions per KiB on one kernel, of both endpoints and what is between them;
/// returns whether they were the same every time.
fn is_equal(kernel: &str, seen: &[Vec<(String, f64)>]) -> bool {
    let mut largest: f64 = 0.0;
    for (at, (name, first)) in seen[0].iter().enumerate() {
        let all: Vec<f64> = seen.iter().map(|cells| cells[at].1).collect();
        for other in &all {
            largest = largest.max((other / first - 1.0).abs());
        }
        let all: Vec<String> = all.iter().map(|figure| format!("{figure:>9.1}")).collect();
        println!("{kernel:<5} {name:<38} {}", all.join(" "));
    }
    println!(
        "{kernel}: the largest difference is {:.4} %",
        largest * 100.0
    );
    largest <= EQUAL
}
