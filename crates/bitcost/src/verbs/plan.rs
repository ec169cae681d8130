//! `bitcost plan`: every run of a study in its order, and how long it takes; runs nothing.

use std::time::Duration;

use bitcost_model::conditions::RUN_OVERHEAD;
use bitcost_model::plan::{Lengths, Plan};
use bitcost_model::units::{counted, show_duration};
use bitcost_study::Study;
use bitcost_study::mesh::Mesh;

use crate::failure::Failure;
use crate::options::against;
use crate::options::order::{Order, new_seed};
use crate::options::place::Place;
use crate::options::slow::refuse_slow;
use crate::output;

/// Indent of further lines, where the terminal is narrow.
const HANGING: usize = 4;

#[derive(clap::Args)]
pub struct Arguments {
    /// Study: the name of an embedded one (`bitcost studies`), or the path of a study file (.toml)
    study: String,
    #[command(flatten)]
    against: against::Held,
    #[command(flatten)]
    order: Order,
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (study, cluster) = arguments.place.study(&arguments.study)?;
    let study = arguments.against.apply(study)?;
    let (mut study, lengths) = arguments.order.apply(study)?;
    let destination = arguments.place.destination(&mut study, cluster)?;
    let seed = arguments.order.seed.map_or_else(new_seed, Ok)?;
    if let Some(mesh) = &study.mesh {
        destination.check(&study)?;
        return output::print(&mesh_text(&study, mesh, (seed, lengths)));
    }
    let plan = study.plan(seed, lengths);
    for cell in &plan.cells {
        refuse_slow(&cell.conditions, Some(study.lab.mtu_bytes), "rate_bps")?;
    }
    destination.check(&study)?;
    let place = destination.phrase(&study);
    output::folded(&text(&study, &plan, place), HANGING)
}

fn text(study: &Study, plan: &Plan, place: Option<String>) -> String {
    let mut text = format!("{}: {}\n", study.name, study.question);
    text.extend(place.map(|place| format!("{place}\n")));
    text += "\n  run  block  measured  cell\n";
    for run in &plan.runs {
        let cell = &plan.cells[run.cell];
        let seconds = f64::from(cell.conditions.duration_ms) / 1000.0;
        text += &format!(
            "{:5}  {:5}  {seconds:6} s  {}\n",
            run.index + 1,
            run.block + 1,
            cell.name()
        );
    }
    text + "\n" + &whole(study, plan)
}

/// Rounds of a plan whose pairs are listed.
const LISTED: usize = 8;

/// The rounds of a mesh, the number of runs and their time. Runs are not listed: there can be a million.
fn mesh_text(study: &Study, mesh: &Mesh, (seed, lengths): (u64, Lengths)) -> String {
    let mut text = format!("{}: {}\n", study.name, study.question);
    let (blocks, cells) = (lengths.blocks.unwrap_or(study.blocks), study.cells());
    let groups = mesh.groups(seed, 0);
    text += "\n  group  pairs (sender > receiver)\n";
    for (number, group) in groups.iter().take(LISTED).enumerate() {
        let pair = |(a, b): &(usize, usize)| format!("{}>{}", mesh.hosts[*a], mesh.hosts[*b]);
        let mut pairs: Vec<String> = group.iter().take(LISTED).map(pair).collect();
        let more = group.len().saturating_sub(LISTED);
        pairs.extend((more > 0).then(|| format!("and {more} more")));
        text += &format!("{:7}  {}\n", number + 1, pairs.join(" "));
    }
    let more = groups.len().saturating_sub(LISTED);
    text += &if more > 0 {
        format!("         and {more} more groups\n\n")
    } else {
        "\n".to_owned()
    };
    let pairs: usize = groups.iter().map(Vec::len).sum();
    let runs = pairs * cells.len() * blocks as usize;
    let run = cells.iter().map(|cell| {
        let ms = lengths.duration_ms.unwrap_or(cell.conditions.duration_ms);
        Duration::from_millis(u64::from(cell.conditions.warmup_ms + ms)) + RUN_OVERHEAD
    });
    let run: Duration = run.sum::<Duration>() * blocks;
    let (turns, how) = match mesh.is_concurrent {
        true => (groups.len(), "the runs of a group at once"),
        false => (pairs, "one run after the other"),
    };
    let time = run.checked_mul(u32::try_from(turns).unwrap_or(u32::MAX));
    text + &format!(
        "{} with the pattern {}: {} in {}, {how}; about {}; order by seed {seed} (--seed {seed} gives it again)\n",
        counted(mesh.hosts.len(), "host"),
        mesh.pattern.name(),
        counted(runs, "run"),
        counted(mesh.rounds(seed, 0) * blocks as usize, "round"),
        show_duration(time.unwrap_or(Duration::MAX)),
    )
}

/// What comes to what: the runs, and the time that they take.
fn whole(study: &Study, plan: &Plan) -> String {
    let may_end = study.until.is_some();
    let most = if may_end { "at most " } else { "" };
    let least = match may_end && study.blocks < plan.blocks {
        true => format!("{} to ", study.blocks),
        false => String::new(),
    };
    format!(
        "{most}{}: {} in {least}{}; {most}about {}; random order of seed {} (--seed {} repeats it)\nchecked like a run, but for what only its hosts can tell\n",
        counted(plan.runs.len(), "run"),
        counted(plan.cells.len(), "cell"),
        counted(plan.blocks as usize, "block"),
        show_duration(plan.total_time()),
        plan.seed,
        plan.seed
    )
}
