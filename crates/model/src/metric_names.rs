//! Earlier names of metrics, which studies, options and logs may still have.

/// Names and beginnings of names that were replaced, each with what replaced it.
const REPLACED: [(&str, &str); 3] = [
    ("throughput_of_ceiling_pct", "throughput_of_capacity_pct"), // alias
    ("beside_", "background_"),                                  // alias
    ("line_", "emulator_"),
];

/// The name that a metric has now. A name that was never replaced stays as it is.
pub fn current_name(name: &str) -> String {
    let renamed = |(old, new): &(&str, &str)| Some(format!("{new}{}", name.strip_prefix(old)?));
    REPLACED
        .iter()
        .find_map(renamed)
        .unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_names_are_replaced() {
        for (old, new) in [
            ("beside_latency_p99_us", "background_latency_p99_us"), // alias
            ("line_cpu_pct", "emulator_cpu_pct"),
            ("throughput_of_ceiling_pct", "throughput_of_capacity_pct"), // alias
            ("throughput_mbps", "throughput_mbps"),
        ] {
            assert_eq!(current_name(old), new);
        }
    }
}
