//! Every key of a study file and of a lab file: serde reads these tables, and the schema and the
//! reference page are made of them. What depends on other parts of the text is read `Later`.

use bitcost_model::shaping::DelayBackend;
use bitcost_model::topology::Napi;
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde_json::Value;

use crate::forms::{
    Blocks, CountsPct, FactorName, LabMtu, Later, Level, LinkMtu, Many, Map, Metric, Moderation,
    Number, OfFactors, PairPattern, Prefixed, Router, Subnet, Topology, WidthPct, Window, scalar,
};
use crate::picture::{Picture, names};
use crate::topology::ShapingTable;

/// A level of each factor that is named.
pub type Cell = OfFactors<Level>;

/// A list of levels of each factor that is named.
pub type LevelLists = OfFactors<Vec<Level>>;

/// The tables of a study, and two texts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "A study file")]
pub struct StudyTable {
    /// One line for lists of studies.
    pub title: Later<String>,
    /// The question that the study answers; the last screen and the report begin with it.
    pub question: Later<String>,
    /// The emulated network, for runs that name no hosts (default: `wire`).
    pub lab: Option<Later<LabTable>>,
    /// Many hosts of which pairs are measured; the pair of a run is its `sender` and its `receiver`.
    pub mesh: Option<Later<MeshTable>>,
    /// The settings that all cells share; [settings](settings.md) lists them.
    pub workload: Option<Later<Settings>>,
    /// What is varied; each combination of levels is a cell (default: one cell).
    pub factor: Option<Later<Vec<FactorTable>>>,
    /// A combination that is not run: two factors or more, each with a list of levels.
    pub leave_out: Option<Later<Vec<LevelLists>>>,
    /// How many runs there are, and how long they are.
    pub run: Option<Later<RunTable>>,
    /// What the tables show.
    pub table: Option<Later<TableTable>>,
    /// Two levels of a factor; the change from one to the other is reported with verdicts.
    pub compare: Option<Later<CompareTable>>,
    /// The sentence or two that answer the question (default: about the first metric of `[table]`).
    pub answer: Option<Later<Many<AnswerTable>>>,
    /// What the report shows.
    pub report: Option<Later<ReportTable>>,
    /// The figures of the document that asked the question, which are shown next to ours.
    pub expect: Option<Later<ExpectTable>>,
    /// A statement that is checked on the runs: pass, fail or cannot tell.
    pub check: Option<Later<Vec<CheckTable>>>,
}

/// The hosts of a mesh, and which pairs of them are measured.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[mesh]")]
pub struct MeshTable {
    /// The hosts: `local`, or names that ssh knows (default: all hosts of the lab).
    pub hosts: Option<Vec<String>>,
    /// A file with a host on each line, relative to the study, instead of `hosts`.
    pub file: Option<String>,
    /// Which pairs are measured (default: screen, which is four random matchings).
    pub pattern: Option<PairPattern>,
    /// The senders and receivers, instead of `pattern`: lines such as `n1 n2`, in a file or in a list.
    pub pairs: Option<Many<String>>,
    /// The network of `--kubernetes` in which pairs are measured: that of pods, or that of the nodes (default: pod).
    pub network: Option<ClusterNetwork>,
    /// Whether all pairs of a round are measured at once, which loads the network (default: false).
    pub concurrent: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ClusterNetwork {
    Pod,
    Host,
}

/// A property that is varied.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[[factor]]")]
pub struct FactorTable {
    /// Its name; that of a setting where levels are values of it.
    pub name: String,
    /// Its levels: values of the setting that is its name, or tables with a `label`, any settings, and optionally `about`, a sentence that says what the level means.
    #[schemars(extend("x-allowed" = "a list of values, or of tables with a `label`"))]
    pub levels: Later<Vec<LevelTable>>,
}

/// The number and the length of runs. A block is every cell once, in random order.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[run]")]
pub struct RunTable {
    /// Number of blocks; with `until_interval_pct` the minimum (default: 5; 1 of a mesh).
    pub blocks: Option<Blocks>,
    /// The lengths of the document that the study reproduces, for `--like-the-document`.
    pub like_the_document: Option<LengthTable>,
    /// Short lengths, for `--ci`.
    pub ci: Option<LengthTable>,
    /// Adds blocks until the 95 % intervals are narrower than this, in per cent of the figure: of each ratio that the study compares, or else of each cell's median.
    pub until_interval_pct: Option<WidthPct>,
    /// The metric of that interval (default: the first of the table, or throughput_mbps).
    pub until_metric: Option<Metric>,
    /// Maximum number of blocks for such a rule (default: 30).
    pub max_blocks: Option<Blocks>,
    /// Whether each run is made once more while the hosts' CPUs are sampled, as with `--profile` (default: false).
    pub profile: Option<bool>,
}

/// Other lengths of the same study.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "like_the_document and ci of [run]")]
pub struct LengthTable {
    /// Number of blocks.
    pub blocks: Blocks,
    /// Length of the measured window; this or `counts_pct` is there.
    pub duration_s: Option<Window>,
    /// Counts after which bounded runs end, in per cent of the study's.
    pub counts_pct: Option<CountsPct>,
}

/// The layout of the tables.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[table]")]
pub struct TableTable {
    /// The factor whose levels are rows (default: the first).
    pub rows: Option<FactorName>,
    /// The factor whose levels are columns (default: none; without `[table]` the second).
    pub columns: Option<FactorName>,
    /// The metrics, a table each (default: those that fit the workload).
    #[serde(default, deserialize_with = "names")]
    #[schemars(with = "Option<Vec<Metric>>", !default)]
    pub metrics: Vec<String>,
    /// A row that compares two levels of a factor.
    pub improvement: Option<Later<CompareTable>>,
}

/// Two levels that are compared: in `[table]` by a row of ratios, in `[compare]` with verdicts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[compare] and improvement of [table]")]
pub struct CompareTable {
    /// The factor.
    pub factor: FactorName,
    /// The level that is the reference.
    pub old: Level,
    /// The level that is compared with it.
    pub new: Level,
}

/// A sentence that answers the question, on the last screen and first in the report; at most two. A study with `--against` leaves it out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[answer] or [[answer]]")]
pub struct AnswerTable {
    /// The metric of its figures; of a list the sum is meant, such as the cost at both ends.
    pub metric: Many<Metric>,
    /// The cell that it is about: a level of each factor that varies.
    pub of: Cell,
    /// The cell that it is compared with.
    pub to: Option<Cell>,
    /// The sentence, with one or two places for figures: `{of}` and `{to}` are the medians of the cells, `{ratio}` is the first ÷ the second, as in `4.4 times`, whose interval stands under the answer. An absolute figure comes first. `{bottleneck}`: what limited `of`.
    pub words: String,
}

/// What the report shows.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[report]")]
pub struct ReportTable {
    /// The pictures, in order: a kind, or a table with the keys below (default: those that fit the runs).
    #[schemars(extend("x-allowed" = "a list of kinds and tables"))]
    pub pictures: Option<Later<Vec<PictureOrKind>>>,
}

/// Figures of the document.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[expect]")]
pub struct ExpectTable {
    /// Where the figures are from.
    pub source: String,
    /// `[[expect.cell]]`: a level of each factor, and the figure of each metric.
    #[schemars(extend("x-allowed" = "tables of levels and figures"))]
    pub cell: Option<Later<Vec<Cell>>>,
    /// `[[expect.improvement]]`: the document's own ratios, for `improvement` of `[table]`.
    #[schemars(extend("x-allowed" = "tables of levels and figures"))]
    pub improvement: Option<Later<Vec<Cell>>>,
}

/// A statement; all of its claims must hold.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[[check]]")]
pub struct CheckTable {
    /// The statement in words.
    pub statement: String,
    /// `[[check.claim]]`: a figure and its bounds.
    pub claim: Later<Vec<ClaimTable>>,
}

/// One figure, by one of the first three keys, and one of the last three as its bounds. It must hold at each level of a factor that it does not name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[[check.claim]]")]
pub struct ClaimTable {
    /// The median of a cell.
    pub value: Option<Cell>,
    /// The median of the first ÷ that of the second.
    pub ratio: Option<[Cell; 2]>,
    /// The median of the first − that of the second.
    pub difference: Option<[Cell; 2]>,
    /// The metric.
    pub metric: Metric,
    /// Both bounds.
    pub between: Option<[Number; 2]>,
    /// The lower bound.
    pub at_least: Option<Number>,
    /// The upper bound.
    pub at_most: Option<Number>,
}

/// An emulated network: that of a study, or one which `bitcost lab up` and `--topology` build.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[lab] or a lab file")]
pub struct LabTable {
    /// The lab that the other keys change: an embedded one (`bitcost lab presets`); in a study also the path of a lab file (.toml) or of a MiniEdit file (.mn), relative to the study.
    pub topology: Option<Topology>,
    /// Nodes that are hosts.
    pub hosts: Option<Vec<String>>,
    /// Nodes that are bridges.
    pub switches: Option<Vec<String>>,
    /// Nodes that forward IP.
    pub routers: Option<Vec<String>>,
    /// Nodes that play the hardware of network cards: they cut super-packets.
    pub wires: Option<Vec<String>>,
    /// A link between two nodes, with what it does in both directions.
    pub link: Option<Later<Vec<Link>>>,
    /// What leaves by one device: one direction of a link.
    pub egress: Option<Later<Map<ShapingTable>>>,
    /// The addresses of a device, such as `h1-eth0 = ["10.0.0.1/24"]` (default: the next free ones).
    pub addresses: Option<Map<Vec<Prefixed>>>,
    /// The routes of a node, such as `default = "10.0.0.254"` (default: by the first router, or the shortest path).
    pub routes: Option<Map<Map<Router>>>,
    /// Devices without generic receive offload.
    pub gro_off: Option<Vec<String>>,
    /// The network from which addresses are taken (default: 10.0.0.0/24).
    pub subnet: Option<Subnet>,
    /// Whether devices have addresses of IPv6 too (default: true).
    pub ipv6: Option<bool>,
    /// MTU of links that give none; with a lab file that `topology` names, of every link (default: 1500).
    pub mtu_bytes: Option<LabMtu>,
    /// Where hosts receive: in kernel threads, or inline in the sender's softirq (default: threaded).
    pub napi: Option<Napi>,
    /// What delays, loses, reorders and duplicates packets: the kernel's netem, or bitcost's own emulator (default: auto, which is netem where the kernel has it).
    pub delay_backend: Option<DelayBackend>,
    /// Interrupt moderation of interfaces that receive a stream.
    pub moderation: Option<Moderation>,
    /// In a study, the host that plays the sender (default: the first).
    pub sender: Option<String>,
    /// In a study, the host that plays the receiver (default: the next).
    pub receiver: Option<String>,
}

/// A link; in a study `[[lab.link]]`. It has the keys of `[egress.DEVICE]` too, for both directions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "[[link]]")]
pub struct LinkTable {
    /// The two nodes.
    pub ends: [String; 2],
    /// The names of the devices at both ends (default: NODE-ethN).
    pub devices: Option<[String; 2]>,
    /// MTU of this link (default: that of the lab).
    pub mtu_bytes: Option<LinkMtu>,
}

/// The settings that all cells share.
pub struct Settings;

/// A level of a factor: a value, or a table.
pub struct LevelTable;

pub struct PictureOrKind;

/// `[[link]]` with what it does to packets.
pub struct Link;

schemas! {
    Settings, _generator => json_schema!({
        "$ref": "#/definitions/settings", "x-allowed": "a table of settings"
    });
    LevelTable, _generator => json_schema!({ "anyOf": [scalar(), { "$ref": "#/definitions/level" }] });
    PictureOrKind, generator => json_schema!({
        "anyOf": [generator.subschema_for::<crate::PictureKind>(), Picture::json_schema(generator)]
    });
    Link, generator => {
        let mut schema = LinkTable::json_schema(generator);
        let shaping = ShapingTable::json_schema(generator);
        let shaping = shaping.get("properties").and_then(Value::as_object).cloned();
        if let Some(Value::Object(keys)) = schema.get_mut("properties") {
            keys.extend(shaping.into_iter().flatten());
        }
        schema
    };
}
