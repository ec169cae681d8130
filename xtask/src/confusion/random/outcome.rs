//! Whether a verdict is right, and the table of all.

use std::collections::BTreeMap;
use std::fmt;

use bitcost_stats::median;

use super::command::Answer;
use super::draw::Situation;
use super::factor::Kind;
use super::kept::Found;
use super::remedy;
use super::truth::{Decision, Response, Truth};

/// Whether a verdict names what the rate follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Right,
    Wrong,
    /// It may name something that is not decided.
    Open,
}

/// What became of the situations of one confidence.
#[derive(Default)]
struct Count {
    right: u32,
    wrong: u32,
}

/// The situations so far.
#[derive(Default)]
pub struct Table {
    counts: BTreeMap<String, Count>,
    unknown: u32,
    open: u32,
    without: u32,
    advised: u32,
    lowering: u32,
    seconds: Vec<f64>,
}

impl Table {
    /// Adds a situation; returns its lines.
    pub fn add(&mut self, situation: &Situation, found: &Found, answer: Option<&Answer>) -> String {
        self.seconds.push(found.seconds);
        let head = format!("{}: {}", found.number, situation.text());
        let (Some(truth), Some(answer)) = (&found.truth, answer) else {
            self.without += 1;
            return format!("{head}\n  {}", found.why);
        };
        let outcome = outcome(situation, answer, truth);
        let is_unknown = answer.limiter == "unknown";
        match outcome {
            Outcome::Open => self.open += 1,
            _ if is_unknown => self.unknown += 1,
            Outcome::Right => self.count(answer).right += 1,
            Outcome::Wrong => self.count(answer).wrong += 1,
        }
        // A verdict that is judged again may advise something else than what was tried.
        let given = remedy::made(situation, &answer.remedies);
        let mut advice = truth.responses.iter().filter(|made| {
            made.kind.is_none() && given.iter().any(|(words, _)| *words == made.words)
        });
        let is_lower = advice.clone().any(|made| made.lowers(truth.noise));
        self.advised += u32::from(advice.next().is_some());
        self.lowering += u32::from(is_lower);
        let word = match outcome {
            Outcome::Open => "open",
            _ if is_unknown => "unknown",
            Outcome::Right => "right",
            Outcome::Wrong => "WRONG",
        };
        let of = |response: &Response| {
            let mark = match response.decision {
                Decision::Follows => "*",
                Decision::DoesNot => "",
                Decision::Open => "?",
                Decision::Refused => "!",
            };
            let gain = response.mean().map_or(0.0, |mean| 100.0 * mean.exp_m1());
            let change = match response.kind {
                Some(kind) => format!("{kind:?} x{:.2}", response.ratio),
                None => format!("[{}]", response.words),
            };
            format!("{change}{mark} {gain:+.0} %")
        };
        let tried = truth.responses.iter().filter(|made| !made.logs.is_empty());
        let tried = tried.map(of).collect::<Vec<_>>().join(", ");
        let (noise, seconds) = (100.0 * truth.noise, found.seconds);
        format!(
            "{head}\n  {word} {} ({}), {:.1}: {tried} (noise {noise:.0} %, {seconds:.0} s)",
            answer.limiter, answer.confidence, answer.rate
        )
    }

    fn count(&mut self, answer: &Answer) -> &mut Count {
        self.counts.entry(answer.confidence.clone()).or_default()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| confidence | right | wrong |\n|---|---|---|")?;
        for (confidence, Count { right, wrong }) in &self.counts {
            writeln!(f, "| {confidence} | {right} | {wrong} |")?;
        }
        let made = self.seconds.len();
        writeln!(
            f,
            "situations: {made}; unknown: {}; without a truth or not run: {}; truth open: {}",
            self.unknown, self.without, self.open
        )?;
        let each = median(&self.seconds).unwrap_or(0.0);
        write!(
            f,
            "advice tried: {}, lowers the rate: {}; median {each:.0} s a situation",
            self.advised, self.lowering
        )
    }
}

/// Whether the verdict names what the rate follows. Where it follows nothing that was changed, the
/// limit is of the machine, which no verdict but *unknown* says; of transactions it is what each of
/// them takes. *Latency* is right where more of them at a time are more in a second.
fn outcome(situation: &Situation, answer: &Answer, truth: &Truth) -> Outcome {
    let of = |decision: Decision| {
        let responses = truth.responses.iter();
        let kinds = responses.filter(move |response| response.decision == decision);
        kinds.filter_map(|response| response.kind)
    };
    let names = |kind: Kind| kind.names().contains(&answer.limiter.as_str());
    // Advice that gains relaxes what is named. More flows do that for latency alone, and buffers and queues, which advice
    // makes much larger, are factors themselves.
    let is_own = |made: &&Response| {
        let of = |factors: &[&str]| factors.iter().any(|word| made.words.contains(word));
        let is_else =
            of(&["buffer", "queue", "mem max"]) || (of(&["flows"]) && answer.limiter != "latency");
        made.kind.is_none() && !is_else
    };
    let mut advice = truth.responses.iter().filter(is_own);
    if of(Decision::Follows).any(names) || advice.any(Response::is_followed) {
        return Outcome::Right;
    }
    // What was not tried, since more of it is open, is open with it.
    let is_nothing = of(Decision::Follows).next().is_none();
    let mut open = truth.responses.iter().filter(|response| {
        response.kind.is_some() && response.decision == Decision::Open && !response.logs.is_empty()
    });
    if open.clone().filter_map(|response| response.kind).any(names)
        || (is_nothing && open.next().is_some())
    {
        return Outcome::Open;
    }
    let own: &[&str] = match situation.workload {
        "rr" => &["sender_cpu", "receiver_cpu", "wake_ups"],
        _ => &[],
    };
    match is_nothing && own.contains(&answer.limiter.as_str()) {
        true => Outcome::Right,
        false => Outcome::Wrong,
    }
}
