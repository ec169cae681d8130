//! A figure of a cell in words, with the number of runs that it comes from where that is not the
//! number of the cell's runs.

use bitcost_analysis::cells::CellSummary;

use crate::number;

/// `0.394 [0.380, 0.410]`, or `0.394 [0.380, 0.410] (2 of 5 runs)`; absent where no run has the
/// metric.
pub fn figure(cell: &CellSummary, name: &str) -> Option<String> {
    Some(number::interval(cell.figure(name)?) + &fewer_runs(cell, name))
}

/// `0.394`, with an asterisk where it comes from fewer runs than the cell has.
pub fn figure_marked(cell: &CellSummary, name: &str) -> Option<String> {
    let mark = match fewer_runs(cell, name).is_empty() {
        true => "",
        false => "*",
    };
    Some(number::plain(cell.figure(name)?.value) + mark)
}

fn fewer_runs(cell: &CellSummary, name: &str) -> String {
    match cell.spread(name) {
        Some(spread) if spread.count < cell.runs => {
            format!(" ({} of {} runs)", spread.count, cell.runs)
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use bitcost_stats::{Interval, spread};

    use super::*;

    #[test]
    fn a_figure_of_fewer_runs_says_so() {
        let interval = Interval::alone(0.5);
        let cell = |runs| CellSummary {
            levels: Vec::new(),
            runs,
            regimes: None,
            figures: vec![("x", interval)],
            spreads: vec![("x", spread(&[0.4, 0.6]).expect("two values"))],
            expected: Vec::new(),
            methods: Vec::new(),
            softirqs: Vec::new(),
            unattributed: Vec::new(),
            disturbed: 0,
            emulator_troubled: 0,
        };
        let plain = number::plain(0.5);
        assert_eq!(figure_marked(&cell(2), "x"), Some(plain.clone()));
        assert_eq!(figure_marked(&cell(5), "x"), Some(format!("{plain}*")));
        assert_eq!(figure(&cell(5), "y"), None);
    }
}
