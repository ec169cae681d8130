//! Every probe that reads a file, on files recorded from Linux 6.18 and on those of other kernels,
//! whose formats are given by their documentation and sources; a file that is missing gives an
//! absent value. After a change on purpose `INSTA_UPDATE=always cargo test -p bitcost-probe` writes the
//! values again; read their diff.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use bitcost_model::record::ThreadKind;
use bitcost_probe::{cpu, interfaces, protocols, softnet, threads, throttling};

/// A kernel of 2010; one of 2022, with version 2 of control groups, on arm64 with one CPU offline; one
/// of 2025, recorded, with both versions mounted.
const KERNELS: [&str; 3] = ["linux-2.6.32", "linux-6.1", "linux-6.18"];

fn folder(kernel: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    all.join(kernel)
}

fn lines<T: Debug>(values: impl IntoIterator<Item = T>) -> String {
    let values = values.into_iter();
    values.map(|value| format!("  {value:?}\n")).collect()
}

/// What the probe of a file reads in it.
fn read(path: &Path) -> String {
    let text = |path: &Path| std::fs::read_to_string(path).expect("a text");
    let of_file = &text(path);
    match path.file_name().and_then(|name| name.to_str()) {
        Some("stat") => lines(cpu::parse(of_file)),
        Some("schedstat") => lines(threads::parse_time(ThreadKind::Traffic, of_file)),
        Some("status") => lines(threads::parse_switches(of_file)),
        Some("softnet_stat") => lines(softnet::parse(of_file)),
        Some("net_dev") => lines(interfaces::parse(of_file)),
        Some("snmp" | "netstat") => lines(protocols::parse(of_file)),
        Some("snmp6") => lines(protocols::parse_listed(of_file)),
        Some("cpu.stat" | "cpu.stat.root") => lines(throttling::parse(of_file)),
        Some("cgroup") => lines(throttling::paths(
            of_file,
            &text(&path.with_file_name("mounts")),
        )),
        Some("mounts") => String::new(),
        other => panic!("no probe reads {other:?}"),
    }
}

#[test]
fn recorded_files_are_read() {
    let mut found = String::new();
    for kernel in KERNELS {
        let files = std::fs::read_dir(folder(kernel)).expect("a folder");
        let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            found += &format!("{kernel} {name}\n{}", read(&path));
        }
    }
    insta::assert_snapshot!(found);
}

#[test]
fn what_is_missing_or_cut_is_absent() {
    for text in ["", "00000001\nx y z\n"] {
        assert!(softnet::parse(text).is_empty());
    }
    for text in ["", "eth0: 1 2 3\n"] {
        assert!(interfaces::parse(text).is_empty());
    }
    for text in ["Tcp: A B\n", "Tcp: A\nUdp: 1\n"] {
        assert!(protocols::parse(text).is_empty());
    }
    assert!(throttling::paths("", "").is_empty());
}

/// The first version of control groups counts in ns.
#[test]
fn quotas_of_the_first_version_are_read() {
    let text = "nr_periods 7\nnr_throttled 3\nthrottled_time 2500999\n";
    assert_eq!(throttling::parse(text), Some(2500));
}
