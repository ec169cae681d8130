//! Counters of the protocols: `/proc/net/snmp`, `/proc/net/netstat` and `/proc/net/snmp6` (kernel
//! doc: networking/snmp_counter), as `nstat` shows them.

use std::collections::BTreeMap;

use crate::read::Kept;
use crate::source::{Source, Target, source};

const GROUPS: [&str; 5] = ["Ip", "IpExt", "Tcp", "TcpExt", "Udp"];
/// The groups that are kept of the third file: names there begin with these.
const GROUPS6: [&str; 2] = ["Ip6", "Udp6"];

type Counters = BTreeMap<String, i64>;

type Parse = fn(&str) -> Counters;

const FILES: [(&str, Parse); 3] = [
    ("/proc/net/snmp", parse),
    ("/proc/net/netstat", parse),
    ("/proc/net/snmp6", parse_listed),
];

pub fn open(_target: &Target) -> Option<Source> {
    let files = FILES.into_iter();
    let files = files.filter_map(|(path, parse)| Some((Kept::open(path)?, parse)));
    let mut files: Vec<_> = files.collect();
    files.first()?;
    source(move |sample, _| {
        let counters = files
            .iter_mut()
            .filter_map(|(file, parse)| Some(parse(file.text()?)));
        sample.protocols.extend(counters.flatten());
    })
}

/// All of them as they are now, in the network namespace of the process.
pub fn now() -> Counters {
    let read = |(path, parse): (&str, Parse)| Some(parse(&std::fs::read_to_string(path).ok()?));
    FILES.into_iter().filter_map(read).flatten().collect()
}

/// `snmp` and `netstat`: each group has a line of names and a line of numbers.
pub fn parse(text: &str) -> Counters {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines
        .chunks_exact(2)
        .filter_map(|pair| Some((pair[0].split_once(':')?, pair[1].split_once(':')?)));
    let kept = pairs.filter(|((group, _), (again, _))| group == again && GROUPS.contains(group));
    let counters = kept.flat_map(|((group, names), (_, numbers))| {
        let pairs = names
            .split_ascii_whitespace()
            .zip(numbers.split_ascii_whitespace());
        pairs.filter_map(move |(name, number)| {
            Some((format!("{group}.{name}"), number.parse().ok()?))
        })
    });
    counters.collect()
}

/// `snmp6`: a name and a number on each line.
pub fn parse_listed(text: &str) -> Counters {
    let counter = |line: &str| {
        let (name, number) = line.split_once(char::is_whitespace)?;
        let group = GROUPS6.iter().find(|group| name.starts_with(**group))?;
        Some((
            format!("{group}.{}", &name[group.len()..]),
            number.trim().parse().ok()?,
        ))
    };
    text.lines().filter_map(counter).collect()
}
