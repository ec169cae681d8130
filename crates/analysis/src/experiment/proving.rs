//! An experiment while it is made: which changes are tried next. First large ones of what is suspected, once each; those
//! with an effect alternate with the unchanged test until that is proved. Where the test is to be better, only changes that
//! relax are tried, until one of them gains.

use serde::{Deserialize, Serialize};

use super::base::Base;
use super::change::{Change, REQUESTED_RATE};
use super::choose::{Possible, STAGES, of_stage};
use super::judge::{Judged, PAIRS, Seen};
use super::round::Round;
use crate::explain::{NotTried, Outcome, Proof, Tried};

/// The most changes of a round that tries each of them once: of the first stage, and of the others. After one that gains no
/// others are tried, so rounds are small where one is likely to.
const BATCH: [usize; 2] = [2, 3];

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum End {
        /// Everything that can be tried was tried, and nothing gains.
        Complete = "complete",
        /// A change may gain, and the runs do not decide it.
        Undecided = "undecided",
        /// The budget ended, or the user stopped it, before everything was tried.
        Early = "early",
    }
}

pub struct Proving<'a> {
    base: &'a Base,
    rounds: Vec<Round>,
    untried: Vec<NotTried>,
    /// The labels of what was tried, or refused.
    done: Vec<String>,
    /// What is tried next of the present stage.
    left: Vec<Change>,
    stage: usize,
}

impl<'a> Proving<'a> {
    /// `done` has the labels of changes that are not tried.
    pub fn new(base: &'a Base, done: Vec<String>) -> Proving<'a> {
        Proving {
            base,
            rounds: Vec::new(),
            untried: Vec::new(),
            done,
            left: Vec::new(),
            stage: 0,
        }
    }

    /// The changes of the next round and its most blocks, where time is left for so many runs; absent where something is
    /// proved, or all was tried.
    pub fn next(&mut self, runs: usize, possible: Possible) -> Option<(Vec<Change>, u32)> {
        let improves = self.base.goal.is_some();
        if self.base.stands_still() && !improves {
            return None;
        }
        let judged = self.judged(None);
        let is_faster = judged.fastest().is_some();
        let is_proved = if improves { is_faster } else { judged.proves() };
        if judged.is_contradicted {
            return None;
        }
        // A path that carries so many packets is slower with what fills it, too.
        if let Some(one) = judged.of_packets() {
            return Some((vec![one.change.clone()], PAIRS - one.tried.blocks));
        }
        if is_proved && (is_faster || self.stage > 1) {
            return None;
        }
        // More flows are faster whatever holds one of them, and less of a resource does not say what helps: what does comes
        // first where there is time. An application has no more than the rate that it requests.
        let late = if improves { STAGES } else { 2 };
        let is_late =
            (self.stage >= late && self.left.is_empty()) || runs < BATCH[1] + 2 * PAIRS as usize;
        let is_answer = |one: &&Seen| match one.relaxes() {
            true => !one.is_of_flows(),
            false => one.change.name() == REQUESTED_RATE && one.change.is_own(self.base),
        };
        if let Some(one) = contender(&judged.seen).filter(|one| is_late || is_answer(one)) {
            return Some((vec![one.change.clone()], PAIRS - one.tried.blocks));
        }
        let gain = judged.more_flows_gain();
        while self.left.is_empty() && self.stage < STAGES && !is_proved {
            let offers = of_stage(self.base, (self.stage, gain), &self.done, possible);
            self.stage += 1;
            self.done.extend(offers.labels());
            self.untried.extend(offers.untried);
            self.left = offers.changes;
        }
        let most = BATCH[usize::from(self.stage > 1)].min(runs.saturating_sub(1));
        let most = most.min(self.left.len());
        // What comes before more flows may make these needless.
        let mut first = self.left[..most].iter();
        let before = first.position(Change::is_of_flows).filter(|at| *at > 0);
        let batch: Vec<Change> = self.left.drain(..before.unwrap_or(most)).collect();
        (!batch.is_empty()).then_some((batch, 1))
    }

    pub fn take(&mut self, round: Round) {
        self.rounds.push(round);
    }

    /// Whether more blocks of a round would change nothing.
    pub fn is_settled(&self, round: &Round) -> bool {
        contender(&self.judged(Some(round)).seen).is_none()
    }

    /// The change that made the test fastest, or cheapest.
    pub fn fastest(&self) -> Option<(Change, Tried)> {
        let judged = self.judged(None);
        let one = judged.fastest()?;
        Some((one.change.clone(), one.tried.clone()))
    }

    /// How the search for what gains ended.
    pub fn end(&self) -> End {
        let judged = self.judged(None);
        match judged.seen.iter().any(Seen::may_gain) {
            _ if self.is_over() || judged.fastest().is_some() => End::Early,
            true => End::Undecided,
            false => End::Complete,
        }
    }

    /// Whether the time was over before everything was tried.
    fn is_over(&self) -> bool {
        self.stage < STAGES || !self.left.is_empty()
    }

    /// What is shown so far.
    pub fn proof(&self) -> Proof {
        let mut proof = self.judged(None).proof();
        if proof.limiter().is_some() {
            return proof;
        }
        let later = self.left.iter();
        let later = later.map(|one| one.how.untried("no time was left for it"));
        proof.untried.extend(later);
        if self.is_over() && matches!(proof.outcome, Outcome::Likely(..)) {
            let why = "the time was over before all was tried";
            proof.outcome = Outcome::Undecided(why.to_owned());
        }
        proof
    }

    /// What the rounds show, with one that is made at present.
    fn judged<'b>(&'b self, present: Option<&'b Round>) -> Judged<'b> {
        let rounds: Vec<&Round> = self.rounds.iter().chain(present).collect();
        Judged::of(self.base, &rounds, &self.untried)
    }
}

/// What more runs may prove: what relaxes and gains most, else the resource that the throughput follows most, else more
/// flows.
fn contender<'a, 'b>(seen: &'b [Seen<'a>]) -> Option<&'b Seen<'a>> {
    let contenders = || seen.iter().filter(|one| one.is_contender());
    let gains = contenders().filter(|one| one.relaxes() && !one.is_of_flows());
    let gains = gains.max_by(|a, b| a.gain.total_cmp(&b.gain));
    let less = contenders().filter(|one| !one.relaxes());
    let less = less.min_by(|a, b| a.gain.total_cmp(&b.gain));
    gains
        .or(less)
        .or_else(|| contenders().find(|one| one.is_of_flows()))
}
