//! What to do about what limits a test: of the table of changes those that gained when they were tried, else those that relax
//! the limiter.

use bitcost_model::conditions::Workload;
use bitcost_model::record::Role;
use bitcost_model::settings::{Setting, find, options};
use bitcost_model::shell::shell_word;

use super::base::Base;
use super::change::Offer;
use super::judge::WORTH;
use super::table::CHANGES;
use crate::explain::{ExplainedCell, Limiter, MTU_BLACK_HOLE, Remedy, Tried, WINDOW_OF_ROUTE};

/// The least gain in this many pairs of runs that is one.
const MUCH: f64 = 1.2;
const FEW: u32 = 2;

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
    (&["path_loss"], |base| {
        let most = base.load.segment_bytes? as u32;
        let is_stream = base.conditions.workload == Workload::UdpStream;
        is_stream.then(|| Remedy {
            options: Some(format!("-l {most}")),
            ..in_words("messages that fit one packet")
        })
    }),
];

/// Changes that often gain nothing, which come after others.
const RARE: [&str; 5] = [
    "small_receive_buffer",
    "gather",
    "send_mode",
    "receive_mode",
    "receive_size",
];

/// Changes the receiver's routes that have it.
const WITHOUT_WINDOW: &str = "ip route show | sed -n 's/ window [0-9]*//p' | while read -r route; do ip route change $route; done";

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

/// The rate that the sender's own interface is set to; without a command where it is another's that is reached.
fn own_shaper(base: &Base) -> Option<Remedy> {
    let own = &base.host(Role::Sender)?.device;
    let device = &own.name;
    let mut queues = own.qdiscs.iter();
    let shapes = queues.any(|queue| SHAPERS.iter().any(|kind| queue.contains(kind)));
    let there = format!("at sender {device}");
    let is_elsewhere = |of: &Limiter| {
        let words = of.to_string();
        of.name() == "rate" && words.contains(" at ") && !words.ends_with(&there)
    };
    let is_elsewhere = base.named.as_ref().is_some_and(is_elsewhere);
    let command = format!("tc qdisc del dev {} root", shell_word(device));
    (base.lab.is_none() && shapes).then(|| Remedy {
        command: Some(command).filter(|_| !is_elsewhere),
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
fn of_offer(base: &Base, offer: Offer) -> Remedy {
    let how = offer.unwrap_or_else(|cannot| cannot.0);
    let is_added = how.removes.is_none() && !how.settings.is_empty();
    // The test would set it again, and the hosts of its own lab are gone.
    let is_undone = how.removes.is_some() || is_added && base.own_lab().is_some();
    let place = how.place.filter(|_| !is_undone);
    Remedy {
        words: how.label,
        options: is_added.then(|| options(&how.settings)),
        removes: how.removes.and_then(find).map(Setting::option),
        host: place.as_ref().and_then(|place| place.host),
        command: place.map(|_| how.keep),
        gain: None,
    }
}

/// What to do about what limits a cell, the best first: what was tried and gained, what its records say in words, and
/// what was not tried, of each row first what is likeliest to be enough.
pub(crate) fn advised(base: &Base, cell: &ExplainedCell) -> Vec<Remedy> {
    let Some(verdict) = cell.verdict() else {
        return Vec::new();
    };
    let (mut gaining, mut first, mut rest) = (Vec::new(), [Vec::new(), Vec::new()], Vec::new());
    let limiter = verdict.limiter().name();
    let own = verdict.chosen.remedy.as_deref();
    let tried = |label: &str| {
        let mut tried = cell.proof.iter().flat_map(|proof| &proof.tried);
        tried.find(|one| one.label == label)
    };
    // Transactions at a rate of their own are not more of them with lower latency.
    let is_told = !(base.conditions.workload.is_transactional() && base.conditions.is_paced());
    let gains_nothing =
        |label: &str| is_told && tried(label).is_some_and(|one| one.rate.value < WORTH);
    for row in CHANGES.iter().filter(|row| row.relaxes()) {
        let is_own = row.is_of(verdict.limiter());
        let offers = row.offers(base).into_iter();
        let mut offers: Vec<Remedy> = offers.map(|one| of_offer(base, one)).collect();
        let is_useless =
            row.is_larger() && offers.last().is_some_and(|one| gains_nothing(&one.words));
        offers.retain_mut(|offer| {
            let gaining_one = tried(&offer.words).filter(|one| is_more(one, base.load.spread));
            offer.gain = gaining_one.map(|one| one.rate);
            gaining.extend(offer.gain.is_some().then(|| offer.clone()));
            let is_open = offer.gain.is_none() && !gains_nothing(&offer.words);
            // Words alone say no more than the verdict's own.
            let how = [&offer.options, &offer.removes, &offer.command];
            let is_said = own.is_some() && how.iter().all(|one| one.is_none());
            is_own && is_open && !is_said && (!is_useless || offer.removes.is_some())
        });
        // Of sizes the largest, unless the first is to set none.
        let best = match offers.first() {
            Some(one) if row.is_larger() && one.removes.is_none() => offers.pop(),
            Some(_) => Some(offers.remove(0)),
            None => None,
        };
        first[usize::from(RARE.contains(&row.name))].extend(best);
        rest.extend(offers);
    }
    let otherwise = OTHERWISE.iter().filter(|(of, _)| of.contains(&limiter));
    let otherwise: Vec<Remedy> = otherwise.filter_map(|(_, make)| make(base)).collect();
    let gain = |one: &Remedy| one.gain.map_or(0.0, |gain| gain.value);
    gaining.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    gaining.dedup_by(|a, b| a.words == b.words);
    let first = first.concat();
    let is_empty = first.is_empty() && otherwise.is_empty();
    let words = own.or(is_empty.then(|| verdict.remedy()));
    let words = words.filter(|words| !words.is_empty()).map(|words| {
        let of_route = (words == WINDOW_OF_ROUTE).then(|| base.at(Role::Receiver, WITHOUT_WINDOW));
        let (command, place) = of_route.unzip();
        Remedy {
            command,
            host: place.and_then(|place| place.host),
            ..in_words(words)
        }
    });
    let all = gaining.into_iter().chain(otherwise).chain(words);
    all.chain(first).chain(rest).collect()
}

/// Whether a rate is higher: by what cannot be chance, where one or two pairs of runs show it, and by more than parts of
/// the test itself differ.
fn is_more(tried: &Tried, spread: Option<[f64; 2]>) -> bool {
    let least = match tried.rate.low {
        Some(low) if low > 1.0 => WORTH,
        _ if tried.blocks <= FEW => spread.map_or(MUCH, |[least, most]| MUCH.max(most / least)),
        _ => return false,
    };
    tried.rate.value >= least
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
    use crate::experiment::change::cannot;
    use crate::experiment::change::host;
    use crate::explain::{
        Candidate, Confidence, Decision, ExplainedRun, Others, Outcome, Proof, Verdict, limiter,
    };
    use bitcost_model::conditions::{Conditions, Direction};
    use bitcost_stats::Interval;

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
            run: 0,
            verdict,
            others: Others::default(),
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
    fn what_the_test_sets_itself_is_left_away() {
        for text in ["net.ipv4.tcp_sack=0", "sender: net.ipv4.tcp_sack=0"] {
            let mut conditions = Conditions::of(Workload::TcpStream);
            let sysctl = find("sysctl").expect("a setting");
            sysctl.set_text(&mut conditions, text).expect("possible");
            let base = Base::searched(&conditions, None);
            let mut rows = CHANGES.iter();
            let row = rows.find(|row| row.name == "selective_acknowledgements");
            let offers = row.expect("a row").offers(&base).into_iter();
            let all: Vec<Remedy> = offers.map(|one| of_offer(&base, one)).collect();
            assert_eq!(all.len(), 1, "{all:?}");
            assert_eq!(all[0].removes.as_deref(), Some("--sysctl"));
            assert_eq!((&all[0].options, &all[0].command), (&None, &None));
        }
    }

    #[test]
    fn a_command_is_apart_from_its_host() {
        let mut conditions = Conditions::of(Workload::TcpStream);
        conditions.direction = Direction::Reverse;
        let base = Base::searched(&conditions, None);
        let of = |command| {
            let how = host("a", &[], command);
            let kept = how.kept();
            let remedy = of_offer(&base, cannot(how, ""));
            (remedy.command.unwrap_or_default(), remedy.host, kept)
        };
        let command = "sysctl -w a=1";
        let kept = |place: &str| format!("{command} ({place})");
        let at_server = (
            Some(Role::Receiver),
            kept("at the receiver, which sends here"),
        );
        let (line, place, words) = of(base.at(Role::Sender, command));
        assert_eq!((&*line, (place, words)), (command, at_server));
        let (line, place, words) = of(base.at_both(command));
        assert_eq!(
            (&*line, (place, words)),
            (command, (None, kept("at both hosts")))
        );
    }
}
