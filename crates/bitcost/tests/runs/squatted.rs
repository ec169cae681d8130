//! Names of labs that another user's processes have taken.

// The test that started this program reads what it prints.
#![allow(clippy::disallowed_macros)]

use crate::bench::*;
use std::io::{BufRead, BufReader};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;

bitcost_testkit::trials! {
    PrivateNetwork: lab_names_taken_by_another_user_are_recognised;
}

/// The verb of the helper that takes names.
const SQUAT: &str = "take-names-of-labs";

/// An ordinary user.
const NOBODY: u32 = 65534;

/// Number of names that one helper takes: each needs a file descriptor.
const OF_ONE: u32 = 500;

/// Takes names of this user's labs until standard input ends, if this process is the helper.
pub fn take_names(words: &[String]) {
    let [verb, uid, base, from, to] = words else {
        return;
    };
    if verb != SQUAT {
        return;
    }
    let (from, to): (u32, u32) = (from.parse().unwrap(), to.parse().unwrap());
    let bind =
        |name: &[u8]| UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap());
    let name = |number: u32| match number {
        0 => base.to_owned(),
        // This name gets bytes that are not UTF-8 below: it is neither a text nor a name of a lab.
        1 => String::new(),
        number => format!("{base}-{number}"),
    };
    let taken: Vec<UnixListener> = (from..to)
        .map(|number| {
            let mut bytes = format!("bitcost-lab/{uid}/{}", name(number)).into_bytes();
            if number == 1 {
                bytes.extend([0xff, b'\n', 0xfe]);
            }
            bind(&bytes).unwrap()
        })
        .collect();
    println!("taken");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(taken);
    std::process::exit(0);
}

/// Names that another user has taken while this lives.
struct Squatters(Vec<Child>);

impl Squatters {
    fn new(base: &str, count: u32) -> Squatters {
        let start = |from: u32| {
            let words = [
                SQUAT.to_owned(),
                "0".to_owned(),
                base.to_owned(),
                from.to_string(),
                (from + OF_ONE).to_string(),
            ];
            let mut command = Command::new("/proc/self/exe");
            command
                .args(words)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .uid(NOBODY)
                .gid(NOBODY);
            let mut child = command.spawn().unwrap();
            let mut said = String::new();
            BufReader::new(child.stdout.take().unwrap())
                .read_line(&mut said)
                .unwrap();
            assert_eq!(said, "taken\n");
            child
        };
        Squatters((0..count).step_by(OF_ONE as usize).map(start).collect())
    }
}

impl Drop for Squatters {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|child| drop(child.stdin.take()));
        self.0.iter_mut().for_each(|child| drop(child.wait()));
    }
}

/// In a new network namespace, whose abstract names are not those of the machine.
fn lab_names_taken_by_another_user_are_recognised() {
    if effective_uid() != 0 || !is_whole() {
        bitcost_testkit::ignore(
            "only root outside of user namespaces can start processes of another user",
        );
    }
    let squatters = Squatters::new("pair", 10_000);
    let bench = Bench::new();
    let ls = bench.bitcost(&["lab", "ls"]);
    assert_eq!(
        (ls.code, ls.stdout.as_str()),
        (Some(0), "no lab is running\n")
    );
    let taken = bench
        .bitcost(&["lab", "up", "pair", "--name", "pair"])
        .with_code(3);
    let says = "the name pair is taken by a process of user 65534; choose another name";
    taken.assert_says(says);
    for words in [
        &["lab", "down", "pair"][..],
        &["lab", "exec", "--lab", "pair", "h1", "--", "true"],
    ] {
        let refused = bench.bitcost(words).with_code(2);
        let says =
            "no lab `pair` of yours is running: the name is taken by a process of user 65534";
        refused.assert_says(says);
    }
    let running = bench.start(&["lab", "up", "pair"]);
    eventually(PATIENCE, "the lab stands", || {
        let labs = bench.bitcost(&["lab", "ls", "--json"]).json();
        (labs["labs"].as_array()?.len() == 1).then_some(())
    });
    // The only lab of this user needs no name.
    bench
        .bitcost(&["lab", "exec", "h1", "--", "true"])
        .assert_code(0);
    let down = bench.bitcost(&["lab", "down"]).with_code(0);
    assert!(down.stdout.starts_with("pair-"), "{}", down.stdout);
    running.finish(PATIENCE).assert_code(0);
    drop(squatters);
    bench.assert_nothing_left();
}

fn is_whole() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}
