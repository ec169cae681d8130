//! What may change how the figures of a run are read.

use bitcost_model::record::Role;
use bitcost_model::units::{counted, plain};

use super::in_effect::{cached_metrics, foreign_datagrams, not_in_effect, undelivered};
use crate::metrics::{RunView, disturbance, emulator_trouble, marks};

/// What may change how the figures of a run are read, a sentence each.
pub fn caveats_of(run: &RunView) -> Vec<String> {
    let mut found: Vec<String> = of_iperf3(run).into_iter().collect();
    let settings = not_in_effect(run)
        .into_iter()
        .map(|setting| format!("not in effect: {setting}"));
    found.extend(settings);
    found.extend(disturbance(run).map(|disturbance| disturbance.to_string()));
    found.extend(emulator_trouble(run).map(|trouble| trouble.to_string()));
    let weak = marks(run);
    let weak = weak.iter().filter(|mark| mark.attributed);
    found.extend(
        weak.filter_map(|mark| Some(format!("{}: {}", mark.end?.name(), mark.weak.reason()))),
    );
    found.extend(
        cached_metrics(run)
            .into_iter()
            .chain(foreign_datagrams(run))
            .chain(undelivered(run)),
    );
    found
}

/// What is known of the end that an iperf3 server played.
fn of_iperf3(run: &RunView) -> Option<String> {
    let (role, server) = [Role::Sender, Role::Receiver]
        .into_iter()
        .find_map(|role| Some((role, run.end(role).iperf3.as_ref()?)))?;
    let mut words = format!(
        "the {} is an iperf3 server: it reports only its totals",
        role.name()
    );
    if let Some([all, _, _]) = server.process_cpu_pct {
        words += &format!(
            ", and {} % of a CPU for its process, without the kernel's work for it elsewhere",
            plain(all)
        );
    }
    if let Some(jitter) = server.jitter_s {
        words += &format!("; jitter there {} µs", plain(jitter * 1e6));
    }
    if let Some(count) = server.retransmitted {
        words += &format!(
            "; {} retransmitted there",
            counted(count as usize, "segment")
        );
    }
    Some(words)
}
