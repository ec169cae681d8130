//! The document of an execution that `test`, `run` and `show` print as JSON and that a page holds. Its
//! schema is made of these types (`bitcost studies schema result`).

use std::collections::BTreeMap;

use bitcost_analysis::cells::{CellSummary, ExcludedRun};
use bitcost_analysis::explain::{ExplainedCell, Regimes};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::{ImprovementSummary, Note};
use bitcost_model::event::EndpointDescription;
use bitcost_model::study::{LabSpec, Label};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::of_cells;
use crate::calibration::calibration_json;
use crate::comparison::comparison_json;
use crate::explained::{Bottleneck, Share};
use crate::first_run::FirstRun;
use crate::imported::imported_json;
use crate::improve::ladder_json;
use crate::mesh::mesh_json;
use crate::mode_search::searches_json;
use crate::single_run::intervals_json;
use crate::statements::statements_json;
use crate::stop_rule::stop_rule_json;
use crate::time_series::time_series_json;

/// Version of the document, which is the same of `test`, `run` and `show`. In version 2, that of a
/// test had other keys, and no other one had a bottleneck.
pub const FORMAT: u32 = 3;

/// The result of an execution. What has no value has no key.
#[derive(Serialize, JsonSchema)]
pub struct Document {
    /// Version of this document.
    format: u32,
    /// Version of bitcost that wrote the log.
    bitcost_version: String,
    /// Path of the log.
    log: Option<String>,
    /// Local time of the start, with offset (RFC 3339).
    began_at: String,
    /// The command line.
    command_line: Vec<String>,
    /// Name of the study.
    study: String,
    /// Its title.
    title: String,
    /// Its question.
    question: String,
    /// Seed of the order of runs.
    seed: u64,
    /// Planned blocks.
    blocks: u32,
    /// Number of runs with figures.
    runs: usize,
    /// The lab; absent between named hosts.
    lab: Option<Box<LabSpec>>,
    /// Both hosts, by role.
    hosts: BTreeMap<&'static str, Host>,
    /// Requests on the place that are not in effect, a sentence each.
    place_notes: Vec<String>,
    /// Every cell of the plan.
    cells: Vec<Cell>,
    /// What limited the execution: of a single cell as in its entry of `cells`, of several cells the
    /// limiters with the share of the cells that each limited.
    bottleneck: Option<Bottleneck>,
    /// What changes how the figures are read, a sentence each.
    caveats: Vec<String>,
    /// Requests that are not in effect, and other notes on the runs.
    notes: Vec<Note>,
    /// Runs that are in no cell.
    excluded: Vec<ExcludedRun>,
    /// Planned runs without a result that did not fail, by their place in the order, from 0.
    incomplete_runs: Vec<u32>,
    /// How much better one level of a factor is than another, where the study asks for that.
    improvements: Vec<Improvement>,
    /// The comparison that the study makes, as `bitcost compare --format json` prints it.
    comparison: Option<Value>,
    /// The document's statements and whether they hold.
    checks: Option<Value>,
    /// Where the author's figures (`expected`) are from.
    expected_source: Option<String>,
    /// The result of `--until-interval` or the study's stop rule.
    until_interval: Option<Value>,
    /// The result of `--blocks auto`.
    blocks_auto: Option<Value>,
    /// Each second of the middle run of each cell, where the study asks for it.
    time_series: Option<Vec<Value>>,
    /// The constants of the hosts, measured before the first run.
    host_constants: Option<Value>,
    /// What the path of the lab carried before the first run.
    calibration: Option<Value>,
    /// Facts about runs of other programs.
    imported_runs: Option<Value>,
    /// Where the time goes, of runs that were profiled: for each of `cells` and each of its `ends` the
    /// `layers` in ns with bounds and share, their `sum`, and the time by the runs' own account
    /// (`accounted`).
    profile: Option<Value>,
    /// What makes the test faster or cheaper, of `bitcost improve`: `for`, `steps` with `limiter`,
    /// `change`, `rate` and `cost_us`, `not_kept`, `not_tried` and `end`.
    ladder: Option<Value>,
    /// What a mesh shows: `metric`, `pattern`, `outliers` with their differences in per cent, their scores and what limited
    /// them, the scores of all `hosts`, `different_settings`, and `missing` hosts.
    mesh: Option<Value>,
    /// The search for fast options (`mode = "auto"`) of each cell that asks for it, with every trial.
    mode_search: Option<Value>,
    /// The raw records of every run with all samples (`--samples`): `run`, `sender`, `receiver`.
    records: Option<Vec<Value>>,
    /// Of a single run, the interval of each metric that has one within it.
    intervals: Option<Value>,
    /// Of a single cell, its first run.
    #[serde(flatten)]
    first_run: Option<FirstRun>,
}

/// The host of an endpoint.
#[derive(Serialize, JsonSchema)]
struct Host {
    /// Where the endpoint is on it, such as a network namespace.
    place: String,
    /// Its name.
    host_name: String,
    /// The boot's id, by which one sees that two endpoints are on one machine.
    boot_id: Option<String>,
    /// Its kernel.
    kernel: String,
    /// Its architecture.
    architecture: String,
    /// The model of its CPUs.
    cpu_model: Option<String>,
    /// Number of its CPUs.
    cpus: usize,
    /// The frequency governor.
    governor: Option<String>,
    /// Its memory, in KiB.
    memory_kib: Option<u64>,
    /// Its interface: `name`, `driver`, `mtu_bytes`, `qdiscs`.
    device: Value,
    /// Version of bitcost there.
    bitcost_version: String,
}

/// A cell: its levels, what limited it, and under the name of each metric its figure.
#[derive(Serialize, JsonSchema)]
struct Cell {
    /// The level of each factor.
    levels: BTreeMap<String, Label>,
    /// Number of runs that the figures come from.
    runs: usize,
    /// Both regimes in a sentence, where its runs had two; the figures are of the runs of the one that
    /// has more.
    regimes: Option<String>,
    /// What limited its runs.
    bottleneck: Option<Bottleneck>,
    /// The author's figures, by metric.
    expected: Option<BTreeMap<String, f64>>,
    /// How CPU time was attributed, and in how many runs.
    attribution: BTreeMap<&'static str, usize>,
    /// By which means the time of soft interrupts is known, and in how many runs.
    softirqs: Option<BTreeMap<&'static str, usize>>,
    /// Why CPU time was not attributed: `reason` and the number of `runs`.
    unattributed: Option<Vec<Value>>,
    /// The figure of each metric.
    #[serde(flatten)]
    figures: BTreeMap<&'static str, Figure>,
}

/// A figure of a cell. Bounds and spread are absent of a single run, which says nothing about them.
#[derive(Serialize, JsonSchema)]
struct Figure {
    /// The median of the runs.
    median: f64,
    /// The lower bound of its 95 % interval.
    low: Option<f64>,
    /// The upper bound of its 95 % interval.
    high: Option<f64>,
    /// Number of runs that have the metric.
    runs: Option<usize>,
    /// The mean of the runs.
    mean: Option<f64>,
    /// Their standard deviation.
    standard_deviation: Option<f64>,
    /// The least value.
    least: Option<f64>,
    /// The largest value.
    largest: Option<f64>,
}

/// How much better one level of a factor is than another, and under the name of each metric the
/// ratio.
#[derive(Serialize, JsonSchema)]
struct Improvement {
    /// The factor.
    factor: String,
    /// The old level.
    from: Label,
    /// The new level.
    to: Label,
    /// Levels of the other factors.
    levels: BTreeMap<String, Label>,
    /// The author's ratios, by metric.
    expected: Option<BTreeMap<String, f64>>,
    /// The ratio of each metric.
    #[serde(flatten)]
    figures: BTreeMap<&'static str, Ratio>,
}

/// A ratio of medians, above 1 where the new level is better.
#[derive(Serialize, JsonSchema)]
struct Ratio {
    /// The ratio.
    ratio: f64,
    /// The lower bound of its 95 % interval.
    low: Option<f64>,
    /// The upper bound of its 95 % interval.
    high: Option<f64>,
}

/// The JSON Schema of the document.
pub fn schema() -> Value {
    schemars::schema_for!(Document).to_value()
}

impl Document {
    /// The document of an execution.
    pub fn of(findings: &Findings) -> Document {
        let summary = &findings.summary;
        let precision = summary.precision.as_ref();
        let stop = |with_budget: bool| {
            let precision = precision.filter(|of| of.budget.is_some() == with_budget);
            precision.map(stop_rule_json)
        };
        let cells = summary.cells.iter().enumerate();
        let single = findings.single();
        let path = findings.log.as_ref().map(|log| {
            let path = log.path.canonicalize();
            path.as_ref().unwrap_or(&log.path).display().to_string()
        });
        Document {
            format: FORMAT,
            bitcost_version: summary.bitcost_version.clone(),
            log: path,
            began_at: summary.began_at.clone(),
            command_line: summary.command_line.clone(),
            study: summary.study.name.clone(),
            title: summary.study.title.clone(),
            question: summary.study.question.clone(),
            seed: summary.seed,
            blocks: summary.blocks,
            runs: summary.cells.iter().map(|cell| cell.runs).sum(),
            lab: summary.lab.clone(),
            hosts: summary.ends.iter().map(host).collect(),
            place_notes: summary.place_notes.clone(),
            cells: cells
                .map(|(place, one)| cell(one, findings.limiter_of(place)))
                .collect(),
            bottleneck: bottleneck(findings),
            caveats: caveats(findings),
            notes: summary.notes.clone(),
            excluded: summary.excluded.clone(),
            incomplete_runs: summary.incomplete.clone(),
            improvements: summary.improvements.iter().map(improvement).collect(),
            comparison: findings.comparison.as_ref().map(comparison_json),
            checks: some(&summary.checks).map(|checks| statements_json(checks)),
            expected_source: summary.study.expect.as_ref().map(|of| of.source.clone()),
            until_interval: stop(false),
            blocks_auto: stop(true),
            time_series: some(&summary.time_series)
                .map(|all| all.iter().map(time_series_json).collect()),
            host_constants: some(&summary.constants).map(|machines| json!(machines)),
            calibration: summary.calibration.as_deref().map(calibration_json),
            imported_runs: summary.is_imported.then(|| imported_json(&findings.events)),
            profile: findings.profiled.as_ref().map(|of| json!(of)),
            ladder: findings.ladder.as_ref().map(ladder_json),
            mesh: findings.mesh.as_ref().map(mesh_json),
            mode_search: some(&summary.searches).map(|searches| searches_json(searches)),
            records: None,
            intervals: single
                .filter(|_| findings.shown_runs().count() == 1)
                .map(|single| intervals_json(&single.first).into()),
            first_run: single.map(|single| FirstRun::of(&single.first)),
        }
    }
}

/// A list that is not empty.
fn some<T>(list: &Vec<T>) -> Option<&Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn caveats(findings: &Findings) -> Vec<String> {
    let of_runs = match findings.summary.cells.len() {
        1 => findings.of_runs(|row| &row.caveats),
        _ => Vec::new(),
    };
    let caveats = findings.summary.caveats.iter().map(String::as_str);
    caveats.chain(of_runs).map(str::to_owned).collect()
}

fn bottleneck(findings: &Findings) -> Option<Bottleneck> {
    match &findings.explanation.cells[..] {
        [cell] => Bottleneck::of(cell),
        cells => Some(Bottleneck {
            words: of_cells(&findings.explanation),
            shares: Some(Share::all(&ExplainedCell::shares_of(cells))),
            ..Bottleneck::default()
        }),
    }
}

/// An endpoint's role, and its place and host without the switches of its device.
fn host(end: &EndpointDescription) -> (&'static str, Host) {
    let (host, device) = (&end.host, &end.host.device);
    let host = Host {
        place: end.place.clone(),
        host_name: host.host_name.clone(),
        boot_id: host.boot_id.clone(),
        kernel: host.kernel.clone(),
        architecture: host.architecture.clone(),
        cpu_model: host.cpu_model.clone(),
        cpus: host.cpus.len(),
        governor: host.governor.clone(),
        memory_kib: host.memory_kib,
        device: json!({ "name": device.name, "driver": device.driver, "mtu_bytes": device.mtu_bytes, "qdiscs": device.qdiscs }),
        bitcost_version: host.bitcost_version.clone(),
    };
    (end.role.name(), host)
}

fn levels(levels: &[(String, Label)]) -> BTreeMap<String, Label> {
    levels.iter().cloned().collect()
}

fn expected(figures: &[(String, f64)]) -> Option<BTreeMap<String, f64>> {
    (!figures.is_empty()).then(|| figures.iter().cloned().collect())
}

fn cell(cell: &CellSummary, limiter: Option<&ExplainedCell>) -> Cell {
    let softirqs = cell.softirqs.iter();
    let unattributed = cell.unattributed.iter();
    let unattributed = unattributed.map(|(reason, runs)| json!({ "reason": reason, "runs": runs }));
    let unattributed: Vec<Value> = unattributed.collect();
    Cell {
        levels: levels(&cell.levels),
        runs: cell.runs,
        regimes: cell.regimes.as_ref().map(Regimes::sentence),
        bottleneck: limiter.and_then(Bottleneck::of),
        expected: expected(&cell.expected),
        attribution: cell
            .methods
            .iter()
            .map(|(method, runs)| (method.name(), *runs))
            .collect(),
        softirqs: (!cell.softirqs.is_empty()).then(|| {
            softirqs
                .map(|(means, runs)| (means.name(), *runs))
                .collect()
        }),
        unattributed: (!unattributed.is_empty()).then_some(unattributed),
        figures: cell
            .figures
            .iter()
            .map(|(name, interval)| (*name, figure(cell, name, interval)))
            .collect(),
    }
}

fn figure(cell: &CellSummary, name: &str, interval: &Interval) -> Figure {
    let spread = cell.spread(name);
    let several = spread.filter(|spread| spread.count > 1);
    Figure {
        median: interval.value,
        low: interval.low,
        high: interval.high,
        runs: spread.map(|spread| spread.count),
        mean: several.map(|spread| spread.mean),
        standard_deviation: several.and_then(|spread| spread.deviation),
        least: several.map(|spread| spread.least),
        largest: several.map(|spread| spread.largest),
    }
}

fn improvement(improvement: &ImprovementSummary) -> Improvement {
    let ratio = |interval: &Interval| Ratio {
        ratio: interval.value,
        low: interval.low,
        high: interval.high,
    };
    Improvement {
        factor: improvement.factor.clone(),
        from: improvement.from.clone(),
        to: improvement.to.clone(),
        levels: levels(&improvement.levels),
        expected: expected(&improvement.expected),
        figures: improvement
            .figures
            .iter()
            .map(|(name, interval)| (*name, ratio(interval)))
            .collect(),
    }
}
