//! Hosts that lack something: the error and its remedy are printed before anything happens.

// The test harness reads what a test prints.
#![allow(clippy::disallowed_macros)]

use crate::bench::*;
use std::io;
use std::os::unix::process::CommandExt;

use bitcost_sys::namespace::{Kind, unshare};

bitcost_testkit::trials! {
    Host: missing_user_namespaces_error_names_the_remedy, many_cpus_are_shown_in_few_lines, unwritable_folder_is_reported_before_traffic, full_disk_is_reported_before_traffic;
}

/// The verb of the helper that becomes bitcost on a host without user namespaces.
pub const WITHOUT_USER_NAMESPACES: &str = "without-user-namespaces";

const NOBODY: u32 = 65534;

/// Exit status of a helper that could not prepare itself.
const IMPOSSIBLE: i32 = 77;

#[path = "../../../probe/tests/machines/mod.rs"]
mod machines;

/// Of a machine with 64 CPUs and of one with 256, whose files cover those of this one.
fn many_cpus_are_shown_in_few_lines() {
    need(&["unshare", "mount"]);
    for (machine, online) in [
        (&machines::XEON, "online 0-63; of this process"),
        (
            &machines::EPYC,
            "online 0-6,8-134,136-255; offline 7,135; isolated 120-127; of this process",
        ),
    ] {
        let bench = Bench::new();
        let root = bench.path().join("machine");
        machine.write(&root);
        let covered = "for of in cpu node; do mount --bind machine/sys/devices/system/$of /sys/devices/system/$of; done &&
            mount --bind machine/proc/stat /proc/stat && exec \"$0\" \"$@\"";
        let own = program();
        let shell = ["-rm", "sh", "-c", covered, own.to_str().unwrap()];
        let shown = |words: &[&str]| {
            let words = [&shell, words].concat();
            let running = bench.start_program(Path::new("unshare"), &words);
            running.finish(PATIENCE).with_code(0).stdout
        };
        let text = shown(&["host", "show"]);
        let first = text.lines().next().unwrap();
        assert!(
            first.starts_with("CPUs ") && first.contains(online),
            "{text}"
        );
        assert!(text.lines().all(|line| line.len() < 4000), "{text}");
        let json: Value = serde_json::from_str(&shown(&["host", "show", "--json"])).unwrap();
        let all = json["cpus"]["online"].as_array().unwrap().iter();
        assert!(
            all.map(|cpu| cpu.as_u64().unwrap() as u32)
                .eq(machine.online())
        );
        fs::remove_dir_all(&root).unwrap();
        bench.assert_nothing_left();
    }
}

fn missing_user_namespaces_error_names_the_remedy() {
    let bench = if effective_uid() == 0 {
        Bench::of_user(NOBODY)
    } else {
        Bench::new()
    };
    let copy = bench.path().join("bitcost");
    fs::copy(program(), &copy).unwrap();
    let words = [WITHOUT_USER_NAMESPACES, "./bitcost", "run", "not-all-mbits"];
    let done = bench
        .start_program(Path::new("/proc/self/exe"), &words)
        .finish(PATIENCE);
    if done.code == Some(IMPOSSIBLE) {
        drop(bench);
        bitcost_testkit::ignore(&done.stderr);
    }
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{done:?}");
    assert_says(
        &done.stderr,
        &[
            "cannot make the lab's namespaces",
            "max_user_namespaces is 0",
            "sudo sysctl -w user.max_user_namespaces=",
        ],
    );
    assert_eq!(bench.contents(), ["bitcost"]);
    bench.assert_nothing_left();
}

/// Runs a command as an ordinary user of a user namespace that allows no further one. Does not
/// return.
pub fn become_without_user_namespaces(words: &[String]) -> ! {
    let failed = |error: io::Error| -> ! {
        eprintln!("cannot make a user namespace without others: {error}");
        std::process::exit(IMPOSSIBLE)
    };
    let uid = effective_uid();
    let closed = unshare(&[Kind::User])
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")))
        .and_then(|()| fs::write("/proc/sys/user/max_user_namespaces", "0"));
    match closed {
        Ok(()) => failed(Command::new(&words[0]).args(&words[1..]).exec()),
        Err(error) => failed(error),
    }
}

/// Asserts that nothing was run: there is no line of a run, no result, no log.
fn assert_said_before_traffic(done: &Done, says: &[&str]) {
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{done:?}");
    assert_says(&done.stderr, says);
    assert!(
        !done.stderr.contains("run 1 of") && !done.stderr.contains("log: "),
        "{}",
        done.stderr
    );
}

fn unwritable_folder_is_reported_before_traffic() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    bench.write("file", "");
    let done = bench.bitcost(&["run", "small.toml", "--out", "file/below"]);
    assert_said_before_traffic(&done, &["cannot write file/below", "--out FOLDER"]);
    bench.assert_nothing_left();
    let mut contents = bench.contents();
    contents.sort();
    assert_eq!(contents, ["file", "small.toml"]);
}

/// The number of message sizes of a large study, and the most runs of a plan.
const CELLS: u64 = 50;
const RUNS: u64 = bitcost_study::limits::RUNS;

fn full_disk_is_reported_before_traffic() {
    let bench = Bench::new();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let disk = rustix::fs::statvfs(memory.path()).unwrap();
    // Each run may need 256 KiB. A quarter more than fit: others may free space meanwhile.
    let runs = 5 * disk.f_bavail * disk.f_frsize / 4 / (256 << 10);
    let blocks = 1 + runs / CELLS;
    if blocks * CELLS > RUNS {
        drop((bench, memory));
        bitcost_testkit::ignore("the disk is too large to be filled by any plan");
    }
    let levels: Vec<String> = (1..=CELLS).map(|size| size.to_string()).collect();
    bench.write(
        "large.toml",
        &SMALL.replace("512, 1024", &levels.join(", ")),
    );
    let (blocks, out) = (blocks.to_string(), memory.path().to_str().unwrap());
    let done = bench.bitcost(&["run", "large.toml", "--blocks", &blocks, "--out", out]);
    assert_said_before_traffic(&done, &["MiB free", "--out FOLDER"]);
    assert_eq!(fs::read_dir(out).unwrap().count(), 0);
    bench.assert_nothing_left();
}
