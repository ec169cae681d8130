//! A verdict from figures alone, for runs of other programs: there is less evidence, so its
//! confidence is never high.

use crate::explain::bounds::LOSS_PCT;
use crate::explain::decide::next;
use crate::explain::figures::RunFigures;
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, Confidence, Evidence, Verdict};
use crate::explain::limiters::{RECEIVER_CPU, SENDER_CPU, unknown};

/// Use of the busiest CPU in per cent from which it is full.
const FULL_PCT: f64 = 99.5;

/// What limited a run for which only figures are known.
pub fn explain_figures(run: &RunFigures) -> Verdict {
    let candidates = candidates(run);
    match candidates.iter().find(|candidate| candidate.holds()) {
        Some(found) => Verdict {
            chosen: found.clone(),
            confidence: if run.is_paced {
                Confidence::Low
            } else {
                Confidence::Medium
            },
            runner_up: next(&candidates, Some(&found.limiter)),
            share: 1.0,
            by_figures: true,
            others: None,
        },
        None => {
            let why = "its figures show no full CPU and no loss that a full CPU explains";
            Verdict {
                by_figures: true,
                ..unknown(why, next(&candidates, None))
            }
        }
    }
}

fn candidates(run: &RunFigures) -> Vec<Candidate> {
    let evidence = |name: &'static str, unit: &'static str, bound| {
        Some(Evidence {
            counter: name.to_owned(),
            value: run.get(name)?,
            unit,
            bound,
        })
    };
    let full = |name| evidence(name, "%", AtLeast(FULL_PCT));
    let lost = evidence("loss_pct", "%", AtLeast(LOSS_PCT));
    let kept = evidence("loss_pct", "%", AtMost(LOSS_PCT));
    let (receiver, sender) = (full("receiver_peak_cpu_pct"), full("sender_peak_cpu_pct"));
    let mut found = Vec::new();
    let mut add = |limiter, detail: &str, evidence: Vec<Option<Evidence>>| {
        if let Some(evidence) = evidence.into_iter().collect::<Option<Vec<_>>>() {
            found.push(Candidate {
                limiter,
                detail: detail.to_owned(),
                evidence,
                remedy: None,
                rival: None,
            });
        }
    };
    add(
        RECEIVER_CPU.limiter(),
        "its busiest CPU is full, and datagrams are lost",
        vec![receiver.clone(), lost],
    );
    let sender_free = vec![sender, kept.clone()];
    match kept {
        Some(_) => add(SENDER_CPU.limiter(), "its busiest CPU is full", sender_free),
        None => add(
            SENDER_CPU.limiter(),
            "its busiest CPU is full",
            sender_free.into_iter().take(1).collect(),
        ),
    }
    if !run.is_datagram {
        add(
            RECEIVER_CPU.limiter(),
            "its busiest CPU is full",
            vec![receiver],
        );
    }
    found
}
