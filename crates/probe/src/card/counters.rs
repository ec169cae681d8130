//! What the counters of a driver mean, by the table beside this file.

/// Lines of driver, kind, counter and source.
const TABLE: &str = include_str!("counters.txt");

/// The kinds, in the order of [`sums`].
const KINDS: [&str; 3] = ["ring", "received", "sent"];

/// Whether the table has counters of a driver; of another one they need not be read.
pub fn is_known(driver: &str) -> bool {
    rows().any(|[of, ..]| of == driver)
}

/// The sums of a driver's counters that are of each kind; absent of a kind of which it has none.
pub fn sums(driver: &str, counted: &[(String, u64)]) -> [Option<u64>; 3] {
    KINDS.map(|kind| {
        let patterns = rows().filter(|[of, known, ..]| (*of, *known) == (driver, kind));
        let of_pattern = |[.., pattern, _]: [&str; 4]| {
            let found = counted.iter().filter(|(name, _)| matches(name, pattern));
            found.map(|(_, count)| *count).reduce(u64::saturating_add)
        };
        let found: Vec<u64> = patterns.filter_map(of_pattern).collect();
        found.into_iter().reduce(u64::saturating_add)
    })
}

fn rows() -> impl Iterator<Item = [&'static str; 4]> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        cells.try_into().ok()
    })
}

/// Whether a name is this one, in which `*` stands for a number.
fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            let middle = name
                .strip_prefix(start)
                .and_then(|rest| rest.strip_suffix(end));
            middle.is_some_and(|number| number.parse::<u32>().is_ok())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_a_driver_and_a_kind_and_names_a_source() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(rows().count(), lines.count());
        assert!(rows().all(|[driver, kind, name, source]| {
            let is_once = rows()
                .filter(|row| row[..3] == [driver, kind, name])
                .count()
                == 1;
            is_once && KINDS.contains(&kind) && !name.is_empty() && source.ends_with(".c")
        }));
    }

    #[test]
    fn counters_of_all_queues_are_added_and_others_left_out() {
        let counted = [
            ("rx_missed_errors", 5),
            ("rx_queue_0_drops", 2),
            ("rx_queue_11_drops", 3),
            ("rx_queue_x_drops", 100),
            ("rx_no_buffer_count", 100),
            ("tx_flow_control_xoff", 7),
        ];
        let counted = counted.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(sums("igb", &counted), [Some(10), None, Some(7)]);
        assert_eq!(sums("virtio_net", &counted), [None; 3]);
    }
}
