//! Many tests judged together: which of them hold where one false alarm among all of them must be rare.
//!
//! Holm's step-down procedure (S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
//! Statistics 6, 1979, pp. 65-70): whatever the tests have to do with each other, the probability that any of those that
//! are reported is false is at most the level.

/// For each test, given by its p-value, whether it holds among all of them at this level.
pub fn hold_together(chances: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut hold = vec![false; chances.len()];
    let left = (1..=chances.len()).rev();
    for (place, left) in order.into_iter().zip(left) {
        if chances[place] * left as f64 > level {
            break;
        }
        hold[place] = true;
    }
    hold
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_does_not_hold_ends_the_procedure() {
        // Holm's steps: 0.05 / 4, / 3, / 2, / 1.
        let hold = |chances: &[f64]| hold_together(chances, 0.05);
        assert_eq!(hold(&[0.01, 0.04, 0.03, 0.005]), [true, false, false, true]);
        assert_eq!(hold(&[0.013, 0.001, 0.02, 0.04]), [true, true, true, true]);
        assert_eq!(hold(&[0.02, 0.03]), [true, true]);
        assert_eq!(hold(&[0.03, 0.03]), [false, false]);
        assert_eq!(hold(&[]), [false; 0]);
    }
}
