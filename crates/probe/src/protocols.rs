//! Counters of the protocols: `/proc/net/snmp`, `/proc/net/netstat` and `/proc/net/snmp6` (kernel
//! doc: networking/snmp_counter), as `nstat` shows them.

use std::collections::BTreeMap;
use std::fs::File;

use bitcost_model::record::Sample;

use crate::read;
use crate::source::{Detail, Source, Target};

/// The groups that are kept of the first two files.
const GROUPS: [&str; 5] = ["Ip", "IpExt", "Tcp", "TcpExt", "Udp"];
/// The groups that are kept of the third file: names there begin with these.
const GROUPS6: [&str; 2] = ["Ip6", "Udp6"];

struct Protocols {
    /// The files with pairs of a line of names and a line of numbers.
    paired: Vec<File>,
    /// The file with a line for each counter.
    listed: Option<File>,
    buffer: Vec<u8>,
}

/// Opens the files that exist.
pub fn open(_target: &Target) -> Option<Box<dyn Source>> {
    let paired = ["/proc/net/snmp", "/proc/net/netstat"]
        .iter()
        .filter_map(|path| File::open(path).ok());
    let probe = Protocols {
        paired: paired.collect(),
        listed: File::open("/proc/net/snmp6").ok(),
        buffer: Vec::new(),
    };
    let is_any = !probe.paired.is_empty() || probe.listed.is_some();
    is_any.then(|| Box::new(probe) as Box<dyn Source>)
}

impl Source for Protocols {
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        let Protocols {
            paired,
            listed,
            buffer,
        } = self;
        for file in paired {
            sample
                .protocols
                .extend(read::whole(file, buffer).map(parse).unwrap_or_default());
        }
        if let Some(file) = listed {
            sample.protocols.extend(
                read::whole(file, buffer)
                    .map(parse_listed)
                    .unwrap_or_default(),
            );
        }
    }
}

/// `snmp` and `netstat`: each group has a line of names and a line of numbers.
pub fn parse(text: &str) -> BTreeMap<String, i64> {
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
pub fn parse_listed(text: &str) -> BTreeMap<String, i64> {
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
