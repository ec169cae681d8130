//! `--profile`: runs that are made once more while the CPUs are sampled.

use crate::bench::*;
use bitcost_model::profile::{Profile, ProfiledTask};

bitcost_testkit::trials! {
    Host: a_profile_has_the_stacks_of_both_ends, known_causes_are_in_their_layers, an_ordinary_user_is_told_who_may_profile;
}

/// The profiles of an execution in a lab, each with the number of its run.
fn profiles(bench: &Bench) -> Vec<(u32, Profile)> {
    let profile = |event: &Event| match event {
        Event::RunProfiled {
            run,
            sender,
            receiver,
            ..
        } => {
            let both = [&sender.profile, &receiver.profile];
            let [profile] = both.into_iter().flatten().collect::<Vec<_>>()[..] else {
                panic!("one machine has one profile");
            };
            Some((*run, (**profile).clone()))
        }
        _ => None,
    };
    bench.log().events.iter().filter_map(profile).collect()
}

/// Runs a command with `--profile`; ignores the test where the kernel does not allow it to root.
fn profiled(bench: &Bench, words: &[&str]) -> crate::bench::Done {
    if effective_uid() != 0 {
        bitcost_testkit::ignore("only root may profile the host");
    }
    let done = bench.bitcost(&[words, &["--profile"]].concat());
    if done.code == Some(3) && done.stderr.contains("profile") {
        bitcost_testkit::ignore(&done.stderr);
    }
    done.assert_code(0);
    done
}

fn a_profile_has_the_stacks_of_both_ends() {
    let bench = Bench::new();
    profiled(&bench, &["test", "tcp", "-t", "1s"]);
    let [(0, profile)] = &profiles(&bench)[..] else {
        panic!("one run has one twin");
    };
    let window = profile.window_ns as f64 / 1e9;
    // The timer samples idle CPUs, too; the counter of cycles does not.
    let expected = f64::from(profile.rate_hz) * f64::from(profile.cpus) * window;
    let samples = (profile.samples + profile.lost) as f64;
    let least = match profile.event.name() {
        "cpu-clock" => 0.5,
        _ => 0.01,
    };
    assert!(
        samples > least * expected && samples < 2.0 * expected,
        "{samples} samples, {expected} expected"
    );
    for task in [ProfiledTask::Sender, ProfiledTask::Receiver] {
        let mut stacks = profile.stacks.iter().filter(|stack| stack.task == task);
        let function = match task {
            ProfiledTask::Sender => "tcp_sendmsg",
            _ => "tcp_recvmsg",
        };
        assert!(
            stacks.any(|stack| stack.stack.contains(function)),
            "{task:?} without {function}: {:#?}",
            profile.stacks
        );
    }
    bench.assert_nothing_left();
}

/// The samples of a thread, and those of them whose stack fulfils this.
fn samples(profile: &Profile, task: &ProfiledTask, is: impl Fn(&str) -> bool) -> (u64, u64) {
    let stacks = profile.stacks.iter().filter(|stack| stack.task == *task);
    stacks.fold((0, 0), |(all, some), stack| {
        let some_more = u64::from(is(&stack.stack)) * stack.count;
        (all + stack.count, some + some_more)
    })
}

/// A program that works on each message is met in itself; a receiver that copies nothing is in no copy.
fn known_causes_are_in_their_layers() {
    let of = |words: &[&str]| {
        let bench = Bench::new();
        profiled(
            &bench,
            &[&["test", "tcp", "-t", "1s", "-l", "64K"], words].concat(),
        );
        let [(_, profile)] = profiles(&bench).try_into().expect("one twin");
        let (sent, worked) = samples(&profile, &ProfiledTask::Sender, |stack| stack == "[user]");
        let is_copy = |stack: &str| stack.contains("copy_to_iter");
        let (_, copied) = samples(&profile, &ProfiledTask::Receiver, is_copy);
        (2 * worked > sent, copied > 0)
    };
    assert_eq!(of(&[]), (false, true));
    assert!(
        of(&["--set", "send_work_ns=1ms"]).0,
        "the program works most of the time"
    );
    assert_eq!(of(&["--receive-mode", "truncate"]), (false, false));
}

fn an_ordinary_user_is_told_who_may_profile() {
    let bench = match effective_uid() {
        0 => Bench::of_user(65_534),
        _ => Bench::new(),
    };
    let done = bench
        .bitcost(&["test", "tcp", "-t", "1s", "--profile"])
        .with_code(3);
    if !done.stderr.contains("profile") {
        bitcost_testkit::ignore(&done.stderr);
    }
    assert!(done.stderr.contains("root"), "{}", done.stderr);
    assert_eq!(bench.contents(), Vec::<String>::new());
    bench.assert_nothing_left();
}
