//! `--mode auto`: a study of every pair of modes with short runs, whose best cell the test then
//! uses.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::metric;
use bitcost_controller::Ending;
use bitcost_model::modes::Mode;
use bitcost_study::mode_search::{ModeSearch, Named, Try};

use super::described::Test;
use super::progress::Lines;
use crate::failure::Failure;
use crate::opened::say_log;
use crate::output;

impl Test<'_> {
    /// The pairs of modes to search, if the user asks for a search.
    ///
    /// # Errors
    /// Usage, when the workload has no modes, or when named modes contradict `--mode honest`.
    pub fn modes(&self) -> Result<Option<ModeSearch>, Failure> {
        let conditions = &self.typed.conditions;
        let is_named = |name: &str| {
            let mut given = self.arguments.settings.0.iter();
            given.any(|(setting, _)| setting.name == name)
        };
        match self.arguments.mode.as_deref() {
            Some("auto") if conditions.workload.is_transactional() => Err(Failure::Usage(format!(
                "--mode auto is for tcp and udp; {} has no fast modes",
                conditions.workload.info().short_name
            ))),
            Some("auto") => {
                let named = Named {
                    send_mode: is_named("send_mode"),
                    receive_mode: is_named("receive_mode"),
                };
                let mtu_bytes = self.lab.as_ref().map(|lab| lab.mtu_bytes);
                let mtu_bytes = mtu_bytes.unwrap_or(u32::from(u16::MAX));
                Ok(Some(ModeSearch::new(conditions, named, mtu_bytes)))
            }
            Some(_)
                if (conditions.send_mode, conditions.receive_mode) != (Mode::Plain, Mode::Plain) =>
            {
                Err(Failure::Usage(
                    "--mode honest is plain calls at both endpoints; leave out --send-mode and --receive-mode".into(),
                ))
            }
            _ => Ok(None),
        }
    }

    /// Measures every pair, prints the result, and makes the test use the best pair.
    ///
    /// # Errors
    /// Check, when no pair could be measured; otherwise those of the execution.
    pub fn search(
        &mut self,
        mut search: ModeSearch,
        stop: &Arc<AtomicBool>,
    ) -> Result<ModeSearch, Failure> {
        let study = self.study(Some(&search))?;
        output::say(&format!(
            "trying {} pairs of modes",
            search.candidates.len()
        ));
        let mut lines = Lines::new(false, self.arguments.look.verbose, stop.clone());
        let executed = self.execute(&study, Some(&search), stop, &mut lines)?;
        say_log(executed.folder.as_deref());
        if executed.ending? == Ending::Interrupted {
            return Err(Failure::Interrupted);
        }
        take_tries(&mut search, &executed.findings?);
        let Some(chosen) = search.chosen() else {
            return Err(Failure::Check(format!(
                "--mode auto found no pair of modes that works here: {}",
                reasons(&search)
            )));
        };
        let (send_mode, receive_mode) = (chosen.send_mode, chosen.receive_mode);
        self.typed.set("send_mode", send_mode.name());
        self.typed.set("receive_mode", receive_mode.name());
        let found = bitcost_render::mode_search::mode_search_text(&search);
        if self.arguments.look.is_for_people() {
            output::print(&found)?;
        } else {
            output::say(found.trim_end());
        }
        Ok(search)
    }
}

/// Takes the runs of each pair from its study.
fn take_tries(search: &mut ModeSearch, execution: &Findings) {
    let summary = &execution.summary;
    for row in &summary.runs {
        let Some(cell) = summary.planned.get(row.cell) else {
            continue;
        };
        let pair = (cell.conditions.send_mode, cell.conditions.receive_mode);
        let mut candidates = search.candidates.iter_mut();
        let Some(candidate) =
            candidates.find(|found| (found.send_mode, found.receive_mode) == pair)
        else {
            continue;
        };
        match outcome(row) {
            Ok(outcome) => candidate.tries.push(outcome),
            Err(reason) => candidate.refused = Some(reason),
        }
    }
}

fn outcome(row: &RunRow) -> Result<Try, String> {
    let reason = row.reason.clone();
    if row.status != Status::Used {
        return Err(reason.unwrap_or_else(|| row.status.name().to_owned()));
    }
    let figure = |name: &str| metric(name).and_then(|metric| row.value(metric));
    let throughput_mbps = figure("throughput_mbps").filter(|mbps| *mbps > 0.0);
    Ok(Try {
        throughput_mbps: throughput_mbps.ok_or("nothing was received in its window")?,
        send_service_demand_us_per_kib: figure("send_service_demand_us_per_kib"),
        receive_service_demand_us_per_kib: figure("receive_service_demand_us_per_kib"),
    })
}

/// Why pairs were refused, each reason once.
fn reasons(search: &ModeSearch) -> String {
    let refused = search.candidates.iter();
    let reasons: BTreeSet<&str> = refused
        .filter_map(|candidate| candidate.refused.as_deref())
        .collect();
    reasons.into_iter().collect::<Vec<_>>().join("; ")
}
