//! A table of one metric, with the levels of one factor down, those of another across, and the
//! improvement at the edge.

use std::collections::HashSet;

use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::statistics::Interval;
use bitcost_model::study::Label;
use bitcost_study::Factor;

use crate::figure::figure;
use crate::lines::Lines;
use crate::number;
use bitcost_analysis::cells::has;
use bitcost_analysis::summary::Summary;

/// Factor and level, for each of the fixed factors.
type Levels = Vec<(String, Label)>;

/// What a grid shows.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    /// The cells' figures.
    Figures,
    /// The improvement along a factor that is neither down nor across.
    Improvement,
}

/// One line of a grid: our figures, or the author's.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Ours,
    Document,
}

/// A table of one metric at fixed levels of the factors that are neither down nor across.
pub(crate) struct Grid<'a> {
    summary: &'a Summary,
    metric: &'a str,
    fixed: Levels,
    content: Content,
    /// The labels down the table for which there is a cell.
    rows: Vec<&'a Label>,
    /// The labels across the table; a single `None` if no factor is across.
    columns: Vec<Option<&'a Label>>,
}

impl<'a> Grid<'a> {
    /// Every table of a metric that has cells: one per combination of the factors that are neither
    /// down nor across, and one more per combination if the study's improvement is along such a
    /// factor.
    pub fn all(summary: &'a Summary, metric: &'a str) -> Vec<Grid<'a>> {
        let table = &summary.study.table;
        let placed = |factor: &&Factor| {
            factor.name == table.rows || Some(&factor.name) == table.columns.as_ref()
        };
        let others: Vec<&Factor> = summary
            .study
            .factors
            .iter()
            .filter(|factor| !placed(factor))
            .collect();
        let grid = |fixed: Levels, content| {
            let rows = existing(summary, &fixed, &table.rows);
            let columns = table
                .columns
                .as_deref()
                .map(|columns| existing(summary, &fixed, columns));
            let columns =
                columns.map_or(vec![None], |labels| labels.into_iter().map(Some).collect());
            Grid {
                summary,
                metric,
                fixed,
                content,
                rows,
                columns,
            }
        };
        let mut grids: Vec<Grid> = combinations(&others)
            .into_iter()
            .map(|fixed| grid(fixed, Content::Figures))
            .collect();
        grids.retain(|grid| !grid.rows.is_empty());
        if let Some(improvement) = &table.improvement
            && others
                .iter()
                .any(|factor| factor.name == improvement.factor)
            && has_better_side(metric)
        {
            let rest: Vec<&Factor> = others
                .into_iter()
                .filter(|factor| factor.name != improvement.factor)
                .collect();
            grids.extend(
                combinations(&rest)
                    .into_iter()
                    .map(|fixed| grid(fixed, Content::Improvement)),
            );
        }
        grids
    }

    /// The fixed levels, for a line above the table; absent where nothing is fixed.
    pub fn place(&self) -> Option<String> {
        let mut parts: Vec<String> = self
            .fixed
            .iter()
            .map(|(factor, label)| format!("{factor} = {label}"))
            .collect();
        if self.content == Content::Improvement {
            parts.push(self.improvement_title());
        }
        (!parts.is_empty()).then(|| format!("{}:", parts.join(", ")))
    }

    /// The table's words, without their layout.
    pub fn lines(&self) -> Lines {
        let mut lines = Lines {
            header: self.header(),
            rows: Vec::new(),
        };
        for row in self.rows.iter().copied() {
            self.add_lines(&mut lines, &row.to_string(), |line| self.row(row, line));
        }
        if self.improvement_runs_along(Some(&self.summary.study.table.rows)) {
            self.add_lines(&mut lines, &self.improvement_title(), |line| {
                self.improvement_row(line)
            });
        }
        lines
    }

    fn add_lines(
        &self,
        lines: &mut Lines,
        name: &str,
        entries: impl Fn(Line) -> Vec<Option<String>>,
    ) {
        for (line, name) in [(Line::Ours, name), (Line::Document, "  document")] {
            let entries = entries(line);
            if line == Line::Document && entries.iter().all(Option::is_none) {
                continue;
            }
            let absent = if line == Line::Ours { "-" } else { "" };
            let texts = entries
                .into_iter()
                .map(|entry| entry.unwrap_or_else(|| absent.to_owned()));
            lines.rows.push((
                line == Line::Document,
                std::iter::once(name.to_owned()).chain(texts).collect(),
            ));
        }
    }

    fn header(&self) -> Vec<String> {
        let table = &self.summary.study.table;
        let unit = metric(self.metric).map_or("", |metric| metric.unit);
        let columns = self
            .columns
            .iter()
            .copied()
            .map(|column| column.map_or(unit.to_owned(), Label::to_string));
        let mut header: Vec<String> = std::iter::once(table.rows.clone()).chain(columns).collect();
        if self.improvement_is_column() {
            header.push(self.improvement_title());
        }
        header
    }

    fn row(&self, row: &Label, line: Line) -> Vec<Option<String>> {
        let mut entries: Vec<Option<String>> = self
            .columns
            .iter()
            .copied()
            .map(|column| self.entry(&self.at(row, column), line))
            .collect();
        if self.improvement_is_column() {
            entries.push(self.improvement(&self.at(row, None), line));
        }
        entries
    }

    fn improvement_row(&self, line: Line) -> Vec<Option<String>> {
        self.columns
            .iter()
            .copied()
            .map(|column| self.improvement(&self.across(column), line))
            .collect()
    }

    fn entry(&self, levels: &Levels, line: Line) -> Option<String> {
        if self.content == Content::Improvement {
            return self.improvement(levels, line);
        }
        let cell = self.summary.cell(levels)?;
        match line {
            Line::Ours => figure(cell, self.metric),
            Line::Document => cell.expected(self.metric).map(|value| value.to_string()),
        }
    }

    fn improvement(&self, levels: &Levels, line: Line) -> Option<String> {
        let improvement = self.summary.improvement(levels)?;
        match line {
            Line::Ours => {
                let of = |(name, ratio): &(&str, Interval)| {
                    (*name == self.metric).then(|| number::improvement(name, ratio))
                };
                improvement.figures.iter().find_map(of)
            }
            Line::Document => {
                let of = |(name, ratio): &(String, f64)| {
                    (name == self.metric).then(|| format!("×{}", number::plain(*ratio)))
                };
                improvement.expected.iter().find_map(of)
            }
        }
    }

    /// `improvement, 1024 → 8192`.
    fn improvement_title(&self) -> String {
        let improvement = self.summary.study.table.improvement.as_ref();
        improvement.map_or(String::new(), |asked| {
            format!("improvement, {} → {}", asked.from, asked.to)
        })
    }

    fn improvement_is_column(&self) -> bool {
        self.improvement_runs_along(self.summary.study.table.columns.as_ref())
    }

    fn improvement_runs_along(&self, factor: Option<&String>) -> bool {
        let asked = self
            .summary
            .study
            .table
            .improvement
            .as_ref()
            .map(|asked| &asked.factor);
        has_better_side(self.metric) && factor.is_some() && asked == factor
    }

    fn at(&self, row: &Label, column: Option<&Label>) -> Levels {
        let mut levels = self.across(column);
        levels.push((self.summary.study.table.rows.clone(), row.clone()));
        levels
    }

    fn across(&self, column: Option<&Label>) -> Levels {
        let factor = self.summary.study.table.columns.clone();
        self.fixed
            .iter()
            .cloned()
            .chain(factor.zip(column.cloned()))
            .collect()
    }
}

fn has_better_side(name: &str) -> bool {
    metric(name).is_some_and(Metric::has_better_side)
}

/// The labels of a factor for which there is a cell with these levels, in the study's order.
fn existing<'a>(summary: &'a Summary, fixed: &Levels, factor: &str) -> Vec<&'a Label> {
    let cells = summary.cells.iter().filter(|cell| has(&cell.levels, fixed));
    let there: HashSet<&Label> = cells
        .flat_map(|cell| &cell.levels)
        .filter(|(name, _)| name == factor)
        .map(|(_, label)| label)
        .collect();
    let levels = summary
        .study
        .factor(factor)
        .map_or(&[][..], |factor| &factor.levels);
    levels
        .iter()
        .map(|level| &level.label)
        .filter(|label| there.contains(label))
        .collect()
}

/// Every combination of the factors' levels, the first factor slowest; one empty combination where
/// there are none.
fn combinations(factors: &[&Factor]) -> Vec<Levels> {
    factors.iter().fold(vec![Levels::new()], |fixed, factor| {
        let extend = |levels: &Levels| {
            let longer = |label: &Label| {
                levels
                    .iter()
                    .cloned()
                    .chain([(factor.name.clone(), label.clone())])
                    .collect()
            };
            factor
                .levels
                .iter()
                .map(|level| longer(&level.label))
                .collect::<Vec<Levels>>()
        };
        fixed.iter().flat_map(extend).collect()
    })
}
