//! The searches for fast options of an execution, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use bitcost_analysis::summary::Summary;
use bitcost_model::harmless;
use bitcost_model::search::{Changes, Goal, Search, Trial};
use bitcost_model::units::counted;
use bitcost_study::mode_search::{calls, middle, options};
use serde_json::{Value, json};

use crate::block::Block;
use crate::layout::{labelled, paragraph};
use crate::number;

/// What one search found, in a sentence.
pub fn search_sentence(search: &Search) -> String {
    let made = format!(
        "{} in {} s",
        counted(search.trials.len(), "trial"),
        number::plain(search.took_ms as f64 / 1000.0)
    );
    let goal = match search.goal {
        Goal::Rate => "faster",
        Goal::Cost => "cheaper",
    };
    if search.taken.is_empty() && !is_decided(search) {
        return format!("auto: plain calls, because the time was too short to compare: {made}");
    }
    if search.taken.is_empty() {
        return format!("auto: nothing is {goal} than plain calls: {made}");
    }
    let only = match search.is_better {
        true => "",
        false => ", although plain calls had no result",
    };
    format!("auto: {}{only}: {made}", options(&search.taken))
}

/// Whether every combination of the last round that was not refused has two results or more.
fn is_decided(search: &Search) -> bool {
    let last = search.trials.last().map_or(0, |trial| trial.round);
    let mut results = BTreeMap::<&Changes, usize>::new();
    for trial in search.trials.iter().filter(|trial| trial.round == last) {
        if trial.refused.is_none() {
            *results.entry(&trial.settings).or_default() += usize::from(trial.measured.is_some());
        }
    }
    !results.is_empty() && results.values().all(|count| *count >= 2)
}

/// The searches of an execution: what was taken, against plain calls, what it changes of an
/// application's calls, the options that give the same again, and what was refused.
pub(crate) fn searches(summary: &Summary) -> Option<Block> {
    let mut text = String::new();
    for search in &summary.searches {
        let name = summary.planned.get(search.cell).map(|cell| cell.name());
        let named = name.filter(|_| summary.planned.len() > 1);
        let _ = writeln!(
            text,
            "{}{}",
            named.map_or_else(String::new, |name| format!("{}: ", harmless(&name))),
            search_sentence(search)
        );
        finalists(search).for_each(|line| text += &line);
        let calls = calls(&search.taken);
        text += &calls.map_or_else(String::new, |words| labelled("calls", &words));
        for (reason, left_out) in refused(search) {
            let words = format!("{}: {reason}", left_out.join(", "));
            text += &labelled("left out", &words);
        }
        if !search.untried.is_empty() {
            let count = counted(search.untried.len(), "combination");
            text += &labelled("not tried", &format!("{count}, because the time ran out"));
        }
    }
    text += &again(summary, summary.searches.first()?);
    Some(Block::Listing(text))
}

/// The command line of a test with what its search took instead of the search.
fn again(summary: &Summary, search: &Search) -> String {
    if summary.planned.len() > 1 {
        return String::new();
    }
    let mut words = summary.command_line.iter().skip(1);
    let mut kept: Vec<&str> = vec!["bitcost"];
    while let Some(word) = words.next() {
        match word.as_str() {
            "--mode" | "--for" => drop(words.next()),
            word if word.starts_with("--mode=") || word.starts_with("--for=") => {}
            word => kept.push(word),
        }
    }
    let options = options(&search.taken);
    if !search.taken.is_empty() {
        kept.push(&options);
    }
    paragraph("without search: ", &harmless(&kept.join(" ")), usize::MAX)
}

/// A line for each combination of the last round: the median throughput, and the median cost.
fn finalists(search: &Search) -> impl Iterator<Item = String> + '_ {
    let last = search.trials.last().map_or(0, |trial| trial.round);
    let mut found: Vec<&Changes> = Vec::new();
    for trial in search.trials.iter().filter(|trial| trial.round == last) {
        if !found.contains(&&trial.settings) {
            found.push(&trial.settings);
        }
    }
    found.into_iter().filter_map(move |settings| {
        let trials = search.trials.iter();
        let of = |trial: &&Trial| trial.round == last && trial.settings == *settings;
        let measured: Vec<_> = trials
            .filter(of)
            .filter_map(|trial| trial.measured)
            .collect();
        let mbps = middle(measured.iter().map(|one| one.rate))?;
        let cost = middle(measured.iter().filter_map(|one| one.cost_us));
        let cost = cost.map_or_else(String::new, |cost| {
            format!(", {} µs/KiB", number::plain(cost))
        });
        let times = counted(measured.len(), "trial");
        Some(format!(
            "  {}: {} Mbit/s{cost} ({times})\n",
            options(settings),
            number::plain(mbps)
        ))
    })
}

/// Each reason with the options that it left out.
fn refused(search: &Search) -> BTreeMap<String, Vec<String>> {
    let mut reasons = BTreeMap::<String, Vec<String>>::new();
    for trial in &search.trials {
        if let Some(reason) = &trial.refused {
            let left_out = reasons.entry(harmless(reason)).or_default();
            left_out.push(options(&trial.settings));
        }
    }
    reasons
}

/// The searches as JSON, each with its trials and with what it took as options.
pub(crate) fn searches_json(searches: &[Search]) -> Value {
    let one = |search: &Search| {
        let mut document = json!(search);
        document["options"] = json!(options(&search.taken));
        document["calls"] = json!(calls(&search.taken));
        document
    };
    searches.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use bitcost_model::search::Measured;

    use super::*;

    fn trial(round: u32, settings: &[(&str, &str)], outcome: Result<f64, &str>) -> Trial {
        let settings = settings.iter();
        let settings = settings.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Trial {
            round,
            settings: settings.collect(),
            window_ms: 80,
            measured: outcome.ok().map(|rate| Measured {
                rate,
                cost_us: Some(0.3),
            }),
            refused: outcome.err().map(str::to_owned),
        }
    }

    #[test]
    fn plain_calls_are_called_fastest_only_where_that_was_compared() {
        let fast = [("send_mode", "writev")];
        let said = |trials: Vec<Trial>| {
            search_sentence(&Search {
                cell: 0,
                goal: Goal::Rate,
                trials,
                taken: Changes::new(),
                is_better: false,
                untried: Vec::new(),
                took_ms: 3000,
            })
        };
        let pair = || [trial(4, &fast, Ok(990.0)), trial(4, &[], Ok(1000.0))];
        let once = said(pair().into());
        assert!(once.contains("too short to compare"), "{once}");
        assert!(said(Vec::new()).contains("too short to compare"));
        let twice = said(pair().into_iter().chain(pair()).collect());
        assert!(twice.contains("nothing is faster"), "{twice}");
    }

    #[test]
    fn finalists_and_refusals_are_told_once() {
        let fast = [("send_mode", "writev"), ("receive_buffer_bytes", "48K")];
        let search = Search {
            cell: 0,
            goal: Goal::Rate,
            trials: vec![
                trial(0, &[("send_mode", "splice")], Err("forbidden")),
                trial(4, &fast, Ok(3000.0)),
                trial(4, &[], Ok(1000.0)),
                trial(4, &fast, Ok(3100.0)),
            ],
            taken: trial(4, &fast, Ok(1.0)).settings,
            is_better: true,
            untried: Vec::new(),
            took_ms: 2500,
        };
        let lines: Vec<String> = finalists(&search).collect();
        assert_eq!(
            lines,
            [
                "  --receive-buffer 48K --send-mode writev: 3000 Mbit/s, 0.300 µs/KiB (2 trials)\n",
                "  plain calls: 1000 Mbit/s, 0.300 µs/KiB (1 trial)\n"
            ]
        );
        assert_eq!(
            refused(&search).into_iter().collect::<Vec<_>>(),
            [(
                "forbidden".to_owned(),
                vec!["--send-mode splice".to_owned()]
            )]
        );
        assert_eq!(
            search_sentence(&search),
            "auto: --receive-buffer 48K --send-mode writev: 4 trials in 2.50 s"
        );
        let document = searches_json(&[search]);
        assert_eq!(document[0]["trials"][1]["measured"]["rate"], 3000.0);
        assert_eq!(
            document[0]["calls"],
            "receive buffer 48 KiB; writev instead of plain send calls"
        );
    }
}
