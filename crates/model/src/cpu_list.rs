//! Lists of CPUs as the kernel and people write them.

use std::collections::BTreeSet;

/// The most CPUs of a host that are read, recorded and pinned to: as many as a `cpu_set_t` has.
pub const CPUS_MOST: usize = 1024;

/// The highest number of a CPU: more than Linux supports.
const CPU_MAX: u32 = (1 << 16) - 1;

/// Reads CPU numbers from a list such as `0`, `1,2` or `0-2,5` (kernel doc:
/// admin-guide/cputopology), in its order; `None` for a text that is not such a list, or that names
/// a CPU twice.
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    let mut seen = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > CPU_MAX {
            return None;
        }
        for cpu in first..=last {
            if !seen.insert(cpu) {
                return None;
            }
            cpus.push(cpu);
        }
    }
    Some(cpus)
}

/// CPU numbers in their order, as [`parse_cpu_list`] reads them and the kernel writes them: `0-2,5`; empty: none.
pub fn show_cpu_list(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|before, cpu| before.checked_add(1) == Some(*cpu));
    let words: Vec<String> = runs
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            one => one.iter().map(u32::to_string).collect(),
        })
        .collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_their_order_and_what_is_none_is_refused() {
        assert_eq!(parse_cpu_list("3,0-2"), Some(vec![3, 0, 1, 2]));
        assert_eq!(show_cpu_list(&[3, 0, 1, 2]), "3,0-2");
        assert_eq!(show_cpu_list(&[]), "");
        assert_eq!(parse_cpu_list(" 0-1 , 5\n"), Some(vec![0, 1, 5]));
        for text in ["", "x", "3-1", "0,0", "0-2,1", "65536", "0-", "-1"] {
            assert_eq!(parse_cpu_list(text), None, "{text}");
        }
    }
}
