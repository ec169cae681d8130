//! Exact null distributions of the rank tests of Wilcoxon, Mann and Whitney.

/// The number of arrangements of two sides in which U, the number of pairs where the first is smaller, is 0, 1, 2 …, up to
/// half of all pairs (Mann and Whitney 1947): coefficients of the Gaussian binomial.
pub(crate) fn rank_sums(a: usize, b: usize) -> Vec<f64> {
    let mut ways = vec![0.0; a * b / 2 + 1];
    ways[0] = 1.0;
    for i in 1..=a {
        for place in (b + i..ways.len()).rev() {
            ways[place] -= ways[place - b - i];
        }
        for place in i..ways.len() {
            ways[place] += ways[place - i];
        }
    }
    ways
}

/// The number of ways to give signs to the ranks 1 … `count` in which the ranks of one sign add up to 0, 1, 2 …, up to half
/// of their sum (Wilcoxon 1945).
pub(crate) fn signed_ranks(count: usize) -> Vec<f64> {
    let mut ways = vec![0.0; count * (count + 1) / 4 + 1];
    ways[0] = 1.0;
    for rank in 1..=count {
        for place in (rank..ways.len()).rev() {
            ways[place] += ways[place - rank];
        }
    }
    ways
}

/// The null distribution of a rank statistic.
#[derive(Debug)]
pub(crate) struct Ranks {
    /// The probability that the statistic is at most 0, 1, 2 …, up to half of its range.
    up_to: Vec<f64>,
}

impl Ranks {
    /// The distribution of a statistic that has each value in this number of `ways` of `all`.
    pub fn new(ways: &[f64], all: f64) -> Ranks {
        let mut so_far = 0.0;
        let up_to = ways.iter().map(|ways| {
            so_far += ways;
            so_far / all
        });
        Ranks {
            up_to: up_to.collect(),
        }
    }

    /// The greatest rank that may be left out on both sides; absent where even the whole range misses the true value too
    /// often.
    pub fn within(&self, misses: f64) -> Option<usize> {
        let left_out = self
            .up_to
            .iter()
            .take_while(|up_to| 2.0 * **up_to <= misses);
        left_out.count().checked_sub(1)
    }

    /// The two-sided p-value of a statistic, of its two values the lesser.
    pub fn chance(&self, least: usize) -> f64 {
        let up_to = self.up_to.get(least).copied();
        up_to.map_or(1.0, |up_to| (2.0 * up_to).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_ranks_match_published_tables() {
        let of_two = |a, b| {
            let ways = (1..=a).map(|i| (b + i) as f64 / i as f64).product();
            Ranks::new(&rank_sums(a, b), ways).within(0.05)
        };
        // Two-sided 5 % of Mann and Whitney's U.
        assert_eq!(
            [(3, 3), (4, 4), (5, 5), (5, 8), (10, 10), (20, 20)].map(|(a, b)| of_two(a, b)),
            [None, Some(0), Some(2), Some(6), Some(23), Some(127)]
        );
        // Two-sided 5 % of Wilcoxon's signed ranks.
        let of_pairs =
            |count: usize| Ranks::new(&signed_ranks(count), 2_f64.powi(count as i32)).within(0.05);
        assert_eq!(
            [5, 6, 8, 10, 20].map(of_pairs),
            [None, Some(0), Some(3), Some(8), Some(52)]
        );
    }
}
