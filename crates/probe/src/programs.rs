//! Programs that hold sockets: the links in `/proc/PID/fd` (proc_pid_fd(5)), their names and their threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use crate::read::{number, numbers, text};
use crate::threads::parse_time;
use bitcost_model::record::{ThreadKind, ThreadTime};

/// The process that holds each of these sockets, by the sockets' numbers among files: of several the youngest, to which the
/// others passed it. A socket of a process that this user may not look at is absent.
pub fn holders(is_wanted: impl Fn(u32) -> bool) -> BTreeMap<u32, u32> {
    let mut holders = BTreeMap::new();
    for process in processes() {
        let own = sockets_of(process).unwrap_or_default().into_iter();
        let own = own.filter(|inode| is_wanted(*inode));
        holders.extend(own.map(|inode| (inode, process)));
    }
    holders
}

/// The processes that `/proc` shows.
pub fn processes() -> BTreeSet<u32> {
    numbers("/proc")
}

/// The numbers among files of the sockets that a process holds.
///
/// # Errors
/// Where there is no such process, or this user may not look at it.
pub fn sockets_of(process: u32) -> io::Result<BTreeSet<u32>> {
    let files = std::fs::read_dir(format!("/proc/{process}/fd"))?;
    // A file that is closed meanwhile is none.
    let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let inode = |link: PathBuf| {
        let link = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        link.parse().ok()
    };
    Ok(links.filter_map(inode).collect())
}

/// Bytes and calls of a process so far: read, and written. Of sockets those of read and write, not of recv and send.
pub fn calls_of(process: u32) -> Option<[[u64; 2]; 2]> {
    let text = text(&format!("/proc/{process}/io"))?;
    let of = |name| number(&text, name);
    Some([
        [of("rchar:")?, of("syscr:")?],
        [of("wchar:")?, of("syscw:")?],
    ])
}

pub fn name_of(process: u32) -> Option<String> {
    text(&format!("/proc/{process}/comm"))
}

/// The threads of a process with their times, of many the oldest ones, up to this number; none once it has ended.
pub fn threads_of(process: u32, most: usize) -> BTreeMap<u32, ThreadTime> {
    let folder = format!("/proc/{process}/task");
    let time = |thread: u32| {
        let text = text(&format!("{folder}/{thread}/schedstat"))?;
        Some((thread, parse_time(ThreadKind::Traffic, &text)?))
    };
    let threads = numbers(&folder).into_iter().take(most);
    threads.filter_map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_socket_is_this_process_and_its_threads_are_known() {
        let own = std::process::id();
        let before = sockets_of(own).expect("its files");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let after = sockets_of(own).expect("its files");
        let new: Vec<u32> = after.difference(&before).copied().collect();
        assert!(!new.is_empty());
        let holders = holders(|inode| new.contains(&inode));
        assert!(
            new.iter().all(|inode| holders.get(inode) == Some(&own)),
            "{holders:?}"
        );
        assert!(name_of(own).is_some() && !threads_of(own, 9).is_empty());
        drop(socket);
    }
}
