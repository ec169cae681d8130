//! The history of executions: each series, its change points, and the points at which series change.

use bitcost_model::study::{Label, phrase};
use bitcost_model::units::counted;
use bitcost_stats::{ChangePoint, Interval, SIDE_LEAST, change_points, median};

use super::between::{differences, machine};
use super::error::{EXECUTIONS_LEAST, HistoryError};
use super::order::in_order;
use super::plans::factors_that_differ;
use super::series::{Places, cells, logarithms, medians, places};
use super::speed::{Cells, Speed, time};
use super::state::other_states;
use crate::compare::{SHARE_POINTS, Verdict, pct};
use crate::findings::Findings;
use crate::metrics::{Better, Metric};

/// One execution of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Its name.
    pub name: String,
    /// Local time of its start, with offset (RFC 3339).
    pub began_at: String,
    /// Why its values are not used for change points; absent where they are.
    pub left_out: Option<String>,
}

/// A metric of a cell over all executions.
#[derive(Clone, Debug)]
pub struct Series {
    /// The metric.
    pub metric: &'static Metric,
    /// The levels of the cell.
    pub levels: Vec<(String, Label)>,
    /// The median of each execution's runs, as measured; absent where it has none.
    pub medians: Vec<Option<Interval>>,
    /// Whether change points were looked for: the metric has a better side, enough executions have values, and all of
    /// these are above 0.
    pub is_judged: bool,
    /// Its changes, in order of time.
    pub changes: Vec<Shifted>,
}

/// A change of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Shifted {
    /// The number of the last used execution before it, and of the first after it, from 0.
    pub between: [usize; 2],
    /// The medians of the executions' medians before and after, as measured.
    pub medians: [f64; 2],
    /// The change at the same speed of the CPUs, in per cent.
    pub pct: Interval,
    /// The probability of a change point at least this clear in a series without one.
    pub chance: f64,
    /// Better or worse.
    pub verdict: Verdict,
}

/// Two executions between which series change.
#[derive(Clone, Debug)]
pub struct Point {
    /// The number of the last used execution before it, and of the first after it, from 0.
    pub between: [usize; 2],
    /// The series that change, as places in [`History::series`], and the changes' places in them.
    pub changes: Vec<(usize, usize)>,
    /// What the logs say that changed on the hosts and in the settings, a sentence each.
    pub differences: Vec<String>,
    /// What differs between the machines during the runs, a sentence each; empty where it is not the machine's state, absent
    /// where a log does not have it.
    pub machine: Option<Vec<String>>,
}

/// Executions of one plan in order of time.
#[derive(Clone, Debug)]
pub struct History {
    /// The executions.
    pub executions: Vec<Past>,
    /// The series, metric by metric.
    pub series: Vec<Series>,
    /// The points at which series change, in order of time.
    pub points: Vec<Point>,
    /// The slope of each metric's logarithm over that of the CPUs' time for a fixed loop; empty where a log lacks it.
    pub slopes: Vec<(&'static Metric, f64)>,
    /// The smallest change that counts, in per cent.
    pub threshold_pct: f64,
    /// What limits the history, a sentence each.
    pub remarks: Vec<String>,
}

impl Series {
    /// The levels in words; `all` where the study has one cell.
    pub fn cell(&self) -> String {
        match self.levels.is_empty() {
            true => "all".to_owned(),
            false => phrase(&self.levels),
        }
    }
}

impl History {
    /// The number of series in which change points were looked for.
    pub fn judged(&self) -> usize {
        self.series.iter().filter(|series| series.is_judged).count()
    }

    /// The number of executions that are used for change points.
    pub fn used(&self) -> usize {
        self.executions
            .iter()
            .filter(|one| one.left_out.is_none())
            .count()
    }

    /// The changes at a point with their series, the largest first.
    pub fn changes(&self, point: &Point) -> Vec<(&Series, &Shifted)> {
        let changes = point.changes.iter();
        let mut found: Vec<(&Series, &Shifted)> = changes
            .map(|(series, change)| {
                (
                    &self.series[*series],
                    &self.series[*series].changes[*change],
                )
            })
            .collect();
        found.sort_by(|(_, a), (_, b)| b.pct.value.abs().total_cmp(&a.pct.value.abs()));
        found
    }

    /// Whether most series change at a point.
    pub fn is_common(&self, point: &Point) -> bool {
        2 * point.changes.len() > self.judged()
    }

    /// The series whose last change is for the worse.
    pub fn worse(&self) -> Vec<(&Series, &Shifted)> {
        let last = |series: &'_ Series| {
            series
                .changes
                .last()
                .is_some_and(|last| last.verdict == Verdict::Worse)
        };
        let worse = self.series.iter().filter(|series| last(series));
        worse
            .filter_map(|series| Some((series, series.changes.last()?)))
            .collect()
    }
}

/// The history of these executions, in the order of the times at which they began, by these metrics of the cells of the
/// newest. A change of less than the threshold does not count.
///
/// # Errors
/// Fewer than 3 executions, one without a time, or without a cell of the newest.
pub fn history(
    executions: &[Findings],
    metrics: &[&'static Metric],
    threshold_pct: f64,
) -> Result<History, HistoryError> {
    if executions.len() < EXECUTIONS_LEAST {
        return Err(HistoryError::TooFew {
            given: executions.len(),
        });
    }
    let (ordered, mut remarks) = in_order(executions)?;
    let (places, alone) = places(&ordered);
    remarks.extend(in_common(&ordered, &places, &alone)?);
    let mut cells = cells(&ordered, &places);
    let left_out = other_states(&ordered, &cells);
    for (number, _) in left_out.iter().enumerate().filter(|(_, why)| why.is_some()) {
        cells.iter_mut().for_each(|cell| cell[number].clear());
    }
    let (has_speed, said) = speeds(&ordered, &cells);
    remarks.extend(said);
    let measured = Measured {
        executions: &ordered,
        places: &places,
        cells: &cells,
        has_speed,
    };
    let (series, slopes) = measured.series(metrics, threshold_pct);
    Ok(History {
        points: measured.points(&series),
        executions: ordered.iter().zip(left_out).map(past).collect(),
        series,
        slopes: if has_speed { slopes } else { Vec::new() },
        threshold_pct,
        remarks,
    })
}

fn past((execution, left_out): (&&Findings, Option<String>)) -> Past {
    Past {
        name: execution.name.clone(),
        began_at: execution.summary.began_at.clone(),
        left_out,
    }
}

/// A sentence for each execution whose cells are not those of the newest.
fn in_common(
    executions: &[&Findings],
    places: &Places,
    alone: &[usize],
) -> Result<Vec<String>, HistoryError> {
    let Some((newest, others)) = executions.split_last() else {
        return Ok(Vec::new());
    };
    let mut said = Vec::new();
    for (number, (other, alone)) in others.iter().zip(alone).enumerate() {
        let differ = || factors_that_differ(other, newest).join("; ");
        if places.iter().all(|of| of[number].is_none()) {
            return Err(HistoryError::NothingInCommon {
                name: other.name.clone(),
                newest: newest.name.clone(),
                why: differ(),
            });
        }
        if *alone > 0 {
            let (cells, why) = (counted(*alone, "cell"), differ());
            said.push(format!(
                "the plans of {} and {} differ, and {cells} that only one of them has are left out: {why}",
                other.name, newest.name
            ));
        }
    }
    Ok(said)
}

/// Whether all used executions have the speed of the CPUs, and a sentence where they do not.
fn speeds(executions: &[&Findings], cells: &[Cells]) -> (bool, Option<String>) {
    let lacks = |number: &usize| {
        let runs = cells.iter().flat_map(|cell| &cell[*number]);
        let times: Vec<bool> = runs.map(|run| time(run).is_some()).collect();
        !times.is_empty() && !times.contains(&true)
    };
    let mut without = (0..executions.len()).filter(lacks);
    let first = without.next();
    let said = first.map(|first| {
        format!(
            "{} of {} do not have the speed of the CPUs, the first: {}; no value is divided by it",
            1 + without.count(),
            counted(executions.len(), "log"),
            executions[first].name
        )
    });
    (first.is_none(), said)
}

/// What was measured: the executions in order, and their runs by the cells of the newest.
struct Measured<'a> {
    executions: &'a [&'a Findings],
    places: &'a Places,
    /// Without the runs of executions that are left out.
    cells: &'a [Cells<'a>],
    has_speed: bool,
}

/// A series before it is judged: the used executions that have a value, and the values.
type Unjudged = Option<(Vec<usize>, bitcost_stats::Series)>;

impl Measured<'_> {
    /// The series with their changes, and the slope of each metric over the time of the loop.
    fn series(
        &self,
        metrics: &[&'static Metric],
        threshold_pct: f64,
    ) -> (Vec<Series>, Vec<(&'static Metric, f64)>) {
        let (mut found, mut families, mut slopes) = (Vec::new(), Vec::new(), Vec::new());
        for metric in metrics {
            let speed = Speed::of(metric, self.cells, self.has_speed);
            slopes.push((*metric, speed.slope));
            let all = (0..self.cells.len()).filter_map(|cell| self.one(metric, cell, &speed));
            let (series, unjudged): (Vec<Series>, Vec<Unjudged>) = all.unzip();
            let judged = unjudged.iter().flatten();
            families.push(judged.map(|(_, series)| series.clone()).collect::<Vec<_>>());
            found.extend(series.into_iter().zip(unjudged));
        }
        let mut points = change_points(&families).into_iter().flatten();
        let judged = |(mut series, unjudged): (Series, Unjudged)| {
            if let Some((executions, _)) = unjudged {
                series.is_judged = true;
                let points = points.next().unwrap_or_default();
                series.changes = shifted(&series, &executions, &points, threshold_pct);
            }
            series
        };
        (found.into_iter().map(judged).collect(), slopes)
    }

    /// A series; absent where no execution has a value.
    fn one(
        &self,
        metric: &'static Metric,
        cell: usize,
        speed: &Speed,
    ) -> Option<(Series, Unjudged)> {
        let medians = medians(self.executions, &self.places[cell], metric);
        medians.iter().any(Option::is_some).then(|| {
            let values = logarithms((cell, &self.cells[cell]), &medians, metric, speed);
            let newest = self.executions[self.executions.len() - 1];
            let series = Series {
                metric,
                levels: newest.summary.cells[cell].levels.clone(),
                medians,
                is_judged: false,
                changes: Vec::new(),
            };
            let is_judged = |(executions, _): &(Vec<usize>, _)| {
                metric.has_better_side() && executions.len() >= 2 * SIDE_LEAST
            };
            (series, values.filter(is_judged))
        })
    }

    fn points(&self, series: &[Series]) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        for (number, one) in series.iter().enumerate() {
            for (place, change) in one.changes.iter().enumerate() {
                let changes = vec![(number, place)];
                match points
                    .iter_mut()
                    .find(|point| point.between == change.between)
                {
                    Some(point) => point.changes.extend(changes),
                    None => points.push(Point {
                        between: change.between,
                        changes,
                        differences: differences(self.executions, self.places, change.between),
                        machine: machine(self.executions, self.cells, change.between),
                    }),
                }
            }
        }
        points.sort_by_key(|point| point.between);
        points
    }
}

/// The change points of a series that reach the threshold; `executions` are those that have its values.
fn shifted(
    series: &Series,
    executions: &[usize],
    points: &[ChangePoint],
    threshold_pct: f64,
) -> Vec<Shifted> {
    let part = |place: usize| points.get(place).map_or(executions.len(), |point| point.at);
    let middle = |from: usize, to: usize| {
        let values = executions[from..to]
            .iter()
            .filter_map(|number| Some(series.medians[*number]?.value));
        median(&values.collect::<Vec<_>>())
    };
    let of = |(place, point): (usize, &ChangePoint)| {
        let from = place.checked_sub(1).map_or(0, part);
        let medians = [middle(from, point.at)?, middle(point.at, part(place + 1))?];
        let shift = point.shift.map(|value| pct(value.exp()));
        let is_small = series.metric.unit == "%" && (medians[1] - medians[0]).abs() < SHARE_POINTS;
        (shift.value.abs() >= threshold_pct && !is_small).then(|| Shifted {
            between: [executions[point.at - 1], executions[point.at]],
            medians,
            pct: shift,
            chance: point.chance,
            verdict: match (series.metric.better == Better::Higher) == (shift.value > 0.0) {
                true => Verdict::Better,
                false => Verdict::Worse,
            },
        })
    };
    points.iter().enumerate().filter_map(of).collect()
}
