//! Both endpoints of every workload in this process, over the loopback of a network of its own for each trial.
//!
//! The test program is also the helper that runs both endpoints under strace.

mod acknowledgements;
mod calls;
mod foreign_traffic;
mod modes;
mod options;
mod play;
mod ports;
mod timing;
mod transactions;

use bitcost_testkit::Run;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == calls::STAGE) {
        return calls::stage(&words[1..]);
    }
    let listed = [
        foreign_traffic::TRIALS,
        ports::TRIALS,
        timing::TRIALS,
        transactions::TRIALS,
    ];
    let listed = listed.concat().into_iter();
    let mut trials: Vec<(&'static str, Run)> = listed
        .map(|trial| (trial.path, Box::new(trial.run) as Run))
        .collect();
    trials.extend(acknowledgements::trials());
    trials.extend(calls::trials());
    trials.extend(modes::trials());
    trials.extend(options::trials());
    bitcost_testkit::main_of(trials);
}
