//! From the runs of an experiment to what they prove, or to what makes the test better.

use bitcost_model::search::Goal;
use bitcost_stats::median;

use super::base::{Base, gain};
use super::change::{CONGESTION, Change, PATH_RATE, RECEIVER_CPU, SEGMENTS, SENDER_CPU};
use super::round::{Round, Run, UNCHANGED};
use super::tighten::BUSY;
use crate::explain::{Decision, Limiter, NotTried, ON_THE_PATH, Outcome, Proof, Tried, limiter};

/// The alternations of a change with the unchanged test that prove it.
pub(super) const PAIRS: u32 = 4;

/// What relaxes a limit makes a test faster at least by this factor.
pub(super) const FASTER: f64 = 1.15;

/// The least gain that is worth a change, as a ratio.
pub(super) const WORTH: f64 = 1.03;

/// A resource limits where the throughput follows more of its change than this share; two that share a limit have about
/// a half each, and what does not limit has none.
const FOLLOWS: f64 = 0.3;

/// More than this many times its change is not possible: something else changed, too.
const POSSIBLE: f64 = 3.0;

/// Of an effect that counts, the share under which there is none.
const NO_EFFECT: f64 = 0.5;

/// The factor by which a change grows what it aims at, or lowers it, to be one.
const MOVED: f64 = 1.1;

/// An end that is busy for this share of the time may be what another congestion control relieves.
const HALF: f64 = 0.5;

/// The least rate of unchanged short runs ÷ that of the test: slower ones may have another bottleneck.
const LIKE_THE_TEST: f64 = 0.67;

/// The least and the greatest figure of what is unchanged.
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    fn factor(&self) -> f64 {
        self.most / self.least
    }
}

/// What the runs show of a change.
pub(super) struct Seen<'a> {
    pub change: &'a Change,
    pub tried: Tried,
    /// How many times as good it is as what is unchanged.
    pub gain: f64,
    /// Its effect ÷ the least one that counts; over 1 it stands out.
    effect: f64,
    /// Whether each of its runs is outside of the range of what is unchanged, on the side of its effect.
    is_apart: bool,
}

impl Seen<'_> {
    /// Whether more runs may prove it.
    pub fn is_contender(&self) -> bool {
        let few = self.tried.blocks < PAIRS && self.tried.limits == Decision::Open;
        few && self.is_apart && self.effect >= 1.0
    }

    pub fn is_of_flows(&self) -> bool {
        self.change.is_of_flows()
    }

    pub fn relaxes(&self) -> bool {
        self.change.row.relaxes()
    }

    /// Whether it may be worth a change, and its runs do not tell.
    pub fn may_gain(&self) -> bool {
        self.tried.limits == Decision::Open && self.effect >= 1.0
    }
}

/// All runs of a test and of its changes.
pub(super) struct Judged<'a> {
    base: &'a Base,
    range: Option<Range>,
    pub seen: Vec<Seen<'a>>,
    untried: Vec<NotTried>,
    blocks: u32,
    /// Why they are no base of a proof.
    unsound: Option<String>,
    /// Whether less CPU time made the test faster, after which nothing is proved.
    pub is_contradicted: bool,
}

impl<'a> Judged<'a> {
    /// `untried` is what was not tried.
    pub fn of(base: &'a Base, rounds: &[&'a Round], untried: &[NotTried]) -> Judged<'a> {
        let unchanged = rounds.iter().flat_map(|round| round.results(UNCHANGED));
        let figures: Vec<f64> = unchanged.filter_map(|run| figure(base, run)).collect();
        let mut judged = Judged {
            base,
            range: range(base, &figures),
            seen: Vec::new(),
            untried: untried.to_vec(),
            blocks: rounds.iter().map(|round| round.blocks()).sum(),
            unsound: unsound(base, &figures),
            is_contradicted: false,
        };
        for change in rounds.iter().flat_map(|round| &round.changes) {
            let mut known = judged.seen.iter();
            if known.all(|one| one.change.how.label != change.how.label) {
                judged.add(change, rounds);
            }
        }
        judged.check_path();
        judged.check_packets();
        judged.check_cpus();
        judged
            .seen
            .sort_by_key(|one| one.tried.limits != Decision::Limits);
        judged
    }

    /// Adds what all runs of a change show, or why it counts as not tried.
    fn add(&mut self, change: &'a Change, rounds: &[&Round]) {
        let label = &change.how.label;
        match (pooled(rounds, label).as_ref()).and_then(|pool| self.see(change, pool)) {
            Some(Ok(seen)) => self.seen.push(seen),
            Some(Err(why)) if self.untried.iter().all(|one| one.label != *label) => {
                self.untried.push(change.how.untried(why));
            }
            _ => {}
        }
    }

    fn see(&self, change: &'a Change, pool: &Round) -> Option<Result<Seen<'a>, String>> {
        let one = match pool.of_change(1)? {
            Ok(one) => one,
            Err(why) => return Some(Err(why)),
        };
        let range = self.range.as_ref()?;
        let moved = moved(change, pool);
        let gives = change.row.relaxes();
        let least = self.base.goal.map_or(FASTER, |_| WORTH);
        let gain = gain(self.base.goal.unwrap_or_default(), false, &one);
        let gain = gain.map_or(0.0, |gain| gain.value);
        let is_better = gain >= least;
        match moved {
            Some(times) if times < MOVED && !(gives && is_better) => {
                return Some(Err("the counters do not show the change".to_owned()));
            }
            None if !gives => return Some(Err("the counters do not show the change".to_owned())),
            _ => {}
        }
        let elasticity = moved.filter(|_| !gives);
        let elasticity = elasticity.map(|times| one.rate.map(|ratio| -ratio.ln() / times.ln()));
        let effect = match elasticity {
            Some(of) if of.value > POSSIBLE => {
                return Some(Err(format!(
                    "throughput fell by more than {:.0} % less of it explains: something else changed",
                    100.0 * (1.0 - moved.map_or(1.0, f64::recip))
                )));
            }
            Some(of) => of.value / FOLLOWS,
            None => gain.ln() / least.ln(),
        };
        let is_apart = pool.results(1).all(|run| match gives {
            true => figure(self.base, run) > Some(range.most),
            false => run.rate < range.least,
        });
        let stands_still = range.factor() < FASTER;
        let limits = match effect {
            _ if effect >= 1.0 && is_apart && one.blocks >= PAIRS => Decision::Limits,
            _ if effect < NO_EFFECT && (stands_still || one.blocks > 1) => Decision::DoesNot,
            _ => Decision::Open,
        };
        let tried = Tried {
            changed: change.changed(moved.map(f64::recip)),
            elasticity,
            limits,
            ..one
        };
        Some(Ok(Seen {
            change,
            tried,
            gain,
            effect,
            is_apart,
        }))
    }

    /// A background stream shows no rate of the path where it takes a CPU's time as well.
    fn check_path(&mut self) {
        let cpu =
            self.has(SENDER_CPU, Decision::Limits) || self.has(RECEIVER_CPU, Decision::Limits);
        if self.base.own_lab().is_none() && cpu {
            let is_path = |one: &mut Seen| one.change.name() == PATH_RATE;
            let taken = self.seen.extract_if(.., is_path);
            let why = "the background stream takes CPU time, too";
            self.untried
                .extend(taken.map(|one| one.change.how.untried(why)));
        }
    }

    /// Of a path whose rate limits, whether it carries packets and not bits needs an interval alone.
    fn check_packets(&mut self) {
        let is_path = self.has(PATH_RATE, Decision::Limits);
        let is_of_packets = |one: &&mut Seen| {
            let low = one.tried.elasticity.and_then(|of| of.low);
            one.change.name() == SEGMENTS && one.effect >= 1.0 && low > Some(0.0)
        };
        let seen = self.seen.iter_mut().filter(|_| is_path);
        for one in seen
            .filter(is_of_packets)
            .filter(|one| one.tried.blocks >= PAIRS)
        {
            one.tried.limits = Decision::Limits;
        }
    }

    /// Less CPU time makes nothing faster: where it seems to, something else changes meanwhile.
    fn check_cpus(&mut self) {
        let Some(range) = &self.range else { return };
        let mut cpus = self.seen.iter().filter(|one| {
            let is_cpu = [SENDER_CPU, RECEIVER_CPU].contains(&one.change.name());
            is_cpu && one.tried.rate.value >= FASTER * range.factor()
        });
        let faster = cpus.next().map(|one| {
            let rose = 100.0 * (one.tried.rate.value - 1.0);
            format!(
                "with {} throughput rose by {rose:.0} %: something else changes meanwhile",
                one.tried.changed
            )
        });
        self.is_contradicted = faster.is_some();
        self.unsound = self.unsound.take().or(faster);
    }

    fn has(&self, name: &str, decision: Decision) -> bool {
        let mut seen = self.seen.iter();
        seen.any(|one| one.change.name() == name && one.tried.limits == decision)
    }

    /// The limiter that a change finds which limits. Flows share any limit of one connection, and smaller segments are
    /// slower where a CPU or the path limits packets, or losses the congestion window, which is a number of segments.
    fn finds(&self, change: &Change) -> Option<Limiter> {
        let is_spared = |(name, busy): (&str, Option<f64>)| {
            busy.is_some_and(|share| share < BUSY) || self.has(name, Decision::DoesNot)
        };
        let ends = [SENDER_CPU, RECEIVER_CPU].into_iter();
        let mut ends = ends.zip(self.base.load.busy);
        if change.name() == SEGMENTS && self.base.own_lab().is_none() && ends.all(is_spared) {
            let mut known = self.base.named.iter().chain(&self.base.next);
            let lost = known.find(|one| one.name() == "congestion_window_loss");
            let of_path = limiter("packets_per_second", ON_THE_PATH);
            let of_path = of_path.filter(|_| !self.has(PATH_RATE, Decision::DoesNot));
            return lost.cloned().or(of_path);
        }
        if change.is_of_flows() {
            let mut suspects = self.base.next.iter();
            let suspect = suspects.find(|one| change.row.is_of(one)).cloned();
            return match self.base.is_lossy() {
                true => limiter("congestion_window_loss", ""),
                // More of them get more of what others share.
                false => suspect.or_else(|| limiter("competing_traffic", "")),
            };
        }
        match change.resource() {
            Some(resource) => (resource.finds)(&self.base.conditions),
            None => self.relaxed_by(change),
        }
    }

    /// Of the limiters that a change relaxes the one that is suspected most, else the first. A congestion control may be
    /// faster for other reasons than loss, and what takes less CPU time is of the end whose CPU is shown to limit.
    fn relaxed_by(&self, change: &Change) -> Option<Limiter> {
        let mut suspects = self.base.named.iter().chain(&self.base.next);
        let suspect = suspects.find(|one| change.row.is_of(one)).cloned();
        let cpus = [SENDER_CPU, RECEIVER_CPU];
        if suspect.is_none() && change.row.of.iter().any(|name| cpus.contains(name)) {
            let end = cpus
                .into_iter()
                .find(|name| self.has(name, Decision::Limits));
            return limiter(end?, "");
        }
        if suspect.is_none() && change.row.name == CONGESTION && !self.base.is_lossy() {
            // One that paces takes more CPU time for the same data.
            let shares = self.base.load.busy.map(Option::unwrap_or_default);
            let busy = cpus.into_iter().zip(shares).filter(|end| end.1 >= HALF);
            let (busiest, _) = busy.max_by(|a, b| a.1.total_cmp(&b.1))?;
            return limiter(busiest, "");
        }
        let is_datagram = self.base.conditions.workload.is_datagram();
        let mut names = change.row.of.iter();
        let name = names.find(|name| match is_datagram {
            true => !name.starts_with("congestion") && **name != "receive_buffer",
            false => !name.starts_with("udp"),
        });
        suspect.or_else(|| limiter(name?, ""))
    }

    /// Smaller segments, which may show that a path of which less rate is slower carries packets, and not bits.
    pub fn of_packets(&self) -> Option<&Seen<'a>> {
        let is_path = self.has(PATH_RATE, Decision::Limits);
        let mut seen = self.seen.iter().filter(|_| is_path);
        seen.find(|one| {
            let is_open = one.effect >= 1.0 && one.tried.blocks < PAIRS;
            one.change.name() == SEGMENTS && is_open
        })
    }

    fn outcome(&self) -> Outcome {
        if let Some(why) = &self.unsound {
            return Outcome::Undecided(why.clone());
        }
        let limits = |one: &&Seen| one.tried.limits == Decision::Limits;
        let own: Vec<&Seen> = self
            .seen
            .iter()
            .filter(|one| one.change.is_own(self.base))
            .collect();
        // More flows are faster whatever holds one of them.
        let without = own
            .iter()
            .filter(|one| !one.is_of_flows() && one.tried.limits == Decision::DoesNot);
        let without: Vec<&&Seen> = without.collect();
        let refutes = without.iter().any(|one| one.relaxes());
        // Where more of a resource was read back and gains nothing, less of it is another limit.
        let is_ample = without.iter().any(|one| one.change.row.grows.is_some());
        let mut proving = own.iter().filter(|one| match one.is_of_flows() {
            true => limits(one) && without.is_empty(),
            false => limits(one) && (one.relaxes() || !is_ample),
        });
        let has = |name| self.has(name, Decision::Limits);
        let of_packets = limiter("packets_per_second", ON_THE_PATH);
        let of_packets = of_packets.filter(|_| has(SEGMENTS) && has(PATH_RATE));
        if of_packets.is_none() && proving.next().is_some() {
            return Outcome::Proved;
        }
        let others = self
            .seen
            .iter()
            .filter(limits)
            .filter(|one| !one.change.is_own(self.base));
        let found = others.filter_map(|one| Some((one, self.finds(one.change)?)));
        let rank = |one: &Seen| (!one.is_of_flows(), one.effect);
        let found = found.max_by(|(a, _), (b, _)| {
            let (a, b) = (rank(a), rank(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let found = of_packets.or(found.map(|(_, found)| found));
        let named = self.base.named.as_ref();
        match (found, named) {
            (Some(found), Some(named)) if found == *named => Outcome::Proved,
            (Some(found), Some(_)) => Outcome::Refuted(found),
            (Some(found), None) => Outcome::Found(found),
            (None, _) => self.nothing(refutes),
        }
    }

    /// The outcome where no change limits: where none that was tried makes the test faster, the path carries no more.
    fn nothing(&self, refutes: bool) -> Outcome {
        if let Some(one) = self
            .seen
            .iter()
            .find(|one| one.tried.limits == Decision::Limits)
        {
            let changed = &one.tried.changed;
            let is = if one.relaxes() { "faster" } else { "slower" };
            return Outcome::Undecided(format!(
                "it is {is} with {changed}, which does not say what limits it"
            ));
        }
        if let Some(one) = self.seen.iter().find(|one| one.is_contender()) {
            let changed = &one.tried.changed;
            return Outcome::Undecided(format!(
                "no time was left to repeat the runs with {changed}"
            ));
        }
        let mut seen = self.seen.iter();
        if !seen.all(|one| one.tried.limits == Decision::DoesNot) {
            let factor = self.range.as_ref().map_or(1.0, Range::factor);
            return Outcome::Undecided(match factor < FASTER {
                true => "no change had an effect in every run".to_owned(),
                false => format!(
                    "the rate varies by a factor of {factor:.1} without any change, as much as with one"
                ),
            });
        }
        if self.seen.is_empty() {
            return Outcome::Undecided("nothing could be changed from here".to_owned());
        }
        let tried = self.seen.iter().filter(|one| one.relaxes());
        let labels: Vec<&str> = tried.map(|one| &*one.tried.label).collect();
        let because = match labels.is_empty() {
            true => "throughput follows nothing that can be taken away from here".to_owned(),
            false => format!(
                "nothing that can be changed from here makes it faster: tried {}",
                labels.join(", ")
            ),
        };
        let is_stream = !self.base.conditions.workload.is_transactional();
        let has_room = self.has(PATH_RATE, Decision::DoesNot);
        let path = limiter("rate", ON_THE_PATH);
        let path = path.filter(|_| is_stream && !has_room && !labels.is_empty());
        match path.filter(|_| self.base.named.is_none() || refutes) {
            Some(path) => Outcome::Likely(path, because),
            None => Outcome::Undecided(because),
        }
    }

    /// The change that made the test fastest, in all alternations, or in all that time was left for.
    pub fn fastest(&self) -> Option<&Seen<'a>> {
        let is_sure = |one: &&Seen| match one.tried.limits {
            Decision::Limits => true,
            _ => one.is_contender() && one.tried.blocks > 1,
        };
        let gains = self.seen.iter().filter(is_sure);
        let gains = gains.filter(|one| one.relaxes());
        gains.max_by(|a, b| a.gain.total_cmp(&b.gain))
    }

    /// Whether a limiter is proved or found.
    pub fn proves(&self) -> bool {
        let outcome = self.outcome();
        !matches!(outcome, Outcome::Likely(..) | Outcome::Undecided(_))
    }

    /// Whether more flows are faster, as far as is known.
    pub fn more_flows_gain(&self) -> bool {
        let mut flows = self.seen.iter();
        flows.any(|one| one.is_of_flows() && one.is_apart && one.effect >= 1.0)
    }

    pub fn proof(self) -> Proof {
        Proof {
            named: self.base.named.clone(),
            outcome: self.outcome(),
            then: None,
            blocks: self.blocks,
            tried: self.seen.into_iter().map(|one| one.tried).collect(),
            untried: self.untried,
        }
    }
}

/// What a run is judged by, more of which is better: its rate, or what it does in a time of the CPUs.
pub(super) fn figure(base: &Base, run: &Run) -> Option<f64> {
    match base.goal {
        Some(Goal::Cost) => run.cost.map(f64::recip),
        _ => Some(run.rate),
    }
}

/// The figures of what is unchanged: those of the short runs; of rates also as far around them as parts of the test were
/// from its mean, and that of the test.
fn range(base: &Base, figures: &[f64]) -> Option<Range> {
    let middle = median(figures)?;
    if base.goal == Some(Goal::Cost) {
        let [least, most] = [f64::min, f64::max].map(|of| figures.iter().copied().fold(middle, of));
        return Some(Range { least, most });
    }
    // Between transactions at a requested rate nothing is carried.
    let has_pauses = base.conditions.transaction_rate.is_some();
    let spread = base.load.spread.filter(|_| !has_pauses);
    let [least, most] = spread.unwrap_or([1.0, 1.0]);
    let parts = [least * middle, most * middle, base.rate];
    let all = || figures.iter().chain(&parts).copied();
    Some(Range {
        least: all().fold(middle, f64::min),
        most: all().fold(middle, f64::max),
    })
}

/// All runs of a change in one round, each in the block of its unchanged run.
fn pooled(rounds: &[&Round], label: &str) -> Option<Round> {
    let mut pool: Option<Round> = None;
    for round in rounds {
        let mut changes = round.changes.iter();
        let Some(place) = changes.position(|one| one.how.label == label) else {
            continue;
        };
        let conditions = [UNCHANGED, place + 1].map(|place| round.conditions[place].clone());
        let change = round.changes[place].clone();
        let pool = pool.get_or_insert_with(|| Round::new(vec![change], conditions.into()));
        let blocks = round.runs[UNCHANGED].len().min(round.runs[place + 1].len());
        for (to, from) in [(UNCHANGED, UNCHANGED), (1, place + 1)] {
            pool.runs[to].extend(round.runs[from][..blocks].iter().cloned());
        }
    }
    pool
}

/// The factor by which a change moved what it aims at; absent where that was not counted.
fn moved(change: &Change, pool: &Round) -> Option<f64> {
    let sides = pool.pairs(1);
    let sides = sides.map(|(before, run)| (pool.side(UNCHANGED, before), pool.side(1, run)));
    let times = sides.filter_map(|(before, after)| match change.resource() {
        Some(resource) => (resource.left)(&before, &after).map(f64::recip),
        None => before.ratio(&after, change.row.grows?),
    });
    median(&times.collect::<Vec<_>>())
}

/// Why unchanged runs with these rates are no base of a proof.
fn unsound(base: &Base, rates: &[f64]) -> Option<String> {
    if base.stands_still() {
        return Some("no change of a run relaxes an end that stands still".to_owned());
    }
    let Some(middle) = median(rates) else {
        return Some("no unchanged run has a result".to_owned());
    };
    let ratio = middle / base.rate;
    (ratio < LIKE_THE_TEST).then(|| {
        format!(
            "the throughput of short runs is {:.0} % of the test's, so they may have another bottleneck",
            100.0 * ratio
        )
    })
}
