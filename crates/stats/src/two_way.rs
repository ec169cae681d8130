//! A two-way model of values by a row and a column, fitted so that a few outlying values decide nothing: value = level +
//! effect of the row + effect of the column + residual, of an incomplete table (Huber's M-estimate, Huber and Ronchetti,
//! "Robust Statistics", 2009, 7.3, from Tukey's median polish).

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use statrs::distribution::{ContinuousCDF, StudentsT};

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

/// An effect of a row or a column: its distance from the median of all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowEffect {
    /// The effect.
    pub value: f64,
    /// The lower bound of its 95 % interval.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The two-sided p-value of no effect, not corrected for the number of effects.
    pub chance: f64,
}

/// A residual of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// The value without level and effects.
    pub value: f64,
    /// The two-sided p-value of none, not corrected for the number of entries.
    pub chance: f64,
}

/// What the model says.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoWay {
    /// The value where no effect is.
    pub level: f64,
    /// The effect of each row; absent where it has no value.
    pub rows: Vec<Option<RowEffect>>,
    /// The effect of each column.
    pub columns: Vec<Option<RowEffect>>,
    /// The residual of each entry.
    pub left: Vec<Left>,
    /// The standard deviation of residuals.
    pub deviation: f64,
    /// Their degrees of freedom.
    pub freedom: usize,
}

/// Residuals over this number of deviations have less weight; a normal one is over it with 18 %.
const HUBER: f64 = 1.345;

/// The precision of such an estimate with normal noise, in comparison with that of the mean.
const EFFICIENCY: f64 = 0.975;

/// Sweeps of a fit at most, and the change that ends it.
const SWEEPS: usize = 60;
const SMALL: f64 = 1e-9;

/// Tables of normal noise from which the precision of effects is computed.
const DRAWS: usize = 64;

/// The fewest degrees of freedom with which effects are judged.
const FREEDOM_LEAST: usize = 4;

/// Fits the model to entries of a table of this size. Deviations under `least` count as `least`. Absent where too few
/// entries are there to judge effects.
pub fn two_way(entries: &[Entry], [rows, columns]: [usize; 2], least: f64) -> Option<TwoWay> {
    let table = Table::new(entries, rows, columns);
    let used = table.rows.counts.iter().chain(&table.columns.counts);
    let parameters = used.filter(|count| **count > 0).count().checked_sub(1)?;
    let freedom = entries.len().checked_sub(parameters)?;
    if freedom < FREEDOM_LEAST {
        return None;
    }
    let spare = freedom as f64 / entries.len() as f64;
    let fit = table.robust(spare, least);
    let deviation = fit.deviation(spare, least);
    let [of_rows, of_columns] = table.precision();
    let student = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    let chance = |ratio: f64| 2.0 * student.sf(ratio.abs());
    let reach = student.inverse_cdf(0.975);
    let effects = |side: &Side, values: &[f64], precision: &[f64]| -> Vec<Option<RowEffect>> {
        let middle = median(&side.used(values)).unwrap_or_default();
        let effect = |place: usize| {
            let (value, error) = (values[place] - middle, deviation * precision[place]);
            (side.counts[place] > 0).then(|| RowEffect {
                value,
                low: value - reach * error,
                high: value + reach * error,
                chance: chance(value / error),
            })
        };
        (0..values.len()).map(effect).collect()
    };
    let middle = |side: &Side, values: &[f64]| median(&side.used(values)).unwrap_or_default();
    let error = deviation * spare.sqrt();
    Some(TwoWay {
        level: middle(&table.rows, &fit.rows) + middle(&table.columns, &fit.columns),
        rows: effects(&table.rows, &fit.rows, &of_rows),
        columns: effects(&table.columns, &fit.columns, &of_columns),
        left: fit
            .left
            .iter()
            .map(|value| Left {
                value: *value,
                chance: chance(value / error),
            })
            .collect(),
        deviation,
        freedom,
    })
}

/// Which of these p-values are significant at a level for all of them together (Holm 1979).
pub fn holm(chances: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut found = vec![false; chances.len()];
    for (rank, place) in order.into_iter().enumerate() {
        if chances[place] > level / (chances.len() - rank) as f64 {
            break;
        }
        found[place] = true;
    }
    found
}

/// One side of a table: the place of each entry, and how many each place has.
struct Side {
    places: Vec<usize>,
    counts: Vec<usize>,
}

impl Side {
    fn new(places: Vec<usize>, size: usize) -> Side {
        let mut counts = vec![0; size];
        places.iter().for_each(|place| counts[*place] += 1);
        Side { places, counts }
    }

    fn used(&self, values: &[f64]) -> Vec<f64> {
        let with_entries = values.iter().zip(&self.counts);
        with_entries
            .filter(|(_, count)| **count > 0)
            .map(|(value, _)| *value)
            .collect()
    }

    /// The weighted mean of the entries' values at each place.
    fn means(&self, values: &[f64], weights: &[f64]) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.counts.len()];
        for (place, (value, weight)) in self.places.iter().zip(values.iter().zip(weights)) {
            sums[*place].0 += weight * value;
            sums[*place].1 += weight;
        }
        sums.into_iter()
            .map(|(sum, weight)| if weight > 0.0 { sum / weight } else { 0.0 })
            .collect()
    }

    /// The median of the entries' values at each place.
    fn medians(&self, values: &[f64]) -> Vec<f64> {
        let mut of: Vec<Vec<f64>> = vec![Vec::new(); self.counts.len()];
        self.places
            .iter()
            .zip(values)
            .for_each(|(place, value)| of[*place].push(*value));
        of.iter()
            .map(|values| median(values).unwrap_or_default())
            .collect()
    }
}

struct Table {
    values: Vec<f64>,
    rows: Side,
    columns: Side,
}

/// Effects of rows and columns, and residuals.
struct Fit {
    rows: Vec<f64>,
    columns: Vec<f64>,
    left: Vec<f64>,
}

impl Table {
    fn new(entries: &[Entry], rows: usize, columns: usize) -> Table {
        Table {
            values: entries.iter().map(|entry| entry.value).collect(),
            rows: Side::new(entries.iter().map(|entry| entry.row).collect(), rows),
            columns: Side::new(entries.iter().map(|entry| entry.column).collect(), columns),
        }
    }

    /// What is left of values without the effects of one side.
    fn without(side: &Side, values: &[f64], effects: &[f64]) -> Vec<f64> {
        let places = side.places.iter().zip(values);
        places
            .map(|(place, value)| value - effects[*place])
            .collect()
    }

    /// Effects that are found side by side, each from what the other side leaves.
    fn swept(
        &self,
        values: &[f64],
        start: Vec<f64>,
        find: &dyn Fn(&Side, &[f64]) -> Vec<f64>,
    ) -> Fit {
        let (mut rows, mut columns) = (vec![0.0; self.rows.counts.len()], start);
        for _ in 0..SWEEPS {
            let before = columns.clone();
            rows = find(&self.rows, &Table::without(&self.columns, values, &columns));
            columns = find(&self.columns, &Table::without(&self.rows, values, &rows));
            let change = before
                .iter()
                .zip(&columns)
                .map(|(was, is)| (was - is).abs());
            if change.fold(0.0, f64::max) < SMALL {
                break;
            }
        }
        let left = Table::without(
            &self.rows,
            &Table::without(&self.columns, values, &columns),
            &rows,
        );
        Fit {
            rows,
            columns,
            left,
        }
    }

    /// The M-estimate.
    fn robust(&self, spare: f64, least: f64) -> Fit {
        let start = vec![0.0; self.columns.counts.len()];
        let mut fit = self.swept(&self.values, start, &|side, values| side.medians(values));
        for _ in 0..SWEEPS {
            let scale = fit.scale(spare, least);
            let weight = |left: &f64| (HUBER * scale / left.abs().max(SMALL)).min(1.0);
            let weights: Vec<f64> = fit.left.iter().map(weight).collect();
            let before = fit.left.clone();
            fit = self.swept(&self.values, fit.columns, &|side, values| {
                side.means(values, &weights)
            });
            let change = before
                .iter()
                .zip(&fit.left)
                .map(|(was, is)| (was - is).abs());
            if change.fold(0.0, f64::max) < scale * 1e-4 {
                break;
            }
        }
        fit
    }

    /// The standard errors of the effects of both sides where the deviation is 1: of those of as many entries, from
    /// tables of normal noise.
    fn precision(&self) -> [Vec<f64>; 2] {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let weights = vec![1.0; self.values.len()];
        let mut sums = [&self.rows, &self.columns].map(|side| vec![0.0; side.counts.len()]);
        for _ in 0..DRAWS {
            let noise: Vec<f64> = weights.iter().map(|_| normal(&mut random)).collect();
            let start = vec![0.0; self.columns.counts.len()];
            let fit = self.swept(&noise, start, &|side, values| side.means(values, &weights));
            for ((side, values), sums) in [(&self.rows, fit.rows), (&self.columns, fit.columns)]
                .into_iter()
                .zip(&mut sums)
            {
                let middle = median(&side.used(&values)).unwrap_or_default();
                sums.iter_mut()
                    .zip(&values)
                    .for_each(|(sum, value)| *sum += (value - middle).powi(2));
            }
        }
        let [rows, columns] = sums;
        [alike(&self.rows, &rows), alike(&self.columns, &columns)]
    }
}

/// The root of the mean square of the places with as many entries.
fn alike(side: &Side, sums: &[f64]) -> Vec<f64> {
    let of = |count: &usize| {
        let same = side
            .counts
            .iter()
            .zip(sums)
            .filter(|(other, _)| *other == count);
        let (number, sum) = same.fold((0, 0.0), |(number, sum), (_, one)| (number + 1, sum + one));
        (sum / (number * DRAWS) as f64).sqrt()
    };
    side.counts.iter().map(of).collect()
}

impl Fit {
    /// The deviation by the median of the residuals' distances from 0.
    fn scale(&self, spare: f64, least: f64) -> f64 {
        let distances: Vec<f64> = self.left.iter().map(|left| left.abs()).collect();
        let middle = median(&distances).unwrap_or_default();
        (1.4826 * middle / spare.sqrt()).max(least)
    }

    /// The deviation that the M-estimate's errors follow: Huber's proposal for their covariance.
    fn deviation(&self, spare: f64, least: f64) -> f64 {
        let scale = self.scale(spare, least);
        let most = HUBER * scale;
        let count = self.left.len() as f64;
        let squares: f64 = self
            .left
            .iter()
            .map(|left| left.clamp(-most, most).powi(2))
            .sum();
        let within = self.left.iter().filter(|left| left.abs() <= most).count() as f64 / count;
        // Huber's correction for the number of parameters, and the efficiency of the estimate with normal noise.
        let correction = (1.0 + (1.0 - spare) * (1.0 - within) / within.max(0.5)) / EFFICIENCY;
        (correction * (squares / (count * spare)).sqrt() / within.max(0.5)).max(least)
    }
}

/// A nearly normal value: the sum of 12 uniform ones, with a deviation of 1.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let mut unit = || f64::from(random.next_u32()) / f64::from(u32::MAX);
    (0..12).map(|_| unit()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A full table without its diagonal.
    fn table(effects: &[(f64, f64)], noise: f64, seed: u64) -> Vec<Entry> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let count = effects.len();
        let pairs = (0..count).flat_map(|row| (0..count).map(move |column| (row, column)));
        pairs
            .filter(|(row, column)| row != column)
            .map(|(row, column)| Entry {
                row,
                column,
                value: 5.0 + effects[row].0 + effects[column].1 + noise * normal(&mut random),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn exact_effects_are_found(effects in prop::collection::vec((-1.0..1.0f64, -1.0..1.0f64), 5..12), shift in -3.0..3.0f64) {
            let mut entries = table(&effects, 0.0, 1);
            entries.iter_mut().for_each(|entry| entry.value += shift);
            let size = [effects.len(); 2];
            let found = two_way(&entries, size, 1e-3).expect("enough entries");
            for (a, b) in [(0, 1), (2, 4)] {
                let row = |place: usize| found.rows[place].expect("a row").value;
                let column = |place: usize| found.columns[place].expect("a column").value;
                prop_assert!((row(a) - row(b) - (effects[a].0 - effects[b].0)).abs() < 1e-3);
                prop_assert!((column(a) - column(b) - (effects[a].1 - effects[b].1)).abs() < 1e-3);
            }
            prop_assert!(found.left.iter().all(|left| left.value.abs() < 1e-3));
        }

        #[test]
        fn the_order_of_entries_changes_nothing(seed in 0u64..50) {
            let entries = table(&[(0.0, 0.0); 8], 0.1, seed);
            let mut other = entries.clone();
            other.reverse();
            let [one, two] = [entries, other].map(|entries| two_way(&entries, [8, 8], 1e-3).expect("a fit"));
            for (a, b) in one.rows.iter().zip(&two.rows) {
                prop_assert!((a.expect("a row").value - b.expect("a row").value).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let (mut covered, mut all) = (0, 0);
        for seed in 0..40 {
            let found =
                two_way(&table(&[(0.0, 0.0); 10], 0.05, seed), [10, 10], 1e-4).expect("a fit");
            for effect in found.rows.iter().chain(&found.columns).flatten() {
                covered += u32::from(effect.low <= 0.0 && 0.0 <= effect.high);
                all += 1;
            }
        }
        let share = f64::from(covered) / f64::from(all);
        assert!((0.92..0.985).contains(&share), "{share}");
    }

    #[test]
    fn a_single_outlier_is_a_residual_and_no_effect() {
        let mut entries = table(&[(0.0, 0.0); 10], 0.02, 3);
        let odd = entries
            .iter()
            .position(|entry| (entry.row, entry.column) == (2, 7))
            .expect("an entry");
        entries[odd].value -= 2.0;
        let found = two_way(&entries, [10, 10], 1e-4).expect("a fit");
        assert!(found.left[odd].value < -1.8, "{:?}", found.left[odd]);
        let effects = found.rows.iter().chain(&found.columns).flatten();
        assert!(
            effects.clone().all(|effect| effect.value.abs() < 0.06),
            "{effects:?}"
        );
        let named = holm(
            &found
                .left
                .iter()
                .map(|left| left.chance)
                .collect::<Vec<_>>(),
            0.01,
        );
        assert_eq!(named.iter().filter(|is_named| **is_named).count(), 1);
    }

    #[test]
    fn too_few_entries_have_no_model() {
        assert_eq!(two_way(&[], [0, 0], 0.1), None);
        assert_eq!(two_way(&table(&[(0.0, 0.0); 3], 0.1, 1), [3, 3], 0.1), None);
    }

    #[test]
    fn holm_rejects_step_by_step() {
        assert_eq!(holm(&[0.04, 0.001, 0.02], 0.05), [true, true, true]);
        assert_eq!(holm(&[0.04, 0.001, 0.03], 0.05), [false, true, false]);
        assert_eq!(holm(&[], 0.05), [false; 0]);
    }
}
