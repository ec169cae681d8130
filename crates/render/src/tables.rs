//! The tables of a summary, metric by metric.

use crate::cell_list;
use crate::grid::Grid;
use crate::lines::Lines;
use crate::titles::title;
use bitcost_analysis::summary::Summary;
use bitcost_analysis::summary::tabled_metrics;

/// The tables of one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricTables {
    /// The metric's name.
    pub metric: String,
    /// Its name for people, with its unit and its better side.
    pub title: String,
    /// Each table, with the levels that are the same in all of it, if there are any.
    pub tables: Vec<(Option<String>, Lines)>,
}

/// The number of columns of a table for which a page has room.
pub const COLUMNS: usize = 12;

/// Every table that is shown, as words. A table has a row per cell if the study's own table would
/// have more than `columns` columns, or be mostly empty.
pub fn tables(summary: &Summary, columns: usize) -> Vec<MetricTables> {
    let is_listed = cell_list::is_needed(summary, columns);
    let of = |metric: &str| {
        let grids = || {
            Grid::all(summary, metric)
                .iter()
                .map(|grid| (grid.place(), grid.lines()))
                .collect()
        };
        let tables = if is_listed {
            cell_list::cell_tables(summary, metric)
        } else {
            grids()
        };
        MetricTables {
            metric: metric.to_owned(),
            title: title(metric),
            tables,
        }
    };
    tabled_metrics(summary).into_iter().map(of).collect()
}
