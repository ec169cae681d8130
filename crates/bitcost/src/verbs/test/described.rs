//! A test that was described by options, as a study.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_execute::{Destination, Executed, Experiment, Progress, Start, labs};
use bitcost_iperf3::client::request;
use bitcost_model::conditions::Direction;
use bitcost_model::plan::Lengths;
use bitcost_study::{Single, Study};

use super::arguments::Arguments;
use super::conditions::typed;
use crate::failure::Failure;
use crate::options::order::new_seed;
use crate::output;
use crate::progress::execute;

pub struct Test<'a> {
    pub arguments: &'a Arguments,
    pub destination: Destination,
    pub study: Study,
}

impl Test<'_> {
    pub fn new(arguments: &Arguments) -> Result<Test<'_>, Failure> {
        let (hosts, host) = (&arguments.hosts, arguments.host.as_deref());
        let is_with_iperf3 = arguments.is_with_iperf3();
        let running = match arguments.topology.is_some() || is_with_iperf3 {
            true => None,
            false => hosts.in_running_lab(host)?,
        };
        let destination = match &running {
            Some(_) => Destination::Lab,
            None if is_with_iperf3 => hosts.with_iperf3(host)?,
            None => hosts.destination(host, None)?,
        };
        let (lab, device_mtu) = match (&destination, running) {
            (Destination::Hosts(_), _) => (None, arguments.mtu),
            (Destination::Lab, Some(lab)) => (Some(lab), arguments.mtu),
            (Destination::Lab, None) => {
                let lab = labs::spec(arguments.topology(), arguments.mtu, output::say)?;
                match arguments.against.device_mtu() {
                    // Links that have room for the variant, and interfaces that do not use it.
                    Some(most) if most > lab.mtu_bytes => {
                        let wider = labs::spec(arguments.topology(), Some(most), |_| {})?;
                        (Some(wider), Some(lab.mtu_bytes))
                    }
                    _ => (Some(lab), None),
                }
            }
        };
        let (settings, conditions) = typed(arguments, lab.as_ref(), device_mtu)?;
        let has_cost = !is_with_iperf3
            && conditions.direction != Direction::Both
            && conditions.background.is_empty();
        if arguments.gates.fail_over_cost.is_some() && !has_cost {
            let why = "--fail-over-cost needs one workload in one direction, and not --peer iperf3";
            return Err(Failure::Usage(why.to_owned()));
        }
        let rule = arguments.repeats.rule(&conditions)?;
        let (runs, until) = rule.map_or((1, None), |(least, rule)| (least, Some(rule)));
        let single = Single {
            conditions: &conditions,
            settings: &settings,
            lab: lab.as_ref(),
            runs,
            until: until.as_ref(),
        };
        let mut study = single.study()?;
        study.is_profiled |= arguments.profile;
        Ok(Test {
            arguments,
            destination,
            study,
        })
    }

    pub fn execute(
        &self,
        study: &Study,
        lengths: Lengths,
        experiment: Option<Experiment>,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn Progress,
    ) -> Result<Executed, Failure> {
        let arguments = self.arguments;
        let name = arguments.name.as_deref();
        if let Some(taken) = name
            .map(|name| arguments.out.join(name))
            .filter(|path| path.exists())
        {
            return Err(Failure::Usage(format!(
                "--name: {} exists; choose another name, or remove it",
                taken.display()
            )));
        }
        let plan = study.plan(new_seed()?, lengths);
        let start = Start {
            experiment,
            out: (!arguments.no_log).then_some(&*arguments.out),
            name,
            measures_constants: true,
            allows: match arguments.is_with_iperf3() {
                true => request::check,
                false => |_| Ok(()),
            },
            ..Start::new(study, &plan, &self.destination, output::command_line())
        };
        execute(start, arguments.live, stop, progress)
    }
}
