//! A test that was described by options, as a study.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_execute::{Destination, Executed, Experiment, Progress, Start, labs};
use bitcost_iperf3::client::request;
use bitcost_model::plan::Lengths;
use bitcost_model::study::{LabSpec, UntilInterval};
use bitcost_study::{Single, Study};

use super::arguments::Arguments;
use super::conditions::Typed;
use crate::failure::Failure;
use crate::options::order::new_seed;
use crate::output;

pub struct Test<'a> {
    pub arguments: &'a Arguments,
    pub destination: Destination,
    /// The embedded lab; absent between named hosts.
    pub lab: Option<LabSpec>,
    pub typed: Typed,
    pub least_runs: u32,
    /// The rule that ends the repeats; absent for one run.
    pub until: Option<UntilInterval>,
}

impl Test<'_> {
    pub fn new(arguments: &Arguments) -> Result<Test<'_>, Failure> {
        let (hosts, host) = (&arguments.hosts, arguments.host.as_deref());
        let is_with_iperf3 = arguments.is_with_iperf3();
        let running = match arguments.topology.is_some() || is_with_iperf3 {
            true => None,
            false => hosts.in_running_lab(host)?,
        };
        let named = match &running {
            Some(_) => None,
            None if is_with_iperf3 => Some(hosts.with_iperf3(host)?),
            None => hosts.named(host, None)?,
        };
        let lab = match (&named, running) {
            (Some(_), _) => {
                arguments
                    .backend
                    .refuse("is for labs; leave it out between named hosts")?;
                None
            }
            (None, Some(lab)) => {
                arguments.refuse_in_running_lab()?;
                Some(lab)
            }
            (None, None) => {
                let mut lab = labs::spec(arguments.topology(), arguments.mtu)?;
                arguments.backend.apply_to(&mut lab)?;
                Some(lab)
            }
        };
        let typed = Typed::new(arguments, lab.as_ref())?;
        let rule = arguments.repeats.rule(&typed.conditions)?;
        let (least_runs, until) = rule.map_or((1, None), |(least, rule)| (least, Some(rule)));
        Ok(Test {
            arguments,
            destination: named.map_or(Destination::Lab, |named| {
                Destination::Hosts(Box::new(named))
            }),
            lab,
            typed,
            least_runs,
            until,
        })
    }

    pub fn study(&self) -> Result<Study, Failure> {
        let single = Single {
            conditions: &self.typed.conditions,
            settings: &self.typed.settings,
            lab: self.lab.as_ref(),
            runs: self.least_runs,
            until: self.until.as_ref(),
        };
        Ok(single.study()?)
    }

    pub fn lengths(&self) -> Lengths {
        Lengths {
            blocks: self.until.as_ref().map(|until| until.max_blocks),
            ..Lengths::default()
        }
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
            allows: match arguments.is_with_iperf3() {
                true => request::check,
                false => |_| Ok(()),
            },
            ..Start::new(study, &plan, &self.destination, output::command_line())
        };
        Ok(start.execute(stop, progress)?)
    }
}
