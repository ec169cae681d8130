//! The median polish of a table: value = effect of the row + effect of the column + rest, found by medians alone, so that
//! a few outlying values decide nothing (Tukey, "Exploratory Data Analysis", 1977, chapter 11).

use crate::quantile::median;

/// A value of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// The value.
    pub value: f64,
}

/// How far something is from the median of all of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The difference, in the unit of the values.
    pub value: f64,
    /// The difference in robust standard deviations.
    pub score: f64,
}

/// A polished table.
#[derive(Clone, Debug, PartialEq)]
pub struct Polished {
    /// Each row; absent where it has no value.
    pub rows: Vec<Option<Score>>,
    /// Each column.
    pub columns: Vec<Option<Score>>,
    /// The rest of each entry.
    pub left: Vec<Score>,
}

/// How often rows and columns are swept.
const SWEEPS: usize = 10;

/// The fewest degrees of freedom with which something is judged.
const FREEDOM_LEAST: usize = 4;

/// The median absolute deviation of normal noise × this is its standard deviation.
const NORMAL: f64 = 1.4826;

/// The standard error of the median of many normal values, where that of their mean is 1.
const OF_MEDIAN: f64 = 1.2533;

/// Polishes entries of a table of this size. Deviations under `least` count as `least`. Absent where too few entries are
/// there to judge rows and columns.
pub fn polished(entries: &[Entry], [rows, columns]: [usize; 2], least: f64) -> Option<Polished> {
    let mut left: Vec<f64> = entries.iter().map(|entry| entry.value).collect();
    let mut effects = [vec![0.0; rows], vec![0.0; columns]];
    let places = [
        entries.iter().map(|entry| entry.row).collect::<Vec<_>>(),
        entries.iter().map(|entry| entry.column).collect(),
    ];
    for _ in 0..SWEEPS {
        for (effects, places) in effects.iter_mut().zip(&places) {
            let mut of = vec![Vec::new(); effects.len()];
            for (place, left) in places.iter().zip(&left) {
                of[*place].push(*left);
            }
            let middles: Vec<f64> = of.iter().map(|of| median(of).unwrap_or_default()).collect();
            effects
                .iter_mut()
                .zip(&middles)
                .for_each(|(effect, middle)| *effect += middle);
            places
                .iter()
                .zip(&mut left)
                .for_each(|(place, left)| *left -= middles[*place]);
        }
    }
    let counts = [0, 1].map(|side| {
        let mut counts = vec![0_usize; effects[side].len()];
        places[side].iter().for_each(|place| counts[*place] += 1);
        counts
    });
    let used = counts.iter().flatten().filter(|count| **count > 0).count();
    let freedom = entries.len().checked_sub(used.checked_sub(1)?)?;
    if freedom < FREEDOM_LEAST {
        return None;
    }
    // Effects take a part of the noise: what is left has less of it than a run.
    let noise = deviation(&left) / (freedom as f64 / entries.len() as f64).sqrt();
    let noise = noise.max(least);
    let side = |effects: &[f64], counts: &[usize]| -> Vec<Option<Score>> {
        let both = effects.iter().zip(counts);
        let known: Vec<f64> = both
            .clone()
            .filter(|(_, count)| **count > 0)
            .map(|(effect, _)| *effect)
            .collect();
        let (middle, spread) = (
            median(&known).unwrap_or_default(),
            deviation(&known).max(least),
        );
        let of = |(effect, count): (&f64, &usize)| {
            let error = OF_MEDIAN * noise / (*count as f64).sqrt();
            let value = effect - middle;
            (*count > 0).then(|| Score {
                value,
                score: value / spread.max(error),
            })
        };
        both.map(of).collect()
    };
    Some(Polished {
        rows: side(&effects[0], &counts[0]),
        columns: side(&effects[1], &counts[1]),
        left: left
            .iter()
            .map(|value| Score {
                value: *value,
                score: value / noise,
            })
            .collect(),
    })
}

/// The standard deviation of normal noise, of which some values are none.
fn deviation(values: &[f64]) -> f64 {
    let middle = median(values).unwrap_or_default();
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    NORMAL * median(&distances).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole table without its diagonal, whose noise is a sequence of period 7.
    fn table(size: usize, slow_row: f64, slow_entry: f64) -> Vec<Entry> {
        let all = (0..size).flat_map(|row| (0..size).map(move |column| (row, column)));
        let entry = |(row, column): (usize, usize)| {
            let noise = ((3 * row + 5 * column) % 7) as f64 / 100.0;
            let of_row = if row == 2 { slow_row } else { 0.0 };
            let own = if (row, column) == (4, 1) {
                slow_entry
            } else {
                0.0
            };
            Entry {
                row,
                column,
                value: 5.0 + noise + of_row + own,
            }
        };
        all.filter(|(row, column)| row != column)
            .map(entry)
            .collect()
    }

    #[test]
    fn a_row_and_an_entry_that_are_less_have_a_low_score_and_nothing_else_has() {
        let entries = table(8, -0.5, -0.8);
        let found = polished(&entries, [8, 8], 0.001).expect("enough entries");
        let row = found.rows[2].expect("a row");
        assert!((row.value + 0.5).abs() < 0.03 && row.score < -8.0);
        let others = found.rows.iter().enumerate().filter(|(row, _)| *row != 2);
        let others = others.filter_map(|(_, score)| *score);
        let others = others.chain(found.columns.iter().flatten().copied());
        assert!(others.clone().all(|other| other.score.abs() < 4.0));
        let lowest = found
            .left
            .iter()
            .zip(&entries)
            .min_by(|a, b| a.0.score.total_cmp(&b.0.score));
        let (lowest, entry) = lowest.expect("an entry");
        assert_eq!((entry.row, entry.column), (4, 1));
        assert!((lowest.value + 0.8).abs() < 0.05 && lowest.score < -8.0);
    }

    #[test]
    fn too_few_entries_are_not_judged_and_an_empty_row_has_no_score() {
        assert_eq!(polished(&[], [0, 0], 0.1), None);
        assert_eq!(polished(&table(3, 0.0, 0.0), [3, 3], 0.1), None);
        let found = polished(&table(6, 0.0, 0.0), [7, 6], 0.1).expect("enough entries");
        assert_eq!((found.rows.len(), found.rows[6]), (7, None));
        assert!(found.rows[0].is_some_and(|row| row.score.abs() < 1.0));
    }
}
