//! How busy each CPU was over time, in one run of each cell.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::frame::{Stretch, Table, Value, stretches};
use bitcost_model::record::Role;
use plotly::common::{ColorScale, ColorScalePalette};
use plotly::{HeatMap, Plot};

use super::drawing::{Drawn, axis, layout, typical};
use bitcost_study::Picture as Wanted;

pub(crate) fn draw(execution: &Execution, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let (runs, note) = typical(execution);
    let found = stretches(execution.events, |run| {
        runs.iter().any(|(_, wanted)| *wanted == run)
    });
    let shared = execution.summary.shared_cpus;
    let of = |(cell, run): (&CellSummary, u32)| of_run(cell, run, found.get(&run)?, shared);
    let mut drawn: Vec<Drawn> = runs.into_iter().filter_map(of).collect();
    if let Some(last) = drawn.last_mut() {
        last.sampled = note;
    }
    drawn
}

/// One band: its name, the times of its stretches, and how busy the CPU was in each.
struct Band {
    name: String,
    times: Vec<(f64, f64)>,
    busy: Vec<Option<f64>>,
}

fn of_run(cell: &CellSummary, run: u32, stretches: &[Stretch], shared: bool) -> Option<Drawn> {
    let bands = match [
        bands(stretches, Role::Sender, shared),
        bands(stretches, Role::Receiver, shared),
    ] {
        // Endpoints that share their CPUs report the same CPUs.
        [own, theirs] if shared => {
            if own.is_empty() {
                theirs
            } else {
                own
            }
        }
        [own, theirs] => own.into_iter().chain(theirs).collect(),
    };
    let times = bands
        .iter()
        .map(|band| &band.times)
        .max_by_key(|times| times.len())
        .filter(|times| times.len() > 1)?;
    let mut numbers = Table::new(["cpu", "begin_s", "end_s", "busy_pct"]);
    for band in &bands {
        numbers.rows.extend(
            band.times
                .iter()
                .zip(&band.busy)
                .map(|((begin, end), busy)| {
                    vec![
                        Value::from(band.name.as_str()),
                        Value::Number(*begin),
                        Value::Number(*end),
                        Value::from(*busy),
                    ]
                }),
        );
    }
    let x: Vec<f64> = times
        .iter()
        .map(|(begin, end)| (begin + end) / 2.0)
        .collect();
    let (y, z): (Vec<String>, Vec<Vec<Option<f64>>>) = bands
        .iter()
        .map(|band| (band.name.clone(), band.busy.clone()))
        .unzip();
    let count = y.len() as u32;
    let mut plot = Plot::new();
    plot.add_trace(
        HeatMap::new(x, y, z)
            .zmin(0.0)
            .zmax(100.0)
            .color_scale(ColorScale::Palette(ColorScalePalette::Cividis)),
    );
    plot.set_layout(
        layout()
            .x_axis(axis("seconds since the window's begin"))
            .y_axis(axis("")),
    );
    Some(Drawn {
        file: format!("cpus-run-{}", run + 1),
        title: format!("{}, run {}: busy time of each CPU (%).", cell.name(), run + 1),
        caption: "Wall clock less idle and iowait, per stretch between two samples; a tick of 10 ms is 10 % of a stretch of 100 ms.".into(),
        plot,
        numbers,
        sampled: None,
        height: 180 + 28 * count,
    })
}

/// The CPUs that an endpoint reported; they have its name unless both endpoints share them.
fn bands(stretches: &[Stretch], end: Role, shared: bool) -> Vec<Band> {
    let own: Vec<&Stretch> = stretches
        .iter()
        .filter(|stretch| stretch.end == end)
        .collect();
    let mut cpus: Vec<u32> = own
        .iter()
        .flat_map(|stretch| stretch.cpus.iter().map(|(cpu, _)| *cpu))
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    let busy = |cpu: u32, of: &Stretch| {
        of.cpus
            .iter()
            .find(|(known, _)| *known == cpu)
            .map(|(_, pct)| *pct)
    };
    let band = |cpu: u32| Band {
        name: if shared {
            format!("CPU {cpu}")
        } else {
            format!("{} CPU {cpu}", end.name())
        },
        times: own
            .iter()
            .map(|stretch| (stretch.begin_s, stretch.end_s))
            .collect(),
        busy: own.iter().map(|stretch| busy(cpu, stretch)).collect(),
    };
    cpus.into_iter().map(band).collect()
}
