//! What to do about what limits a test: of the table of changes those that gained when they were tried, else those that relax
//! the limiter.

use bitcost_model::record::Role;
use bitcost_model::settings::{Setting, find, options};

use bitcost_stats::Interval;

use super::base::Base;
use super::change::{How, Offer};
use super::table::CHANGES;
use crate::explain::{ExplainedCell, MTU_BLACK_HOLE, Remedy};

/// The least gain that is one, as a ratio.
const WORTH: f64 = 1.03;

/// The least gain in one pair of runs that is one.
const MUCH: f64 = 1.2;

/// What the headers of tunnels need at most, in bytes.
const TUNNEL: u32 = 100;

/// Makes a remedy of a test that may have it.
type Make = fn(&Base) -> Option<Remedy>;

/// What no experiment tries, since it is another test, or another program's: limiters, and what it is in a test.
const OTHERWISE: [(&[&str], Make); 4] = [
    (&["application_pacing"], |base| {
        let is_stream = base.conditions.workload.is_byte_stream();
        without(base, "rate_bps", "no requested rate").filter(|_| is_stream)
    }),
    (
        &["latency", "wake_ups", "sender_cpu", "receiver_cpu"],
        |base| {
            let connects = base.conditions.workload.makes_connections();
            connects.then(|| in_words("keep each connection for many requests (bitcost test rr)"))
        },
    ),
    (&["rate"], own_shaper),
    (&["fragments"], |base| {
        let room = base.load.segment_bytes? as u32;
        Some(Remedy {
            options: Some(format!("-M {}", room.saturating_sub(TUNNEL))),
            ..in_words("smaller segments, which leave room for the headers of a tunnel")
        })
    }),
];

/// Queueing disciplines that limit a rate.
const SHAPERS: [&str; 4] = ["htb", "tbf", "hfsc", "cake"];

/// A setting of the test that is left away.
fn without(base: &Base, name: &str, words: &str) -> Option<Remedy> {
    let setting = find(name)?;
    let is_set = (setting.is_set)(&base.conditions);
    is_set.then(|| Remedy {
        removes: Some(setting.option()),
        ..in_words(words)
    })
}

/// The rate that the sender's own interface is set to.
fn own_shaper(base: &Base) -> Option<Remedy> {
    let own = &base.host(Role::Sender)?.device;
    let device = &own.name;
    let mut queues = own.qdiscs.iter();
    let shapes = queues.any(|queue| SHAPERS.iter().any(|kind| queue.contains(kind)));
    (base.lab.is_none() && shapes).then(|| Remedy {
        command: Some(format!("tc qdisc del dev {device} root")),
        host: Some(base.host_role(Role::Sender)),
        ..in_words(&format!("a higher rate at {device}, or no shaper"))
    })
}

fn in_words(words: &str) -> Remedy {
    Remedy {
        words: words.to_owned(),
        ..Remedy::default()
    }
}

/// A change of the table as something to do.
fn of_offer(offer: Offer) -> Remedy {
    let (words, command, how) = match offer {
        Ok(how) => {
            let command = how.needs_root.then(|| how.keep.clone());
            (how.label.clone(), command, how)
        }
        Err(untried) => (untried.label, untried.command, How::default()),
    };
    // As [`Base::at`] and [`Base::at_both`] write it.
    let mut parts = command.iter().flat_map(|command| command.split(" (at "));
    let (command, place) = (parts.next(), parts.next().unwrap_or_default());
    let mut hosts = [Role::Sender, Role::Receiver].into_iter();
    let host = hosts.find(|host| place.starts_with(&format!("the {}", host.name())));
    let is_added = how.removes.is_none() && !how.settings.is_empty();
    Remedy {
        words,
        options: is_added.then(|| options(&how.settings)),
        removes: how.removes.and_then(find).map(Setting::option),
        command: command.map(str::to_owned),
        host,
        gain: None,
    }
}

/// What to do about what limits a cell, the best first: what was tried and gained, what its records say in words, and
/// what was not tried, of each row first what is likeliest to be enough.
pub(crate) fn advised(base: &Base, cell: &ExplainedCell) -> Vec<Remedy> {
    let Some(verdict) = cell.verdict() else {
        return Vec::new();
    };
    let (mut gaining, mut first, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let limiter = verdict.limiter().name();
    let ratio = |label: &str| {
        let mut tried = cell.proof.iter().flat_map(|proof| &proof.tried);
        tried.find(|one| one.label == label).map(|one| one.rate)
    };
    let gains_nothing = |label: &str| ratio(label).is_some_and(|rate| rate.value < WORTH);
    for row in CHANGES.iter().filter(|row| row.relaxes()) {
        let is_own = row.is_of(verdict.limiter());
        let offers = row.offers(base).into_iter();
        let mut offers: Vec<Remedy> = offers.map(of_offer).collect();
        let is_useless =
            row.is_larger() && offers.last().is_some_and(|one| gains_nothing(&one.words));
        offers.retain_mut(|offer| {
            offer.gain = ratio(&offer.words).filter(is_more);
            gaining.extend(offer.gain.is_some().then(|| offer.clone()));
            let is_open = offer.gain.is_none() && !gains_nothing(&offer.words);
            is_own && is_open && (!is_useless || offer.removes.is_some())
        });
        // Of sizes the largest, unless the first is to set none.
        let best = match offers.first() {
            Some(one) if row.is_larger() && one.removes.is_none() => offers.pop(),
            Some(_) => Some(offers.remove(0)),
            None => None,
        };
        first.extend(best);
        rest.extend(offers);
    }
    let otherwise = OTHERWISE.iter().filter(|(of, _)| of.contains(&limiter));
    let otherwise: Vec<Remedy> = otherwise.filter_map(|(_, make)| make(base)).collect();
    let gain = |one: &Remedy| one.gain.map_or(0.0, |gain| gain.value);
    gaining.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    gaining.dedup_by(|a, b| a.words == b.words);
    let own = verdict.chosen.remedy.as_deref();
    let is_empty = first.is_empty() && otherwise.is_empty();
    let words = own.or(is_empty.then(|| verdict.remedy()));
    let words = words.filter(|words| !words.is_empty()).map(in_words);
    let all = gaining.into_iter().chain(otherwise).chain(words);
    all.chain(first).chain(rest).collect()
}

/// Whether a rate is higher: by what cannot be chance, where one pair of runs shows it.
fn is_more(rate: &Interval) -> bool {
    match rate.low {
        Some(low) => low > 1.0 && rate.value >= WORTH,
        None => rate.value >= MUCH,
    }
}

/// What to do about packets of a cell that do not arrive; nothing where that is not what limits it.
pub(crate) fn of_black_hole(cell: &ExplainedCell) -> Vec<Remedy> {
    let verdict = cell.verdict();
    let Some(verdict) = verdict.filter(|one| one.limiter().name() == MTU_BLACK_HOLE.name) else {
        return Vec::new();
    };
    let tried = cell.proof.iter().flat_map(|proof| &proof.tried);
    let tried = tried.map(|one| Remedy {
        words: one.changed.clone(),
        options: Some(one.label.clone()),
        ..Remedy::default()
    });
    tried.chain([in_words(verdict.remedy())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::{
        Candidate, Confidence, Decision, ExplainedRun, NotTried, Outcome, Proof, RunFigures, Tried,
        Verdict, limiter,
    };
    use bitcost_model::conditions::{Conditions, Workload};

    /// The remedies of a test with this limiter and these settings, with a change that was tried.
    fn of(
        workload: Workload,
        name: &str,
        set: fn(&mut Conditions),
        tried: &[(&str, f64)],
    ) -> Vec<Remedy> {
        let mut conditions = Conditions::of(workload);
        set(&mut conditions);
        let mut base = Base::searched(&conditions, None);
        base.load.window_bytes = Some(65_536.0);
        let tried = tried.iter().map(|(label, ratio)| Tried {
            label: (*label).to_owned(),
            changed: String::new(),
            rate: Interval {
                value: *ratio,
                low: Some(ratio * 0.9),
                high: Some(ratio * 1.1),
            },
            cost: None,
            background: None,
            elasticity: None,
            limits: Decision::Open,
            blocks: 2,
        });
        let proof = Proof {
            named: None,
            outcome: Outcome::Proved,
            then: None,
            tried: tried.collect(),
            untried: Vec::new(),
            blocks: 2,
        };
        let verdict = Verdict {
            chosen: Candidate::named(limiter(name, "").expect("a limiter"), Vec::new()),
            confidence: Confidence::Likely,
            share: 1.0,
            suspects: Vec::new(),
        };
        let run = ExplainedRun {
            figures: RunFigures::default(),
            verdict,
            others: None,
        };
        let mut cell = ExplainedCell::new("test".to_owned(), vec![run]);
        cell.proof = Some(proof);
        advised(&base, &cell)
    }

    #[test]
    fn what_gained_comes_first_and_what_did_not_is_no_remedy() {
        let set: fn(&mut Conditions) = |of| of.receive_buffer_bytes = Some(65_536);
        let untried = of(Workload::TcpStream, "receive_buffer", set, &[]);
        assert_eq!(untried[0].removes.as_deref(), Some("--receive-buffer"));
        assert_eq!(untried[0].options, None);
        let tried = [
            ("receive buffer 256 KiB", 1.2),
            ("receive buffer 512 KiB", 2.3),
            ("receive buffer 128 KiB", 1.01),
        ];
        let all = of(Workload::TcpStream, "receive_buffer", set, &tried);
        assert_eq!(all[0].options.as_deref(), Some("--receive-buffer 524288"));
        assert_eq!(all[0].gain.map(|gain| gain.value), Some(2.3));
        assert_eq!(all[1].words, "receive buffer 256 KiB");
        assert!(all.iter().all(|one| one.words != "receive buffer 128 KiB"));
    }

    #[test]
    fn a_rate_is_left_away_where_the_sender_finds_its_own() {
        let set: fn(&mut Conditions) = |of| of.rate_bps = Some(15_000_000);
        let stream = of(Workload::TcpStream, "application_pacing", set, &[]);
        assert_eq!(stream[0].removes.as_deref(), Some("--rate"));
        assert_eq!(of(Workload::UdpStream, "application_pacing", set, &[]), []);
    }

    #[test]
    fn a_command_is_apart_from_its_host() {
        let of = |command: &str| {
            let remedy = of_offer(Err(NotTried {
                command: Some(command.to_owned()),
                ..NotTried::new("a", "")
            }));
            (remedy.command.unwrap_or_default(), remedy.host)
        };
        let command = "sysctl -w a=1".to_owned();
        let at_server = of("sysctl -w a=1 (at the receiver, which sends here)");
        assert_eq!(at_server, (command.clone(), Some(Role::Receiver)));
        assert_eq!(of("sysctl -w a=1 (at both hosts)"), (command.clone(), None));
        assert_eq!(of("sysctl -w a=1"), (command, None));
    }
}
