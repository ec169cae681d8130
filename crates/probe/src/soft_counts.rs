//! The numbers of `/proc/softirqs` (kernel doc: filesystems/proc, 1.2).

/// The soft interrupts of one kind on one CPU.
pub(crate) struct SoftCount<'a> {
    /// The number of the kind: that of its line.
    pub kind: u32,
    /// Its name.
    pub name: &'a str,
    /// CPU number.
    pub cpu: u32,
    /// How many there were.
    pub count: u64,
}

/// Every number of `/proc/softirqs`.
pub(crate) fn soft_counts(text: &str) -> impl Iterator<Item = SoftCount<'_>> {
    let heads = heads(text.lines().next());
    let lines = (0..).zip(text.lines().skip(1));
    let named = lines.filter_map(|(kind, line)| Some((kind, line.split_once(':')?)));
    named.flat_map(move |(kind, (name, rest))| {
        let words = heads.clone().into_iter().zip(rest.split_ascii_whitespace());
        words.filter_map(move |(cpu, word)| {
            Some(SoftCount {
                kind,
                name: name.trim(),
                cpu,
                count: word.parse().ok()?,
            })
        })
    })
}

/// `CPU0 CPU2` as numbers.
pub(crate) fn heads(line: Option<&str>) -> Vec<u32> {
    let words = line.unwrap_or_default().split_ascii_whitespace();
    words
        .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
        .collect()
}
