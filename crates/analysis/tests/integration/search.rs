//! The search for fast options, with trials whose results are made up.

use std::time::Duration;

use bitcost_analysis::experiment::{Base, How, Ladder, Round, Run, Search};
use bitcost_analysis::explain::Load;
use bitcost_model::Unavailable;
use bitcost_model::conditions::{Conditions, Waiting, Workload};
use bitcost_model::modes::Mode;
use bitcost_model::search::Goal;
use bitcost_model::settings::apply;

const BUDGET: Duration = Duration::from_secs(3);
const SHORT: Duration = Duration::from_millis(50);

/// Rate and CPU time of a trial.
type Outcome = Result<(f64, f64), Unavailable>;

/// Plays a search whose trials have these results, each of which takes this time.
fn play(
    conditions: &Conditions,
    is_kept: &dyn Fn(&str) -> bool,
    trial: Duration,
    result: &dyn Fn(&Conditions) -> Outcome,
) -> Ladder {
    let base = Base::searched(conditions, None);
    let changed = |base: &Base, how: &How| {
        let mut changed = base.short();
        apply(&how.settings, &mut changed)?;
        changed.check_modes(1500).map(|()| changed)
    };
    let possible = |how: &How| {
        let mut names = how.settings.keys();
        names.all(|name| !is_kept(name)) && changed(&base, how).is_ok()
    };
    let run = |(rate, cost)| Run {
        rate,
        cost: Some(cost),
        latency: None,
        load: Load::default(),
        not_in_effect: Vec::new(),
    };
    let mut search = Search::new(base.clone(), 0);
    let (mut spent, mut slowest) = (Duration::ZERO, Duration::ZERO);
    while let Some((changes, blocks)) =
        search.next(BUDGET.saturating_sub(spent), slowest, &possible)
    {
        let hows = changes.iter().map(|change| change.how.clone());
        let hows = std::iter::once(How::default()).chain(hows);
        let conditions: Vec<Conditions> = hows
            .map(|how| changed(&search.base, &how).expect("possible"))
            .collect();
        let block_time = trial * conditions.len() as u32;
        let mut round = Round::new(changes, conditions);
        for block in 0..blocks {
            if block > 0 && spent + block_time > BUDGET {
                break;
            }
            for (runs, conditions) in round.runs.iter_mut().zip(&round.conditions) {
                runs.push(result(conditions).map(run));
            }
            spent += block_time;
        }
        slowest = trial;
        search.take(&round);
    }
    assert!(spent < Duration::from_secs(5), "{spent:?}");
    search.ladder
}

fn of_bytes(message_size_bytes: u32) -> Conditions {
    Conditions {
        message_size_bytes,
        ..Conditions::default()
    }
}

/// The options that were taken.
fn taken(ladder: &Ladder) -> &str {
    let kept = ladder.kept().next();
    kept.map_or("plain calls", |kept| &kept.tried.label)
}

#[test]
fn what_decides_together_is_found() {
    let found = play(&of_bytes(8192), &|_| false, SHORT, &|c| {
        let is_writev = c.send_mode == Mode::Writev;
        let rate = match (is_writev, c.receive_buffer_bytes) {
            (true, Some(49_152)) => 400.0,
            (true, Some(_)) => 300.0,
            (true, None) => 110.0,
            _ => 100.0,
        };
        Ok((rate, 1.0))
    });
    assert_eq!(taken(&found), "--receive-buffer 48K --send-mode writev");
    let kept = found.kept().next().expect("it");
    assert_eq!(kept.tried.blocks, 5);
    assert_eq!(found.without.len(), 1, "two finalists against plain calls");
    assert_eq!(
        kept.keep,
        "one call sends up to 64 messages at the sender; setsockopt(SO_RCVBUF, 49152) at the receiver"
    );
    let rates = found.rungs.iter().map(|rung| rung.rate.expect("a rate"));
    let rates: Vec<f64> = rates.map(|rate| rate.value).collect();
    assert_eq!(rates, [100.0, 400.0]);
}

#[test]
fn modes_that_gain_only_together_are_found() {
    let conditions = Conditions {
        workload: Workload::UdpStream,
        ..of_bytes(64)
    };
    let found = play(&conditions, &|_| false, SHORT, &|c| {
        let rate = match (c.send_mode, c.receive_mode) {
            (Mode::Gso, Mode::Gro) => 400.0,
            (Mode::Plain, _) => 100.0,
            _ => 50.0,
        };
        Ok((rate, 1.0))
    });
    assert_eq!(taken(&found), "--receive-mode gro --send-mode gso");
}

#[test]
fn of_what_is_about_as_fast_the_least_is_taken() {
    let found = play(&of_bytes(131_072), &|_| false, SHORT, &|c| {
        let is_spinning = c.waiting == Waiting::Spin;
        let rate = match (c.send_mode, is_spinning) {
            (Mode::Writev, true) => 205.0,
            (Mode::Writev, false) => 200.0,
            _ => 100.0,
        };
        Ok((rate, if is_spinning { 2.0 } else { 1.0 }))
    });
    assert_eq!(taken(&found), "--send-mode writev");
}

#[test]
fn receive_mode_that_is_cheap_only_with_few_calls_is_found() {
    let conditions = Conditions {
        search_for: Goal::Cost,
        ..of_bytes(131_072)
    };
    let found = play(&conditions, &|_| false, SHORT, &|c| {
        let us_per_kib = match (c.receive_mode, c.receiver_delay_us) {
            (Mode::Truncate, 1..) => 0.5,
            (Mode::Truncate, 0) => 1.0,
            _ => 0.9,
        };
        // The least cost is looked for at any rate.
        Ok((80.0 * us_per_kib, us_per_kib))
    });
    assert_eq!(
        taken(&found),
        "--receive-mode truncate --set receiver_delay_us=50us"
    );
}

#[test]
fn where_nothing_differs_plain_calls_stay() {
    let found = play(&of_bytes(8192), &|_| false, SHORT, &|_| Ok((100.0, 1.0)));
    assert_eq!(taken(&found), "plain calls");
    assert_eq!(found.end.name(), "complete");
}

#[test]
fn what_is_refused_is_not_taken_and_what_is_given_is_kept() {
    let is_kept = |name: &str| name == "receive_buffer_bytes";
    let found = play(&of_bytes(8192), &is_kept, SHORT, &|c| match c.send_mode {
        Mode::Writev => Err(Unavailable("forbidden".to_owned())),
        Mode::Sendfile => Ok((200.0, 1.0)),
        _ => Ok((100.0, 1.0)),
    });
    assert_eq!(taken(&found), "--send-mode sendfile");
    let mut labels = found.without.iter().map(|one| &one.label);
    assert!(labels.all(|label| !label.contains("--receive-buffer")));
    let refused = found.untried.iter();
    let refused: Vec<_> = refused.map(|one| (&*one.label, &*one.reason)).collect();
    assert_eq!(refused, [("--send-mode writev", "forbidden")]);
}

#[test]
fn a_slow_path_has_fewer_trials_and_names_what_was_not_tried() {
    let slow = Duration::from_millis(400);
    let found = play(&of_bytes(8192), &|_| false, slow, &|_| Ok((100.0, 1.0)));
    assert_eq!(taken(&found), "plain calls");
    assert_eq!(found.end.name(), "early");
    let mut untried = found.untried.iter();
    assert!(untried.len() > 5 && untried.all(|one| one.reason == "no time was left for it"));
}

#[test]
fn where_nothing_arrives_within_the_short_trials_one_long_trial_is_made() {
    let slow = Duration::from_millis(300);
    let short_ms = Base::searched(&of_bytes(8192), None).short().duration_ms;
    let found = play(&of_bytes(8192), &|_| false, slow, &|c| {
        let is_long = c.duration_ms > short_ms;
        let nothing = || Unavailable("nothing arrived".to_owned());
        is_long.then_some((100.0, 1.0)).ok_or_else(nothing)
    });
    assert!(found.rungs[0].rate.is_some());
    assert_eq!(found.end.name(), "early");
}
