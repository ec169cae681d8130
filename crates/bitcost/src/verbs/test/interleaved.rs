//! `bitcost test … --against`: the test and its variant in short runs, one after the other in blocks, and the verdict on
//! what the variant changes.

use std::slice::from_ref;
use std::time::Duration;

use bitcost_analysis::compare::of_study;
use bitcost_analysis::findings::Findings;
use bitcost_controller::Ending;
use bitcost_iperf3::client::request;
use bitcost_model::plan::Lengths;
use bitcost_model::units::show_duration;
use bitcost_render::comparison::comparison as blocks_of;
use bitcost_study::Study;

use super::arguments::Arguments;
use super::described::Test;
use crate::failure::Failure;
use crate::opened::{self, say_log};
use crate::options::slow::refuse_slow;
use crate::outcome::check;
use crate::output;
use crate::progress::Live;
use crate::signals::stop_on_signals;

const BUDGET: Duration = Duration::from_secs(60);

/// The fewest blocks, from which on they can be paired.
const LEAST: u32 = 5;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let test = Test::new(arguments)?;
    let look = &arguments.look;
    if arguments.prove || test.study.until.is_some() {
        let why = "--against cannot be used with --prove and --until-interval; --budget is how long it measures";
        return Err(Failure::Usage(why.to_owned()));
    }
    look.check_test(true, &test.study.base)?;
    let mut study = arguments.against.apply(test.study.clone())?;
    if study.is_counted() {
        let why = "the runs of --against end after a time; leave out the number of bytes, messages or transactions";
        return Err(Failure::Usage(why.to_owned()));
    }
    study.is_profiled |= arguments.profile;
    let blocks = Some(blocks(&study, arguments.budget.unwrap_or(BUDGET))?);
    let lengths = Lengths {
        blocks,
        ..Lengths::default()
    };
    let mtu_bytes = test.destination.lab(&study).map(|lab| lab.mtu_bytes);
    if mtu_bytes.is_none() {
        study.lab.network = Default::default();
    }
    for cell in study.cells() {
        refuse_slow(&cell.conditions, mtu_bytes, "--rate")?;
        if arguments.is_with_iperf3() {
            request::check(&cell.conditions)?;
        }
    }
    let stop = stop_on_signals()?;
    let executed = test.execute(&study, lengths, None, &stop, &mut Live::default())?;
    let folder = executed.folder;
    let findings = executed.findings.map(|mut findings| {
        findings.comparison = of_study(&findings, arguments.judging.threshold);
        findings
    });
    let print = |findings: &Findings| match &findings.comparison {
        Some(comparison) if look.is_for_people() => {
            output::blocks(&blocks_of(comparison, look.verbose))
        }
        _ => look.print(from_ref(findings)),
    };
    if let (Err(_), Ok(findings)) = (&executed.ending, &findings)
        && findings.summary.has_used()
    {
        // What was measured, whatever ended it.
        let _ = print(findings);
    }
    let ending = executed
        .ending
        .inspect_err(|_| folder.as_deref().into_iter().for_each(opened::say_place))?;
    let findings = findings?;
    let printed = print(&findings);
    say_log(folder.as_deref());
    printed?;
    if ending == Ending::Interrupted {
        return Err(Failure::Interrupted);
    }
    check(&findings)?;
    let comparison = findings.comparison.as_ref();
    comparison.map_or(Ok(()), |comparison| arguments.judging.check(comparison))
}

/// How many blocks fit a budget.
fn blocks(study: &Study, budget: Duration) -> Result<u32, Failure> {
    let of = |blocks| Lengths {
        blocks: Some(blocks),
        ..Lengths::default()
    };
    let needed = study.plan(0, of(LEAST)).total_time();
    if budget < needed {
        let seconds = needed.as_secs_f64().ceil();
        return Err(Failure::Usage(format!(
            "{LEAST} runs of each side take {seconds} s, more than --budget {}; write `--budget {seconds}s`, or shorten the runs with --time",
            show_duration(budget)
        )));
    }
    Ok(study.blocks_within(Lengths::default(), budget)?)
}
