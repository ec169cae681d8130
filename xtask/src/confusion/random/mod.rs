//! Situations that are drawn at random: what bitcost says of each, against what its rate follows when
//! one factor after the other is changed.

mod command;
mod draw;
mod factor;
mod truth;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use command::{Answer, test};
use draw::{Draw, Situation};
use truth::Response;

/// Length of the test that is judged, in seconds.
const SECONDS: &str = "3";

/// What became of the situations of one confidence.
#[derive(Default)]
struct Count {
    right: u32,
    wrong: u32,
}

/// Draws situations, judges what bitcost says of each, and prints a table by confidence.
///
/// # Errors
/// When this machine's rate cannot be measured. A situation that cannot be run is named and left out.
pub fn run(bitcost: &Path, situations: u32, seed: u64, is_proved: bool) -> Result<()> {
    let able = Situation {
        workload: "tcp",
        lab: Some("wire"),
        factors: Vec::new(),
        options: Vec::new(),
    };
    let able_mbps = test(bitcost, &able, SECONDS, false)?.rate;
    println!("this machine: TCP over the wire {able_mbps:.0} Mbit/s; seed {seed}");
    let mut draw = Draw::new(seed, able_mbps * 1e6);
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let (mut unknown, mut left_out) = (0, 0);
    for number in 1..=situations {
        let situation = draw.next();
        println!("{number}: {}", situation.text());
        match judged(bitcost, &situation, is_proved) {
            Ok((answer, responses)) => {
                let is_right = is_right(&situation, &answer, &responses);
                println!("{}", line(&answer, &responses, is_right));
                if answer.limiter == "unknown" {
                    unknown += 1;
                    continue;
                }
                let count = counts.entry(answer.confidence).or_default();
                match is_right {
                    true => count.right += 1,
                    false => count.wrong += 1,
                }
            }
            Err(error) => {
                left_out += 1;
                println!("  not run: {error:#}");
            }
        }
    }
    println!("| confidence | right | wrong |\n|---|---|---|");
    for (confidence, Count { right, wrong }) in &counts {
        println!("| {confidence} | {right} | {wrong} |");
    }
    println!("unknown: {unknown} of {situations}; not run: {left_out}");
    Ok(())
}

fn judged(
    bitcost: &Path,
    situation: &Situation,
    is_proved: bool,
) -> Result<(Answer, Vec<Response>)> {
    let answer = test(bitcost, situation, SECONDS, is_proved)?;
    Ok((answer, truth::responses(bitcost, situation)?))
}

/// Whether the verdict names what the rate follows. Where it follows nothing that was changed, the
/// limit is of the machine: the CPU time of an end, or for transactions what each of them takes.
fn is_right(situation: &Situation, answer: &Answer, responses: &[Response]) -> bool {
    let mut named = responses
        .iter()
        .filter(|response| response.limits())
        .peekable();
    if named.peek().is_none() {
        let own: &[&str] = match situation.workload {
            "rr" => &["sender_cpu", "receiver_cpu", "wake_ups", "latency"],
            _ => &[],
        };
        return own.contains(&answer.limiter.as_str());
    }
    named.any(|response| response.kind.names().contains(&answer.limiter.as_str()))
}

fn line(answer: &Answer, responses: &[Response], is_right: bool) -> String {
    let part = |elasticity: Option<f64>| elasticity.map_or("-".to_owned(), |e| format!("{e:.2}"));
    let follows: Vec<String> = responses
        .iter()
        .map(|response| {
            let mark = if response.limits() { "*" } else { "" };
            let (more, less) = (part(response.more), part(response.less));
            format!("{:?}{mark} {more}/{less}", response.kind)
        })
        .collect();
    format!(
        "  {} {} ({}), {:.1}: {}",
        if is_right { "right" } else { "WRONG" },
        answer.limiter,
        answer.confidence,
        answer.rate,
        follows.join(", ")
    )
}
