//! The CPUs and the cards of this host, as `host show` prints them, and values of many queues in a bounded line.

use std::collections::BTreeMap;

use bitcost_model::counters::Card;
use bitcost_model::cpu_list::show_cpu_list;
use bitcost_model::machine::CpuSets;
use bitcost_model::units::counted;

/// The most numbered values of a line, after those that are the same were joined.
const NUMBERED_MOST: usize = 16;

/// Each interface that has a card.
pub fn cards() -> BTreeMap<String, Card> {
    let devices = bitcost_host::devices().into_iter();
    let card = |device: String| Some((device.clone(), bitcost_probe::card::of(&device)?));
    devices.filter_map(card).collect()
}

/// A line for the CPUs, and two for each card.
pub fn text(sets: &CpuSets, cards: &BTreeMap<String, Card>) -> String {
    let parts = [
        ("online", &sets.online),
        ("offline", &sets.offline),
        ("isolated", &sets.isolated),
        ("of this process", &sets.allowed),
    ];
    let lists = parts.iter().filter(|(_, cpus)| !cpus.is_empty());
    let lists = lists.map(|(name, cpus)| format!("{name} {}", show_cpu_list(cpus)));
    let nodes = sets.nodes.iter().filter(|_| sets.nodes.len() > 1);
    let nodes = nodes.map(|(node, cpus)| format!("node {node} {}", show_cpu_list(cpus)));
    let all: Vec<String> = lists.chain(nodes).collect();
    let mut text = format!("{:<10} {}\n", "CPUs", all.join("; "));
    for (device, card) in cards {
        let node = card.node.map_or(String::new(), |node| {
            format!(", node {node} (CPUs {})", card.near_cpus)
        });
        let Card {
            driver, address, ..
        } = card;
        let speed = card.speed_mbps.map(|mbps| format!(", {mbps} Mbit/s"));
        let half = card.is_half_duplex.then(|| ", half duplex".to_owned());
        let lacks = card
            .lacks
            .iter()
            .map(|name| format!(", {name} off [fixed]"));
        let link: String = speed.into_iter().chain(half).chain(lacks).collect();
        text += &format!(
            "{:<10} {device}: {driver} at {address}{node}{link}\n",
            "card"
        );
        if !card.interrupts.is_empty() {
            let values = joined(&card.interrupts).join(" ");
            text += &format!("{:<10} {device}: CPUs {values}\n", "interrupts");
        }
    }
    text
}

/// Values in words. Of those whose names differ only by a number at their end, equal ones are together, and
/// [`NUMBERED_MOST`] are shown.
pub fn joined(values: &BTreeMap<String, String>) -> Vec<String> {
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (name, value) in values {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let stem = if stem.ends_with(['-', '.']) {
            stem
        } else {
            name
        };
        groups.entry((stem, value)).or_default().push(name);
    }
    let (mut numbered, mut left, mut words) = (0, 0, Vec::new());
    for ((stem, value), names) in groups {
        numbered += usize::from(stem != names[0]);
        if stem != names[0] && numbered > NUMBERED_MOST {
            left += names.len();
            continue;
        }
        words.push(match names[..] {
            [bitcost_host::VALUE] => value.to_owned(),
            [name] => format!("{name}={value}"),
            _ => format!("{} and {} more={value}", names[0], names.len() - 1),
        });
    }
    if left > 0 {
        words.push(format!(
            "and {} (--json has all)",
            counted(left, "more value")
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize, value: impl Fn(usize) -> String) -> BTreeMap<String, String> {
        (0..count)
            .map(|queue| (format!("rx-{queue}"), value(queue)))
            .collect()
    }

    #[test]
    fn values_of_many_queues_are_joined_and_bounded() {
        let mask = "00000000,".repeat(8);
        assert_eq!(
            joined(&numbered(256, |_| mask.clone())),
            [format!("rx-0 and 255 more={mask}")]
        );
        let apart = joined(&numbered(256, |queue| queue.to_string()));
        assert_eq!(
            (apart.len(), apart[0].as_str()),
            (NUMBERED_MOST + 1, "rx-0=0")
        );
        assert_eq!(apart[NUMBERED_MOST], "and 240 more values (--json has all)");
        let switches = ["tx-ipv4", "tx-ipv6"].map(|name| (name.to_owned(), "on".to_owned()));
        assert_eq!(joined(&switches.into()), ["tx-ipv4=on", "tx-ipv6=on"]);
        assert_eq!(joined(&bitcost_host::single("1500")), ["1500"]);
    }
}
