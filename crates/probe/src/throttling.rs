//! Throttling by CPU quotas: `cpu.stat` of the control group of this process and of all above it. Where its own mounts
//! show none of them, as after `ip netns exec`, those of the processes above it are looked at.
//!
//! Version 2 of control groups counts in µs (`throttled_usec`; kernel doc: admin-guide/cgroup-v2),
//! version 1 in ns (`throttled_time`; kernel doc: scheduler/sched-bwc).

use std::fs::{OpenOptions, read_link};
use std::iter::successors;
use std::path::PathBuf;

use bitcost_model::counters::Throttling;
use bitcost_sys::files::open_regular;
use rustix::fs::fstatfs;

use crate::foreign;
use crate::read::{self, Kept, number};
use crate::source::{Source, Target, source};

/// `CGROUP2_SUPER_MAGIC` and `CGROUP_SUPER_MAGIC` of linux/magic.h.
const CGROUP_MAGIC: [rustix::fs::FsWord; 2] = [0x6367_7270, 0x0027_e0eb];

/// The most processes above this one whose mounts are looked at.
const ABOVE_MAX: usize = 64;

/// Opens the `cpu.stat` of each group; absent if none of them has the counters of a quota.
pub fn open(target: &Target) -> Option<Source> {
    let process = target
        .process
        .map_or("self".to_owned(), |of| of.to_string());
    let groups = read::text(&format!("/proc/{process}/cgroup"))?;
    let mut files = views().map(|process| counted(&groups, &process));
    let mut files = files.find(|files| !files.is_empty())?;
    source(move |sample, _| {
        let each = files.iter_mut().map(|file| file.text().and_then(parse));
        let sum: Option<u64> = each.sum();
        sample.throttling = sum.map(|throttled_us| Throttling { throttled_us });
    })
}

/// This process and those above it that have the same names for control groups, as directories of `/proc`.
fn views() -> impl Iterator<Item = String> {
    let names = |process: &str| read_link(format!("{process}/ns/cgroup")).ok();
    let own = names("/proc/self");
    let parent = |process: &String| {
        let parent = foreign::parse(&read::text(&format!("{process}/stat"))?)?.parent;
        (parent > 0).then(|| format!("/proc/{parent}"))
    };
    successors(Some("/proc/self".to_owned()), parent)
        .take(ABOVE_MAX)
        .filter(move |process| names(process) == own)
}

/// The `cpu.stat` files with the counters of a quota, among the mounts of this process. Its user may have mounted anything
/// there: only files of the kernel's control groups are read.
fn counted(groups: &str, process: &str) -> Vec<Kept> {
    let mounts = read::text(&format!("{process}/mounts")).unwrap_or_default();
    let paths = paths(groups, &mounts).into_iter();
    let seen = paths.map(|path| format!("{process}/root{}", path.display()));
    let opened = seen
        .filter_map(|path| open_regular(path.as_ref(), OpenOptions::new().read(true)).ok())
        .filter(|file| fstatfs(file).is_ok_and(|of| CGROUP_MAGIC.contains(&of.f_type)));
    let has_counters = |file: &mut Kept| file.text().and_then(parse).is_some();
    let kept = opened.map(Kept::of);
    kept.filter_map(|mut file| has_counters(&mut file).then_some(file))
        .collect()
}

/// The `cpu.stat` files of the group and of those above it, by the texts of `/proc/self/cgroup` and
/// `/proc/self/mounts` (cgroups(7)). The controller may be of version 1 or 2.
pub fn paths(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let group = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let kind = if controllers.is_empty() {
            "cgroup2"
        } else {
            "cgroup"
        };
        (controllers.is_empty() || controllers.split(',').any(|name| name == "cpu"))
            .then_some((kind, path))
    };
    let found = groups
        .lines()
        .filter_map(group)
        .filter_map(|(kind, path)| Some((mount(mounts, kind)?, path)));
    found
        .flat_map(|(mount, path)| above(&mount, &path))
        .collect()
}

/// The mount point of the controller `cpu`, or of version 2.
fn mount(mounts: &str, kind: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, place, of, options, ..] = fields[..] else {
            return None;
        };
        let has_cpu = kind == "cgroup2" || options.split(',').any(|option| option == "cpu");
        (of == kind && has_cpu).then(|| place.to_owned())
    })
}

fn above(mount: &str, group: &str) -> Vec<PathBuf> {
    let names: Vec<&str> = group
        .split('/')
        .filter(|name| !name.is_empty() && *name != "..")
        .collect();
    let path = |depth: usize| {
        names[..depth]
            .iter()
            .fold(PathBuf::from(mount), |path, name| path.join(name))
            .join("cpu.stat")
    };
    (0..=names.len()).map(path).collect()
}

/// The time that a group was held back, in µs, from its `cpu.stat`; absent if it has no quota.
pub fn parse(text: &str) -> Option<u64> {
    let v1_us = || Some(number(text, "throttled_time ")? / 1000);
    number(text, "throttled_usec ").or_else(v1_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_above_with_the_same_mounts_shows_the_same_groups() {
        let all: Vec<String> = views().collect();
        assert_eq!(all.first().map(String::as_str), Some("/proc/self"));
        let groups = read::text("/proc/self/cgroup").unwrap_or_default();
        let mounts = |process: &str| {
            ["ns/mnt", "root"].map(|name| read_link(format!("{process}/{name}")).ok())
        };
        let same = all
            .iter()
            .filter(|process| mounts(process) == mounts("/proc/self"));
        for process in same {
            let seen = counted(&groups, process).len();
            assert_eq!(seen, counted(&groups, "/proc/self").len(), "{process}");
        }
    }
}
