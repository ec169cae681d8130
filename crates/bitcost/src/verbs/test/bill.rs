//! `bitcost bill`: what a KiB or a transaction costs, and what of. It is a study of a test whose cells
//! each lack one thing that costs time, or have one more.

use bitcost_analysis::bill::{Run, varied};
use bitcost_controller::Ending;
use bitcost_execute::{Extent, Start, States};
use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::plan::Lengths;
use bitcost_model::workload::Workload;

use super::arguments::Arguments;
use super::described::Test;
use crate::failure::Failure;
use crate::opened::say_log;
use crate::options::lab::say_warnings;
use crate::options::order::new_seed;
use crate::outcome::check;
use crate::output;
use crate::progress::Live;
use crate::signals::stop_on_signals;

/// Blocks, if the options have no rule for them.
const BLOCKS: u32 = 12;

/// Settings that the options do not name: short runs, because there are many. What the idle hosts do
/// is the same in all cells.
const USUAL: [(&str, &str); 3] = [
    ("duration_s", "250ms"),
    ("warmup_s", "100ms"),
    ("idle_baseline_s", "0"),
];

/// The MTU that is assumed of a path between named hosts, in bytes.
const USUAL_MTU_BYTES: u32 = 1500;

/// Makes the runs, and prints the bill.
///
/// # Errors
/// Usage, when the options do not fit a bill; check, when the cost of the run itself could not be
/// measured.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    arguments.look.check()?;
    refuse(&arguments)?;
    let stop = stop_on_signals()?;
    let mut test = Test::new(&arguments)?;
    refuse_conditions(&test.typed.conditions)?;
    for (name, value) in USUAL {
        let mut given = arguments.settings.0.iter();
        if !given.any(|(setting, _)| setting.name == name) {
            test.typed.set(name, value);
        }
    }
    let lab = test.lab.as_ref();
    let varied = varied(&Run {
        conditions: &test.typed.conditions,
        is_lab: lab.is_some(),
        mtu_bytes: lab.map_or(USUAL_MTU_BYTES, |lab| lab.mtu_bytes),
    });
    let blocks = match test.until {
        Some(_) => test.least_runs,
        None => BLOCKS,
    };
    let until = test.until.as_ref();
    let study = test.varied(&test.typed.settings, blocks, until, Some(&varied))?;
    let lengths = Lengths {
        blocks: until.map(|until| until.max_blocks),
        ..Lengths::default()
    };
    let plan = study.plan(new_seed()?, lengths);
    if study.lab.running.is_none() {
        say_warnings(&test.destination.warnings(&study, &plan));
    }
    let start = Start {
        calibration: Extent::Constants,
        out: (!arguments.no_log).then_some(&*arguments.out),
        states: States::within(arguments.repeats.state_budget),
        ..Start::new(&study, &plan, &test.destination, output::command_line())
    };
    let executed = start.execute(&stop, &mut Live::new())?;
    let ending = executed
        .ending
        .inspect_err(|_| say_log(executed.folder.as_deref()))?;
    let findings = executed.findings?;
    let is_known =
        |bill: &bitcost_analysis::bill::Bill| bill.ends.iter().any(|end| end.whole.is_ok());
    let has_bill = findings.bill.as_ref().is_some_and(is_known);
    let printed = arguments.look.print(std::slice::from_ref(&findings));
    say_log(executed.folder.as_deref());
    match ending {
        Ending::Interrupted if arguments.no_log => Err(Failure::InterruptedUnlogged),
        Ending::Interrupted => Err(Failure::Interrupted),
        // A part that cannot be measured is a line of the bill.
        _ if has_bill => printed,
        _ => printed
            .and_then(|()| check(&findings))
            .and_then(|()| Err(unknown())),
    }
}

fn unknown() -> Failure {
    Failure::Check(
        "the CPU time of a run was not known at either end, so there is no bill".to_owned(),
    )
}

/// Refuses options that a bill has no use for.
fn refuse(arguments: &Arguments) -> Result<(), Failure> {
    let is_given = |name: &str| {
        let mut given = arguments.settings.0.iter();
        given.any(|(setting, _)| setting.name == name)
    };
    let why =
        if ![Workload::TcpStream, Workload::UdpStream, Workload::TcpRr].contains(&arguments.test) {
            "`bill` supports only tcp, udp and rr"
        } else if is_given("mode") {
            "--mode cannot be used with `bill`, which measures the modes itself"
        } else if arguments.prove || arguments.budget.is_some() {
            "--prove and --budget cannot be used with `bill`, which runs its own experiments"
        } else if arguments.is_with_iperf3() {
            "--peer iperf3 cannot be used with `bill`: iperf3 has no other modes"
        } else {
            return Ok(());
        };
    Err(Failure::Usage(why.to_owned()))
}

/// Refuses conditions in which the cost of one end is not known.
fn refuse_conditions(conditions: &Conditions) -> Result<(), Failure> {
    let why = if conditions.direction == Direction::Both || !conditions.background.is_empty() {
        "`bill` measures one workload in one direction: the CPU time of several at once cannot be divided"
    } else if conditions.no_cost {
        "--no-cost cannot be used with `bill`, which measures CPU time"
    } else if conditions.bound().is_some() {
        "the runs of `bill` end after a time; leave out the number of bytes, messages or transactions"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(why.to_owned()))
}
