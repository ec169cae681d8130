//! How busy each CPU was over time, in one run of each cell.

use model::record::Role;
use plotly::common::{ColorScale, ColorScalePalette};
use plotly::{HeatMap, Plot};
use report::CellSummary;
use report::frame::{Execution, Stretch, Table, Value, stretches};

use super::{Drawn, Wanted, axis, layout, typical};

pub(crate) fn draw(execution: &Execution, _: &Wanted) -> Vec<Drawn> {
    let (runs, note) = typical(execution);
    let found = stretches(execution.events, |run| runs.iter().any(|(_, wanted)| *wanted == run));
    let of = |(cell, run): (&CellSummary, u32)| of_run(cell, run, found.get(&run)?);
    let mut drawn: Vec<Drawn> = runs.into_iter().filter_map(of).collect();
    if let Some(last) = drawn.last_mut() {
        last.sampled = note;
    }
    drawn
}

/// One band: its name, and how busy the CPU was in each stretch.
type Band = (String, Vec<Option<f64>>);

fn of_run(cell: &CellSummary, run: u32, stretches: &[Stretch]) -> Option<Drawn> {
    let (times, mut bands) = bands(stretches, Role::Sender);
    let (_, theirs) = self::bands(stretches, Role::Receiver);
    // Ends that share their CPUs see the same of them.
    let shared = theirs.len() == bands.len() && theirs.iter().zip(&bands).all(|(a, b)| alike(&a.1, &b.1));
    if shared {
        bands.iter_mut().for_each(|(name, _)| *name = name.replace("sender ", ""));
    } else {
        bands.extend(theirs);
    }
    if bands.is_empty() || times.len() < 2 {
        return None;
    }
    let mut numbers = Table::new(["cpu", "begin_s", "end_s", "busy_pct"]);
    for (name, busy) in &bands {
        numbers.rows.extend(times.iter().zip(busy).map(|((begin, end), busy)| {
            vec![Value::from(name.as_str()), Value::Number(*begin), Value::Number(*end), Value::from(*busy)]
        }));
    }
    let x: Vec<f64> = times.iter().map(|(begin, end)| (begin + end) / 2.0).collect();
    let y: Vec<String> = bands.iter().map(|(name, _)| name.clone()).collect();
    let z: Vec<Vec<Option<f64>>> = bands.into_iter().map(|(_, busy)| busy).collect();
    let count = y.len() as u32;
    let mut plot = Plot::new();
    plot.add_trace(
        HeatMap::new(x, y, z).zmin(0.0).zmax(100.0).color_scale(ColorScale::Palette(ColorScalePalette::Cividis)),
    );
    plot.set_layout(layout().x_axis(axis("seconds since the window's begin")).y_axis(axis("")));
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

/// When the stretches of an end were, and each of its CPUs.
fn bands(stretches: &[Stretch], end: Role) -> (Vec<(f64, f64)>, Vec<Band>) {
    let own: Vec<&Stretch> = stretches.iter().filter(|stretch| stretch.end == end).collect();
    let mut cpus: Vec<u32> = own.iter().flat_map(|stretch| stretch.cpus.iter().map(|(cpu, _)| *cpu)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let busy =
        |cpu: u32| own.iter().map(|s| s.cpus.iter().find(|(known, _)| *known == cpu).map(|(_, pct)| *pct)).collect();
    let bands = cpus.into_iter().map(|cpu| (format!("{} CPU {cpu}", end.name()), busy(cpu))).collect();
    (own.iter().map(|stretch| (stretch.begin_s, stretch.end_s)).collect(), bands)
}

/// True where the means of two bands lie within the error of their ticks.
fn alike(a: &[Option<f64>], b: &[Option<f64>]) -> bool {
    let mean = |band: &[Option<f64>]| band.iter().flatten().sum::<f64>() / band.len().max(1) as f64;
    (mean(a) - mean(b)).abs() < 5.0
}
