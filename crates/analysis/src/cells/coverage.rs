//! How often the interval of a median contains the true median.

/// The least number of runs whose interval reaches 95 %; with fewer it is from the least to the most.
pub const COVERED_FROM: usize = 6;

/// In how many of 100 cases the interval of the median of this number of runs contains the true
/// median: all runs are on one side of it with a probability of 2^(1 - runs).
pub fn coverage_pct(runs: usize) -> f64 {
    match runs {
        0 | 1 => 0.0,
        runs if runs >= COVERED_FROM => 95.0,
        runs => 100.0 - 100.0 * 2.0_f64.powi(1 - runs as i32),
    }
}
