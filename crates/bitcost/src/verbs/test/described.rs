//! A test that was described by options, as a study.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_analysis::improve::SCREENING_BLOCKS;
use bitcost_analysis::prove::{Ordinary, Settings, UNCHANGED};
use bitcost_execute::{Destination, ExecuteError, Executed, Start, Until, labs};
use bitcost_iperf3::client::request;
use bitcost_model::Invalid;
use bitcost_model::plan::{Lengths, Plan};
use bitcost_model::study::{LabSpec, UntilInterval};
use bitcost_study::settings::set_text;
use bitcost_study::{Single, Study, Varied};

use super::arguments::Arguments;
use super::conditions::{Typed, setting};
use super::progress::Lines;
use crate::failure::Failure;
use crate::options::order::new_seed;
use crate::output;

/// A test that was described by options.
pub struct Test<'a> {
    /// The options.
    pub arguments: &'a Arguments,
    /// Where it is executed.
    pub destination: Destination,
    /// The embedded lab; absent between named hosts.
    pub lab: Option<LabSpec>,
    /// The settings of the run.
    pub typed: Typed,
    /// Least number of runs.
    pub least_runs: u32,
    /// The rule that ends the repeats; absent for one run.
    pub until: Option<UntilInterval>,
}

impl Test<'_> {
    /// Reads the options.
    ///
    /// # Errors
    /// Usage, when they are not possible, or not together.
    pub fn new(arguments: &Arguments) -> Result<Test<'_>, Failure> {
        let running = match arguments.topology {
            Some(_) => None,
            None if arguments.is_with_iperf3() => None,
            None => arguments.hosts.in_running_lab(arguments.host.as_deref())?,
        };
        let named = match &running {
            Some(_) => None,
            None if arguments.is_with_iperf3() => {
                Some(arguments.hosts.with_iperf3(arguments.host.as_deref())?)
            }
            None => arguments.hosts.named(arguments.host.as_deref(), None)?,
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

    /// The study of one cell.
    ///
    /// # Errors
    /// Usage, when the settings are not possible together.
    pub fn study(&self) -> Result<Study, Failure> {
        let single = Single {
            workload: self.typed.conditions.workload,
            settings: &self.typed.settings,
            lab: self.lab.as_ref(),
            runs: self.least_runs,
            until: self.until.as_ref(),
            varied: None,
        };
        Ok(single.study()?)
    }

    /// The settings of short runs as the peer allows them: an iperf3 server has no warm-up.
    fn short_runs(&self, ordinary: &Ordinary, screens: bool) -> Settings {
        let is_allowed = |name: &str| name != "warmup_s" || !self.arguments.is_with_iperf3();
        let runs = ordinary.short_runs(screens).into_iter();
        runs.filter(|(name, _)| is_allowed(name)).collect()
    }

    /// A study of short runs of this test, unchanged and with each of these levels, in at most this number of blocks; few
    /// blocks screen.
    ///
    /// # Errors
    /// Where a level is not possible in a study.
    pub fn round<'b>(
        &self,
        ordinary: &Ordinary,
        (name, question): (&str, &'static str),
        (factor, levels): (&str, impl Iterator<Item = (&'b str, &'b Settings)>),
        blocks: u32,
    ) -> Result<Study, Invalid> {
        let merged = |set: &Settings| {
            let set = set.iter();
            let set =
                set.filter_map(|(name, value)| setting(name, &self.typed.merged(name, value)));
            set.collect()
        };
        let levels: Vec<_> = levels
            .map(|(label, set)| (label.to_owned(), merged(set)))
            .collect();
        let workload = ordinary.conditions.workload;
        let varied = Varied::one_factor(workload, (name, question), (factor, UNCHANGED), &levels);
        let single = Single {
            workload,
            settings: &self
                .typed
                .short(&self.short_runs(ordinary, blocks <= SCREENING_BLOCKS)),
            lab: self.lab.as_ref(),
            runs: blocks,
            until: None,
            varied: Some(&varied),
        };
        single.study()
    }

    /// Executes a study that follows the test, in a folder of that name in the test's `out`.
    ///
    /// # Errors
    /// As [`Start::execute`].
    pub fn follow(
        &self,
        (study, plan): (&Study, &Plan),
        (out, name): (Option<&Path>, &str),
        until: Option<Until>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Executed, ExecuteError> {
        let start = Start {
            out,
            folder: Some(name),
            until,
            ..Start::new(study, plan, &self.destination, output::command_line())
        };
        start.execute(stop, &mut Lines::silent(stop))
    }

    /// Why a short run of this test with these settings is not possible.
    pub fn possible(&self, ordinary: &Ordinary, changed: &Settings) -> Result<(), Invalid> {
        let mut conditions = self.typed.conditions.clone();
        for (name, value) in self.short_runs(ordinary, false).iter().chain(changed) {
            let missing = || Invalid(format!("there is no setting {name}"));
            let (setting, value) = setting(name, value).ok_or_else(missing)?;
            set_text(setting, &mut conditions, &value)?;
        }
        (conditions.stop_bytes, conditions.stop_messages) = (None, None);
        let lab = self.lab.as_ref();
        let mtu_bytes = lab.map_or(u32::from(u16::MAX), |lab| lab.mtu_bytes);
        conditions.check(mtu_bytes)?;
        if lab.is_some() {
            conditions.check_in_lab(mtu_bytes)?;
        }
        match self.arguments.is_with_iperf3() {
            true => request::check(&conditions),
            false => Ok(()),
        }
    }

    /// How many blocks the study has at most.
    pub fn lengths(&self) -> Lengths {
        Lengths {
            blocks: self.until.as_ref().map(|until| until.max_blocks),
            ..Lengths::default()
        }
    }

    /// Executes the study.
    ///
    /// # Errors
    /// As [`Start::execute`].
    pub fn execute(
        &self,
        study: &Study,
        stop: &Arc<AtomicBool>,
        lines: &mut Lines,
    ) -> Result<Executed, Failure> {
        let plan = study.plan(new_seed()?, self.lengths());
        let start = Start {
            out: (!self.arguments.no_log).then_some(&*self.arguments.out),
            allows: match self.arguments.is_with_iperf3() {
                true => request::check,
                false => |_| Ok(()),
            },
            ..Start::new(study, &plan, &self.destination, output::command_line())
        };
        Ok(start.execute(stop, lines)?)
    }
}
