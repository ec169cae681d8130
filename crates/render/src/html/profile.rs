//! Where the time goes: a bar for each cell with a part for each layer, the tables, and a chart of call
//! chains that the page's script draws.

use std::collections::BTreeMap;

use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::profile::{Chains, EndLayers, Layers, Profiled, ProfiledCell, chains};
use bitcost_model::profile::Layer;
use bitcost_model::record::Role;
use bitcost_model::units::counted;
use serde_json::json;

use super::fold;
use super::pictures::{Drawn, Picture, bars, figures, finish};
use super::section::figure;
use super::svg::{Ink, Legend, Mark, Marks, Trace};
use super::table::table;
use super::writer::Html;
use crate::number;
use crate::profile::{HEADING, place, profile_paragraphs, profile_tables};
use crate::tables::COLUMNS;

/// The class of each layer's colour, in the order of [`Layer::ALL`].
const INKS: [&str; 16] = [
    "l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9", "l10", "l11", "l12", "l13", "l14",
    "l15",
];
/// The share of an end's time below which a function is not drawn.
const LEAST: f64 = 0.003;

/// The section; `drawn` counts the pictures of the page.
pub(crate) fn section(page: &mut Html, execution: &Findings, drawn: &mut usize) {
    let Some(profiled) = &execution.profiled else {
        return;
    };
    let words = format!(
        "by layer of the kernel, {}",
        counted(profiled.cells.len(), "cell")
    );
    fold::open(page, HEADING, &words);
    for of in ["KiB", "transaction"] {
        for role in [Role::Sender, Role::Receiver] {
            let cells = profiled.cells.iter().filter(|cell| cell.of == of);
            let ends: Vec<(&str, &EndLayers)> = cells
                .filter_map(|cell| Some((cell.name.as_str(), cell.end(role)?)))
                .collect();
            if !ends.is_empty() {
                figure(page, &picture(&ends, of, role, *drawn));
                *drawn += 1;
            }
        }
    }
    flame(page, execution, profiled);
    for (title, lines) in profile_tables(profiled, COLUMNS) {
        page.element("h3", "", &title);
        table(page, "", &title, &lines);
    }
    for words in profile_paragraphs(profiled) {
        page.element("p", "fine", &words);
    }
    fold::close(page);
}

fn picture(ends: &[(&str, &EndLayers)], of: &str, role: Role, number: usize) -> Picture {
    let unit = format!("ns/{of}");
    let mut numbers = Table::new(["cell", "layer", "ns", "low", "high"].map(str::to_owned));
    let mut traces: Vec<Trace> = Vec::new();
    let mut starts = vec![0.0; ends.len()];
    for (layer, ink) in Layer::ALL.into_iter().zip(INKS) {
        let mut marks = Vec::new();
        for (row, (name, end)) in ends.iter().enumerate() {
            let Some(time) = end.layer(layer) else {
                continue;
            };
            let names = [*name, layer.name()].map(Value::from);
            numbers
                .rows
                .push([&names[..], &figures(Some(time))].concat());
            let share = 100.0 * end.share(layer);
            let title = format!(
                "{name}: {} {} {unit}, {share:.0} %",
                layer.title(),
                number::interval(time)
            );
            marks.push(Mark {
                from: starts[row],
                ..Mark::at(starts[row] + time.value, row as f64, None, title)
            });
            starts[row] += time.value;
        }
        if !marks.is_empty() {
            let mut trace = Trace::new(layer.title(), traces.len(), Marks::Bars(marks));
            trace.ink = Ink::Named(ink);
            traces.push(trace);
        }
    }
    let names = ends.iter().map(|(name, _)| (*name).to_owned()).collect();
    let title = format!("CPU time of a {of} {} by layer.", place(of, role));
    let mut chart = bars(&title, &unit, names, traces);
    chart.legend = Legend::Traces;
    let drawn = Drawn {
        file: format!("layers-{}-{of}", role.name()),
        title,
        caption: "Medians over the profiled runs.".to_owned(),
        chart,
        numbers,
        sampled: None,
    };
    finish(number, HEADING, drawn)
}

/// A function in the chart: the calls from it, the time in it and below.
#[derive(Default)]
struct Node {
    ns: f64,
    calls: BTreeMap<String, Node>,
}

impl Node {
    fn add(&mut self, chain: &str, ns: f64) {
        let mut node = self;
        node.ns += ns;
        for function in chain.split(';') {
            node = node.calls.entry(function.to_owned()).or_default();
            node.ns += ns;
        }
    }
}

/// What the chart needs of an end: the functions by name and layer, and the tree.
struct Drawing {
    layers: Layers,
    names: Vec<String>,
    places: BTreeMap<String, usize>,
}

impl Drawing {
    /// `[name, layer, ns, [calls]]`, without what is too short to be seen.
    fn node(
        &mut self,
        chain: &mut String,
        name: &str,
        node: &Node,
        least: f64,
    ) -> serde_json::Value {
        let length = chain.len();
        if !chain.is_empty() {
            chain.push(';');
        }
        chain.push_str(name);
        let layer = self.layers.of(chain).unwrap_or(Layer::OtherKernel);
        let layer = Layer::ALL.iter().position(|of| *of == layer);
        let calls: Vec<serde_json::Value> = node
            .calls
            .iter()
            .filter(|(_, call)| call.ns >= least)
            .map(|(name, call)| self.node(chain, name, call, least))
            .collect();
        chain.truncate(length);
        let time = (node.ns * 10.0).round() / 10.0;
        json!([self.place(name), layer, time, calls])
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }
}

/// The chart of call chains: its data, and where the script draws it.
fn flame(page: &mut Html, execution: &Findings, profiled: &Profiled) {
    let all = chains(execution, |cell| profiled.cell(cell).is_some());
    let mut drawing = Drawing {
        layers: Layers::default(),
        names: Vec::new(),
        places: BTreeMap::new(),
    };
    let mut trees = Vec::new();
    for cell in &profiled.cells {
        for end in cell.ends.iter().flatten() {
            trees.extend(tree(&mut drawing, cell, end, &all[cell.cell]));
        }
    }
    if trees.is_empty() {
        return;
    }
    let layers: Vec<&str> = Layer::ALL.into_iter().map(Layer::title).collect();
    let data = json!({ "names": drawing.names, "layers": layers, "trees": trees });
    page.element("h3", "", "Call chains");
    page.raw("<figure class=\"chains\">\n<figcaption>");
    page.text("Each block is a function, as wide as the CPU time in it and in what it calls, in the colour of its layer. A click on a block shows it alone; a click on the first one shows all again. Compared with another cell, what takes more time is red, what takes less blue; what only the other cell has is not drawn.");
    page.raw("</figcaption>\n<script type=\"application/json\">")
        .raw(&data.to_string().replace('<', "\\u003c"))
        .raw("</script>\n<noscript><p class=\"fine\">The chart needs the page's script.</p></noscript>\n</figure>\n");
}

/// The tree of an end. The time of a layer in the table is divided among its chains by their samples.
fn tree(
    drawing: &mut Drawing,
    cell: &ProfiledCell,
    end: &EndLayers,
    chains: &Chains,
) -> Option<serde_json::Value> {
    let start = format!("{};", end.end.name());
    let own = chains.iter().filter_map(|(chain, samples)| {
        let chain = chain.strip_prefix(&start)?;
        let layer = drawing.layers.of(chain).unwrap_or(Layer::OtherKernel);
        Some((chain, layer, *samples as f64))
    });
    let own: Vec<(&str, Layer, f64)> = own.collect();
    let mut sampled: BTreeMap<Layer, f64> = BTreeMap::new();
    for (_, layer, samples) in &own {
        *sampled.entry(*layer).or_default() += samples;
    }
    let mut root = Node::default();
    for (chain, layer, samples) in own {
        let time = end.layer(layer).map_or(0.0, |time| time.value);
        root.add(chain, time * samples / sampled[&layer]);
    }
    let least = (root.ns > 0.0).then_some(root.ns * LEAST)?;
    let calls: Vec<serde_json::Value> = root
        .calls
        .iter()
        .filter(|(_, call)| call.ns >= least)
        .map(|(name, call)| drawing.node(&mut String::new(), name, call, least))
        .collect();
    let whole = format!("{} {}", cell.name, place(cell.of, end.end));
    Some(json!({ "cell": whole, "unit": format!("ns/{}", cell.of), "ns": root.ns, "calls": calls }))
}
