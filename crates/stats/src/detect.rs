//! How small a difference a number of blocks can show, and how many blocks a difference needs.
//!
//! The test in mind is Student's, of differences within blocks, two-sided at 5 %, which finds the
//! difference in 80 % of executions. Where the standard deviation of one value within its block is
//! s, a difference of two has √2 s, and the smallest that is found is (t₀.₉₇₅ + t₀.₈) √(2 ÷ n) s.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probabilities of Student's quantiles: of the two-sided test at 5 %, and of finding in 80 % of
/// cases.
const TEST: f64 = 0.975;
const FIND: f64 = 0.8;

/// The most blocks that an answer names.
pub const BLOCKS_MOST: usize = 1000;

/// The spread of values within their blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// Standard deviation of one value, once the means of its side and of its block are subtracted.
    pub deviation: f64,
    /// The number of sides.
    pub sides: usize,
    /// The number of blocks.
    pub blocks: usize,
}

/// The spread of these values, a row for each side with a value for each block, pooled over all
/// sides. Absent with under two sides or three blocks, for rows of different lengths, and where a
/// value is not finite.
pub fn residual(rows: &[Vec<f64>]) -> Option<Residual> {
    let (sides, blocks) = (rows.len(), rows.first()?.len());
    let is_whole = rows.iter().all(|row| row.len() == blocks);
    if sides < 2 || blocks < 3 || !is_whole || rows.iter().flatten().any(|v| !v.is_finite()) {
        return None;
    }
    let mean =
        |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
    let of_sides: Vec<f64> = rows
        .iter()
        .map(|row| mean(&mut row.iter().copied(), blocks))
        .collect();
    let all = mean(&mut of_sides.iter().copied(), sides);
    let of_blocks: Vec<f64> = (0..blocks)
        .map(|block| mean(&mut rows.iter().map(|row| row[block]), sides))
        .collect();
    let squares: f64 = rows
        .iter()
        .zip(&of_sides)
        .flat_map(|(row, side)| {
            row.iter()
                .zip(&of_blocks)
                .map(move |(value, block)| (value - side - block + all).powi(2))
        })
        .sum();
    Some(Residual {
        deviation: (squares / ((sides - 1) * (blocks - 1)) as f64).sqrt(),
        sides,
        blocks,
    })
}

impl Residual {
    /// The smallest difference of two sides that this number of blocks shows.
    pub fn detectable(&self, blocks: usize) -> f64 {
        let freedom = ((self.sides - 1) * blocks.saturating_sub(1).max(1)) as f64;
        let quantiles = student(TEST, freedom) + student(FIND, freedom);
        quantiles * self.deviation * (2.0 / blocks.max(1) as f64).sqrt()
    }

    /// The fewest blocks, three or more, that show a difference; absent where `BLOCKS_MOST` do
    /// not.
    pub fn blocks_for(&self, difference: f64) -> Option<usize> {
        let blocks: Vec<usize> = (3..=BLOCKS_MOST).collect();
        let fewer = blocks.partition_point(|blocks| self.detectable(*blocks) > difference);
        blocks.get(fewer).copied()
    }
}

/// More degrees of freedom than this are as good as infinitely many, to 2 parts in 10 000; statrs takes
/// very long for a billion.
const FREEDOM_MOST: f64 = 10_000.0;

/// The quantile of Student's distribution at a probability, with one degree of freedom or more.
fn student(probability: f64, freedom: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom.min(FREEDOM_MOST));
    distribution.map_or(f64::NAN, |it| it.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{RngCore, SeedableRng};

    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (freedom, expected) in [(2.0, 4.3027), (4.0, 2.7764), (20.0, 2.0860), (1e9, 1.9602)] {
            let found = student(TEST, freedom);
            assert!((found - expected).abs() < 5e-5, "{freedom}: {found}");
        }
    }

    #[test]
    fn effects_of_sides_and_blocks_are_no_spread() {
        let rows = vec![vec![1.0, 2.0, 5.0, 3.0], vec![11.0, 12.0, 15.0, 13.0]];
        assert!(residual(&rows).expect("a spread").deviation < 1e-12);
        assert_eq!(residual(&rows[..1]), None);
        assert_eq!(residual(&[vec![1.0, 2.0], vec![1.0, 2.0]]), None);
        assert_eq!(residual(&[vec![1.0, 2.0, 3.0], vec![1.0, 2.0]]), None);
    }

    #[test]
    fn more_blocks_show_smaller_differences() {
        let spread = Residual {
            deviation: 0.05,
            sides: 6,
            blocks: 5,
        };
        let five = spread.detectable(5);
        assert!(five > 0.085 && five < 0.105, "{five}");
        let blocks = spread.blocks_for(0.05).expect("few enough");
        assert!(spread.detectable(blocks) <= 0.05 && spread.detectable(blocks - 1) > 0.05);
        assert_eq!(spread.blocks_for(1e-9), None);
    }

    /// Sums of twelve uniform numbers are close to normal.
    fn normal(generator: &mut ChaCha8Rng) -> f64 {
        (0..12)
            .map(|_| f64::from(generator.next_u32()) / f64::from(u32::MAX))
            .sum::<f64>()
            - 6.0
    }

    #[test]
    fn four_of_five_executions_find_the_smallest_difference() {
        let mut generator = ChaCha8Rng::seed_from_u64(7);
        let (blocks, sides) = (6, 4);
        let known = Residual {
            deviation: 1.0,
            sides,
            blocks,
        };
        let truth = known.detectable(blocks);
        let found = (0..2000).filter(|_| {
            let mut rows: Vec<Vec<f64>> = (0..sides)
                .map(|_| (0..blocks).map(|_| normal(&mut generator)).collect())
                .collect();
            rows[1].iter_mut().for_each(|value| *value += truth);
            let spread = residual(&rows).expect("whole").deviation;
            let mean = |row: &[f64]| row.iter().sum::<f64>() / blocks as f64;
            let difference = mean(&rows[1]) - mean(&rows[0]);
            let freedom = ((sides - 1) * (blocks - 1)) as f64;
            difference > student(TEST, freedom) * spread * (2.0 / blocks as f64).sqrt()
        });
        let share = found.count() as f64 / 2000.0;
        assert!((0.77..0.83).contains(&share), "{share}");
    }
}
