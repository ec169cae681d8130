//! The tables of keys.

use bitcost_model::shaping::DelayBackend;

use super::key::{Form, Key, Table};
use crate::answer::SENTENCES_MOST;
use crate::definition::BLOCKS_MOST;
use crate::mesh::{Mesh, Pattern};
use crate::picture::{Bars, PictureKind, Scale};
use crate::topology::{BYTES, LIMIT, MODERATION, RATE, SHARE, TIME};

const fn key(name: &'static str, form: Form, about: &'static str) -> Key {
    Key {
        name,
        form,
        is_required: false,
        about,
    }
}

const fn required(name: &'static str, form: Form, about: &'static str) -> Key {
    Key {
        is_required: true,
        ..key(name, form, about)
    }
}

/// Keys of a table, one in a line.
macro_rules! keys {
    ($($kind:ident($name:literal, $form:expr, $about:literal);)*) => {
        &[$($kind($name, $form, $about)),*]
    };
}

const BLOCKS: Form = Form::Whole(1, BLOCKS_MOST, &[]);
const NAPI: Form = Form::Words(|| vec!["threaded", "inline"]);
const BACKEND: Form = Form::Words(|| DelayBackend::NAMES.to_vec());
const SHAPERS: Form = Form::Words(|| vec!["tbf", "htb"]);
const BARS: Form = Form::Words(|| Bars::NAMES.to_vec());
const SCALE: Form = Form::Words(|| Scale::NAMES.to_vec());
const KIND: Form = Form::Words(|| PictureKind::NAMES.to_vec());

pub(crate) const STUDY: Table = Table {
    title: "A study file",
    about: "The tables of a study, and two texts.",
    keys: keys! {
        required("title", Form::TEXT, "One line for lists of studies.");
        required("question", Form::TEXT, "The question that the study answers; the last screen and the report begin with it.");
        key("lab", Form::Table(&LAB), "The emulated network, for runs that name no hosts (default: `wire`).");
        key("mesh", Form::Table(&MESH), "Many hosts of which pairs are measured; the pair of a run is its `sender` and its `receiver`.");
        key("workload", Form::SETTINGS, "The settings that all cells share; [settings](settings.md) lists them.");
        key("factor", Form::List(&FACTOR), "What is varied; each combination of levels is a cell (default: one cell).");
        key("leave_out", Form::LEVEL_LISTS, "A combination that is not run: two factors or more, each with a list of levels.");
        key("run", Form::Table(&RUN), "How many runs there are, and how long they are.");
        key("table", Form::Table(&TABLE), "What the tables show.");
        key("compare", Form::Table(&COMPARE), "Two levels of a factor; the change from one to the other is reported with verdicts.");
        key("answer", Form::OneOrList(&ANSWER, SENTENCES_MOST), "The sentence or two that answer the question (default: made of the figures).");
        key("report", Form::Table(&REPORT), "What the report shows.");
        key("expect", Form::Table(&EXPECT), "The figures of the document that asked the question, which are shown next to ours.");
        key("check", Form::List(&CHECK), "A statement that is checked on the runs: pass, fail or cannot tell.");
    },
};

/// The keys that a lab file and `[lab]` share.
macro_rules! lab_keys {
    ($($more:tt)*) => {
        keys! {
            key("topology", Form::Topology, "The lab that the other keys change: an embedded one (`bitcost lab presets`); in a study also the path of a lab file (.toml) or of a MiniEdit file (.mn), relative to the study.");
            key("size", Form::Whole(1, 999_999, &[]), "Pairs of hosts of `dumbbell`, or hosts of `star`.");
            key("hosts", Form::NAMES, "Nodes that are hosts.");
            key("switches", Form::NAMES, "Nodes that are bridges.");
            key("routers", Form::NAMES, "Nodes that forward IP.");
            key("wires", Form::NAMES, "Nodes that play the hardware of network cards: they cut super-packets.");
            key("link", Form::List(&LINK), "A link between two nodes, with what it does in both directions.");
            key("egress", Form::Tables(&SHAPING), "What leaves by one device: one direction of a link.");
            key("addresses", Form::NAMED_LISTS, "The addresses of a device, such as `h1-eth0 = [\"10.0.0.1/24\"]` (default: the next free ones).");
            key("routes", Form::NAMED_TABLES, "The routes of a node, such as `default = \"10.0.0.254\"` (default: by the first router, or the shortest path).");
            key("gro_off", Form::NAMES, "Devices without generic receive offload.");
            key("subnet", Form::quantity("a network of IPv4 such as \"10.0.0.0/8\""), "The network from which addresses are taken (default: 10.0.0.0/8).");
            key("ipv6", Form::SWITCH, "Whether devices have addresses of IPv6 too (default: true).");
            key("mtu_bytes", Form::Whole(576, 65_535, &[]), "MTU of links that give none; with a lab file that `topology` names, of every link (default: 1500).");
            key("napi", NAPI, "Where hosts receive: in kernel threads, or inline in the sender's softirq (default: threaded).");
            key("delay_backend", BACKEND, "What delays, loses, reorders and duplicates packets: the kernel's netem, or bitcost's own emulator (default: auto, which is netem where the kernel has it).");
            key("moderation", Form::quantity(MODERATION), "Interrupt moderation of interfaces that receive a stream.");
            $($more)*
        }
    };
}

pub(crate) const LAB_FILE: Table = Table {
    title: "A lab file",
    about: "An emulated network, which `bitcost lab up` and `--topology` build.",
    keys: lab_keys! {},
};

/// A study's `[lab]`.
pub(crate) const LAB: Table = Table {
    title: "[lab]",
    about: "The lab of a study: the keys of a lab file, and the hosts that play the endpoints.",
    keys: lab_keys! {
        key("sender", Form::TEXT, "The host that plays the sender (default: the first).");
        key("receiver", Form::TEXT, "The host that plays the receiver (default: the next).");
    },
};

/// The keys that shape a link or a direction of it.
macro_rules! shaping_keys {
    ($($more:tt)*) => {
        keys! {
            $($more)*
            key("rate", Form::quantity(RATE), "Limits the bits of frames (default: no limit).");
            key("burst", Form::quantity(BYTES), "Bytes that may leave at once (default: 4 ms of the rate, at least 128 KiB).");
            key("shaper", SHAPERS, "The queueing discipline that keeps a rate without delay (default: tbf).");
            key("delay", Form::quantity(TIME), "Time by which each packet is delayed (default: none).");
            key("jitter", Form::quantity(TIME), "Delays are from delay − jitter to delay + jitter, uniformly (default: none).");
            key("loss", Form::quantity(SHARE), "Share of packets that are dropped (default: none).");
            key("reorder", Form::quantity(SHARE), "Share of packets that are sent without the delay (default: none).");
            key("duplicate", Form::quantity(SHARE), "Share of packets that are sent twice (default: none).");
            key("queue_limit", Form::quantity(LIMIT), "Maximum queue length, delayed packets included (default: 1000 packets where packets are delayed).");
        }
    };
}

pub(crate) const LINK: Table = Table {
    title: "[[link]]",
    about: "A link; in a study `[[lab.link]]`. Every quantity has a unit.",
    keys: shaping_keys! {
        required("ends", Form::TWO_NAMES, "The two nodes.");
        key("devices", Form::TWO_NAMES, "The names of the devices at both ends (default: NODE-ethN).");
        key("mtu_bytes", Form::Whole(68, 65_535, &[]), "MTU of this link (default: that of the lab).");
    },
};

pub(crate) const SHAPING: Table = Table {
    title: "[egress.DEVICE]",
    about: "What leaves by a device; in a study `[lab.egress.DEVICE]`. Every quantity has a unit.",
    keys: shaping_keys! {},
};

pub(crate) const MESH: Table = Table {
    title: "[mesh]",
    about: "The hosts of a mesh, and which pairs of them are measured.",
    keys: keys! {
        key("hosts", Form::NAMES, "The hosts: `local`, or names that ssh knows (default: all hosts of the lab).");
        key("file", Form::TEXT, "A file with a host on each line, relative to the study, instead of `hosts`.");
        key("pattern", Form::quantity(Pattern::ALLOWED), "Which pairs are measured (default: screen, which is four random matchings).");
        key("pairs", Form::FILE_OR_LINES, "The senders and receivers, instead of `pattern`: lines such as `n1 n2`, in a file or in a list.");
        key("network", Form::quantity(Mesh::NETWORKS), "The network of `--kubernetes` in which pairs are measured: that of pods, or that of the nodes (default: pod).");
        key("concurrent", Form::SWITCH, "Whether all pairs of a round are measured at once, which loads the network (default: false).");
    },
};

pub(crate) const FACTOR: Table = Table {
    title: "[[factor]]",
    about: "A property that is varied.",
    keys: keys! {
        required("name", Form::TEXT, "Its name; that of a setting where levels are values of it.");
        required("levels", Form::FACTOR_LEVELS, "Its levels: values of the setting that is its name, or tables with a `label`, any settings, and optionally `about`, a sentence that says what the level means.");
    },
};

pub(crate) const RUN: Table = Table {
    title: "[run]",
    about: "The number and the length of runs. A block is every cell once, in random order.",
    keys: keys! {
        key("blocks", Form::Whole(1, BLOCKS_MOST, &["auto"]), "Number of blocks; `auto`: until the intervals are narrow enough (default: 5; 1 of a mesh).");
        key("like_the_document", Form::Table(&LENGTHS), "The lengths of the document that the study reproduces, for `--like-the-document`.");
        key("ci", Form::Table(&LENGTHS), "Short lengths, for `--ci`.");
        key("until_interval_pct", Form::Share(100.0), "Adds blocks until the 95 % interval is narrower than this share of the median, in per cent.");
        key("until_metric", Form::METRIC, "The metric of that interval (default: throughput_mbps).");
        key("max_blocks", BLOCKS, "Maximum number of blocks for such a rule (default: 30).");
        key("budget_s", Form::Share(f64::INFINITY), "Maximum time in seconds with `blocks = \"auto\"` (default: four times those of the study's own blocks).");
        key("profile", Form::SWITCH, "Whether each run is made once more while the hosts' CPUs are sampled, as with `--profile` (default: false).");
    },
};

pub(crate) const LENGTHS: Table = Table {
    title: "like_the_document and ci of [run]",
    about: "Other lengths of the same study.",
    keys: keys! {
        required("blocks", BLOCKS, "Number of blocks.");
        key("duration_s", Form::Setting("duration_s"), "Length of the measured window; this or `counts_pct` is there.");
        key("counts_pct", Form::Whole(1, 10_000, &[]), "Counts after which bounded runs end, in per cent of the study's.");
    },
};

pub(crate) const TABLE: Table = Table {
    title: "[table]",
    about: "The layout of the tables.",
    keys: keys! {
        key("rows", Form::FACTOR, "The factor whose levels are rows (default: the first).");
        key("columns", Form::FACTOR, "The factor whose levels are columns (default: none; without [table] the second).");
        key("metrics", Form::METRICS, "The metrics, a table each (default: those that fit the workload).");
        key("improvement", Form::Table(&IMPROVEMENT), "A row that compares two levels of a factor.");
        key("each_second", Form::SWITCH, "Whether the middle run of each cell is shown second by second (default: false).");
    },
};

pub(crate) const IMPROVEMENT: Table = Table {
    title: "improvement of [table]",
    about: "How much better one level is than another.",
    keys: keys! {
        required("factor", Form::FACTOR, "The factor.");
        required("from", Form::LEVEL, "The level that is improved upon.");
        required("to", Form::LEVEL, "The level that improves.");
    },
};

pub(crate) const COMPARE: Table = Table {
    title: "[compare]",
    about: "Two levels whose difference is reported, with verdicts.",
    keys: keys! {
        required("factor", Form::FACTOR, "The factor.");
        required("old", Form::LEVEL, "The level that is the reference.");
        required("new", Form::LEVEL, "The level whose change from the reference is reported.");
    },
};

pub(crate) const ANSWER: Table = Table {
    title: "[answer] or [[answer]]",
    about: "A sentence that answers the question, on the last screen and first in the report; at most two. A study with `--against` leaves it out.",
    keys: keys! {
        required("metric", Form::METRIC_OR_METRICS, "The metric of its figures; of a list the sum is meant, such as the cost at both ends.");
        required("of", Form::CELL, "The cell that it is about: a level of each factor that varies.");
        key("to", Form::CELL, "The cell that it is compared with.");
        required("words", Form::TEXT, "The sentence, with one or two places for figures: `{of}` and `{to}` are the medians of the cells, `{ratio}` is the first ÷ the second, as in `4.4 times`, whose 95 % interval ends the sentence. An absolute figure comes first.");
    },
};

pub(crate) const REPORT: Table = Table {
    title: "[report]",
    about: "What the report shows.",
    keys: keys! {
        key("answer", Form::METRICS, "One to three metrics that its text is about, the most important first (default: the first that are shown).");
        key("pictures", Form::PICTURES, "The pictures, in order: a kind, or a table with the keys below (default: those that fit the runs).");
    },
};

pub(crate) const PICTURE: Table = Table {
    title: "A picture of [report]",
    about: "One picture. `bars`, `x` and `y` are of a `curve`.",
    keys: keys! {
        required("kind", KIND, "Its kind.");
        key("title", Form::TEXT, "Text before its own title, such as the number of the document's figure.");
        key("of", Form::CELLS, "The levels that are shown (default: all).");
        key("metrics", Form::METRICS, "The metrics, a picture each (default: those of the tables).");
        key("bars", BARS, "The bars of a curve: the median's interval, or the least and the largest run (default: interval).");
        key("x", SCALE, "The scale of the horizontal axis of a curve (default: as fits).");
        key("y", SCALE, "The scale of its vertical axis (default: as fits).");
    },
};

pub(crate) const EXPECT: Table = Table {
    title: "[expect]",
    about: "Figures of the document.",
    keys: keys! {
        required("source", Form::TEXT, "Where the figures are from.");
        key("cell", Form::FIGURE_LISTS, "`[[expect.cell]]`: a level of each factor, and the figure of each metric.");
        key("improvement", Form::FIGURE_LISTS, "`[[expect.improvement]]`: the document's own ratios, for `improvement` of [table].");
    },
};

pub(crate) const CHECK: Table = Table {
    title: "[[check]]",
    about: "A statement; all of its claims must hold.",
    keys: keys! {
        required("statement", Form::TEXT, "The statement in words.");
        required("claim", Form::List(&CLAIM), "`[[check.claim]]`: a figure and its bounds.");
    },
};

pub(crate) const CLAIM: Table = Table {
    title: "[[check.claim]]",
    about: "One figure, by one of the first seven keys, and one of the last three as its bounds. It must hold at each level of a factor that it does not name.",
    keys: keys! {
        key("value", Form::CELL, "The median of a cell.");
        key("ratio", Form::TWO_CELLS, "The median of the first ÷ that of the second.");
        key("difference", Form::TWO_CELLS, "The median of the first − that of the second.");
        key("over_single", Form::CELL, "The median ÷ the goodput of a link of `rate` with one message per segment.");
        key("spread_over", Form::FACTOR, "The largest ÷ the smallest median along a factor.");
        key("step_over", Form::FACTOR, "The smallest ratio of a median to the one before it along a factor.");
        key("saturation_over", Form::FACTOR, "The size from which the first of `sides` is at 95 % of its largest value ÷ that of the second.");
        required("metric", Form::METRIC, "The metric.");
        key("rate", Form::TEXT, "The rate of the link, with `over_single`.");
        key("sides", Form::TWO_CELLS, "The two sides, with `saturation_over`.");
        key("levels", Form::LEVELS, "The levels along the factor (default: all).");
        key("at", Form::CELL, "The levels of other factors, along a factor.");
        key("between", Form::TWO_NUMBERS, "Both bounds.");
        key("at_least", Form::Number, "The lower bound.");
        key("at_most", Form::Number, "The upper bound.");
    },
};
