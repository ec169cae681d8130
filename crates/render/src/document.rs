//! The document of an execution that `test`, `run` and `show` print as JSON and that a page holds: the types of
//! `analysis` as they are. Its schema is made of the same types (`bitcost studies schema result`).

use std::collections::BTreeMap;

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::compare::Comparison;
use bitcost_analysis::explain::{ExplainedCell, Warning};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::mesh::MeshFindings;
use bitcost_analysis::profile::Profiled;
use bitcost_analysis::summary::Summary;
use bitcost_model::event::{EndpointDescription, Event, Events};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::of_cells;
use crate::explained::{Bottleneck, Share};
use crate::export::{ExportError, Form, Input};
use crate::first_run::FirstRun;

pub(crate) const FORM: Form = Form {
    name: "json",
    help: "JSON",
    holds_caveats: true,
    export,
};

/// Version of the document, which is the same of `test`, `run` and `show`.
pub const FORMAT: u32 = 4;

/// The result of an execution. What has no value has no key.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    /// Version of this document.
    format: u32,
    /// Path of the log.
    log: Option<String>,
    /// Name of the study.
    study: &'a str,
    /// Its title.
    title: &'a str,
    /// Its question.
    question: &'a str,
    /// Number of runs with figures.
    runs: usize,
    /// Both hosts, by role.
    hosts: BTreeMap<&'static str, Host<'a>>,
    /// Every cell of the plan.
    cells: Vec<Cell<'a>>,
    /// What limited the execution: of a single cell as in its entry of `cells`, of several cells the
    /// limiters with the share of the cells that each limited.
    bottleneck: Option<Bottleneck>,
    /// What changes how the figures are read, a sentence each.
    caveats: Vec<&'a str>,
    /// What was found that can mislead, with its `cells` and what to do (`remedy`).
    #[schemars(with = "Option<Value>")]
    warnings: &'a [Warning],
    #[serde(flatten)]
    summary: &'a Summary,
    /// The comparison that the study makes, as `bitcost compare --format json` prints it.
    #[schemars(with = "Option<Value>")]
    comparison: Option<&'a Comparison>,
    /// Where the author's figures (`expected`) are from.
    expected_source: Option<&'a str>,
    /// Facts about runs of other programs: `run`, `tool`, `file`, `began_at`, all its
    /// `levels`, and `notes`.
    imported_runs: Option<Value>,
    /// Where the time goes, of runs that were profiled: for each of `cells` and each of its `ends` the
    /// `layers` in ns with bounds and share, their `sum`, and the time by the runs' own account
    /// (`accounted`).
    #[schemars(with = "Option<Value>")]
    profile: Option<&'a Profiled>,
    /// What makes the test faster or cheaper, of `bitcost improve`: `for`, `steps` with `limiter`,
    /// `change`, `rate` and `cost_us`, `not_kept`, `not_tried` and `end`.
    ladder: Option<Value>,
    /// What a mesh shows: `metric`, `pattern`, `outliers` with their differences in per cent, their scores and what limited
    /// them, the scores of all `hosts`, `different_settings`, and `missing` hosts.
    #[schemars(with = "Option<Value>")]
    mesh: Option<&'a MeshFindings>,
    /// What a search for fast options (`mode = "auto"`) found for each cell that asks for it.
    mode_search: Option<Value>,
    /// The raw records of every run with all samples (`--samples`): `run`, `sender`, `receiver`.
    records: Option<Vec<Value>>,
    /// Of a single cell, its first run.
    #[serde(flatten)]
    first_run: Option<FirstRun>,
}

/// The host of an endpoint.
#[derive(Serialize, JsonSchema)]
struct Host<'a> {
    /// Where the endpoint is on it, such as a network namespace.
    place: &'a str,
    /// Its name.
    host_name: &'a str,
    /// The boot's id, by which one sees that two endpoints are on one machine.
    boot_id: Option<&'a str>,
    /// Its kernel.
    kernel: &'a str,
    /// Its architecture.
    architecture: &'a str,
    /// The model of its CPUs.
    cpu_model: Option<&'a str>,
    /// Number of its CPUs.
    cpus: usize,
    /// The frequency governor.
    governor: Option<&'a str>,
    /// Its memory, in KiB.
    memory_kib: Option<u64>,
    /// Its interface: `name`, `driver`, `mtu_bytes`, `qdiscs`.
    device: Value,
    /// Version of bitcost there.
    bitcost_version: &'a str,
}

/// A cell, and what limited its runs.
#[derive(Serialize, JsonSchema)]
struct Cell<'a> {
    #[serde(flatten)]
    cell: &'a CellSummary,
    /// What limited its runs.
    bottleneck: Option<Bottleneck>,
}

pub fn schema() -> Value {
    schemars::schema_for!(Document).to_value()
}

impl<'a> Document<'a> {
    pub fn of(findings: &'a Findings) -> Document<'a> {
        let (summary, study) = (&findings.summary, &findings.summary.study);
        let cell = |(place, cell)| Cell {
            cell,
            bottleneck: bottleneck_of(findings, place),
        };
        let single = findings.single();
        let searches = &findings.searches;
        let path = findings.log.as_ref().map(|log| {
            let path = log.path.canonicalize();
            path.as_ref().unwrap_or(&log.path).display().to_string()
        });
        Document {
            format: FORMAT,
            log: path,
            study: &study.name,
            title: &study.title,
            question: &study.question,
            runs: summary.cells.iter().map(|cell| cell.runs).sum(),
            hosts: summary.ends.iter().map(host).collect(),
            cells: summary.cells.iter().enumerate().map(cell).collect(),
            bottleneck: bottleneck(findings),
            caveats: caveats(findings),
            warnings: &findings.explanation.warnings,
            summary,
            comparison: findings.comparison.as_ref(),
            expected_source: study.expect.as_ref().map(|of| &*of.source),
            imported_runs: summary.is_imported.then(|| imported(&*findings.events)),
            profile: findings.profiled.as_ref(),
            ladder: findings.ladder.as_ref().map(|ladder| json!(ladder)),
            mesh: findings.mesh.as_ref(),
            mode_search: (!searches.is_empty()).then(|| json!(searches)),
            records: None,
            first_run: single.map(|single| FirstRun::of(&single.first)),
        }
    }
}

fn caveats(findings: &Findings) -> Vec<&str> {
    let of_runs = match findings.summary.cells.len() {
        1 => findings.of_runs(|row| &row.caveats),
        _ => Vec::new(),
    };
    let caveats = findings.summary.caveats.iter().map(String::as_str);
    caveats.chain(of_runs).collect()
}

/// What limited a cell; of several cells with remedies in words alone.
fn bottleneck_of(findings: &Findings, place: usize) -> Option<Bottleneck> {
    let mut of = findings.limiter_of(place).and_then(Bottleneck::of)?;
    if findings.summary.cells.len() > 1 {
        of.remedies.clear();
    }
    Some(of)
}

fn bottleneck(findings: &Findings) -> Option<Bottleneck> {
    match &findings.explanation.cells[..] {
        [cell] => Bottleneck::of(cell),
        cells => Some(Bottleneck {
            of_cells: Some(of_cells(&findings.explanation)),
            shares: Some(Share::all(&ExplainedCell::shares_of(cells))),
            ..Bottleneck::default()
        }),
    }
}

/// An endpoint's role, and its place and host without the switches of its device.
fn host(end: &EndpointDescription) -> (&'static str, Host<'_>) {
    let (host, device) = (&end.host, &end.host.device);
    let host = Host {
        place: &end.place,
        host_name: &host.host_name,
        boot_id: host.boot_id.as_deref(),
        kernel: &host.kernel,
        architecture: &host.architecture,
        cpu_model: host.cpu_model.as_deref(),
        cpus: host.cpus.len(),
        governor: host.governor.as_deref(),
        memory_kib: host.memory_kib,
        device: json!({ "name": device.name, "driver": device.driver, "mtu_bytes": device.mtu_bytes, "qdiscs": device.qdiscs }),
        bitcost_version: &host.bitcost_version,
    };
    (end.role.name(), host)
}

/// Imported runs without their figures, which are in the cells and in the table of runs, and without intervals,
/// which are in the table of intervals.
fn imported(events: &dyn Events) -> Value {
    let mut entries = Vec::new();
    events.each(&|_| true, &mut |_, event| {
        let Event::RunImported { run, imported } = event else {
            return;
        };
        let mut entry = json!(imported);
        if let Some(fields) = entry.as_object_mut() {
            fields.retain(|name, _| name != "figures" && name != "intervals");
            fields.insert("run".to_owned(), json!(run));
            entries.push(entry);
        }
    });
    Value::Array(entries)
}

fn export(input: &Input) -> Result<String, ExportError> {
    let document = |findings: &Findings| {
        value(&Document {
            records: input.samples.then(|| records(findings)),
            ..Document::of(findings)
        })
    };
    let mut documents: Vec<Value> = input.executions.iter().map(document).collect();
    let all = match documents.len() {
        1 => documents.remove(0),
        _ => Value::Array(documents),
    };
    Ok(format!("{all:#}\n"))
}

/// The raw records of every shown run, with all samples.
fn records(findings: &Findings) -> Vec<Value> {
    let shown: Vec<u32> = findings.shown_runs().map(|row| row.run).collect();
    let mut found = Vec::new();
    findings.each_run(|row| shown.contains(&row.run), &mut |row, _, view| {
        let (run, sender, receiver) = (row.run, view.sender, view.receiver);
        found.push(json!({ "run": run, "sender": sender, "receiver": receiver }));
    });
    found
}

/// The document of an execution, in which absent values have no key.
pub fn json(findings: &Findings) -> Value {
    value(&Document::of(findings))
}

/// What a type of `analysis` is as JSON, in which absent values have no key.
pub fn value(of: &impl Serialize) -> Value {
    without_null(json!(of))
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let known = entries.into_iter().filter(|(_, value)| !value.is_null());
            known
                .map(|(key, value)| (key, without_null(value)))
                .collect()
        }
        Value::Array(items) => items.into_iter().map(without_null).collect(),
        plain => plain,
    }
}
