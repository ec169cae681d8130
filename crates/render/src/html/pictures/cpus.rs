//! How busy each CPU was over time, in one run of each cell.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Stretch, Table, Value, stretches};
use bitcost_model::record::Role;

use super::drawing::{Drawn, along, rows, typical};
use crate::html::svg::{Chart, Legend, Marks, Tile, Trace};
use crate::number;
use bitcost_study::{Picture as Wanted, Scale};

pub(crate) fn draw(execution: &Findings, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let (runs, note) = typical(execution);
    let found = stretches(&execution.events, |run| {
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
    bands.iter().find(|band| band.times.len() > 1)?;
    if !differs(&bands) {
        return None;
    }
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
    let title = format!(
        "{}, run {}: busy time of each CPU (%).",
        cell.name(),
        run + 1
    );
    Some(Drawn {
        file: format!("cpus-run-{}", run + 1),
        chart: chart(&title, &bands),
        title,
        caption: "Wall clock less idle and iowait, per stretch between two samples; a tick of 10 ms is 10 % of a stretch of 100 ms.".into(),
        numbers,
        sampled: None,
    })
}

/// A tick of the clock by which the kernel counts the time of CPUs.
const TICK_S: f64 = 0.01;

/// Whether the middle four fifths of the stretches differ by more than two ticks: one may be lost
/// at each end of a stretch.
fn differs(bands: &[Band]) -> bool {
    let mut busy: Vec<f64> = bands
        .iter()
        .flat_map(|band| band.busy.iter().flatten().copied())
        .filter(|busy| busy.is_finite())
        .collect();
    busy.sort_by(f64::total_cmp);
    let at = |fraction| bitcost_analysis::statistics::quantile_of_sorted(&busy, fraction);
    let times = bands.iter().flat_map(|band| &band.times);
    let longest = times.map(|(begin, end)| end - begin).fold(0.0, f64::max);
    let tick_pct = 100.0 * TICK_S / longest;
    at(0.9)
        .zip(at(0.1))
        .is_some_and(|(high, low)| high - low > 2.0 * tick_pct)
}

/// A row of tiles for each CPU.
fn chart(title: &str, bands: &[Band]) -> Chart {
    let times: Vec<f64> = bands
        .iter()
        .flat_map(|band| band.times.iter().flat_map(|(begin, end)| [*begin, *end]))
        .collect();
    let tiles = bands
        .iter()
        .enumerate()
        .flat_map(|(place, band)| tiles(place as f64, band));
    let trace = Trace::new("busy time", 0, Marks::Tiles(tiles.collect()));
    let x = along(Some(Scale::Linear), &times, &[0.0]);
    let names = bands.iter().map(|band| band.name.clone()).collect();
    let mut chart = rows(
        title,
        (x, "seconds since the start of the window"),
        names,
        vec![trace],
    );
    chart.legend = Legend::Shades("%");
    chart
}

/// The steps of shade, in per cent; neighbouring stretches of one step are one tile.
const STEP: f64 = 5.0;

fn tiles(y: f64, band: &Band) -> Vec<Tile> {
    let mut found: Vec<(Tile, f64)> = Vec::new();
    for ((begin, end), busy) in band.times.iter().zip(&band.busy) {
        let Some(busy) = busy.filter(|busy| busy.is_finite()) else {
            continue;
        };
        let step = (busy / STEP).round() * STEP;
        match found.last_mut() {
            Some((last, known)) if *known == step && last.x.1 == *begin => last.x.1 = *end,
            _ => found.push((
                Tile {
                    x: (*begin, *end),
                    y,
                    shade: (step / 100.0).clamp(0.0, 1.0),
                    title: String::new(),
                },
                step,
            )),
        }
    }
    let named = |(mut tile, step): (Tile, f64)| {
        let [begin, end] = [tile.x.0, tile.x.1].map(number::plain);
        tile.title = format!("{}, {begin} to {end} s: about {step} % busy", band.name);
        tile
    };
    found.into_iter().map(named).collect()
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
