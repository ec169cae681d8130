//! The time of soft interrupts, from the endpoint that times them to the result.

use bitcost_model::record::{EndpointRecord, SOFTIRQ_TIME, SOFTIRQS_TIMED};
use bitcost_sys::namespace::unshare_user_as_root;
use serde_json::Value;

use crate::bench::{Bench, in_effect, split};

bitcost_testkit::trials! {
    Host: soft_interrupts_are_timed_where_the_kernel_permits_it, without_privilege_ticks_are_used_and_the_record_says_why;
}

/// A run whose receivers have no kernel threads, so that soft interrupts do the receive work; the
/// result, both records, and what the sender's says of the means.
fn run(bench: &Bench) -> (Value, [EndpointRecord; 2], String) {
    let words = split("test udp --json --samples -t 1s --topology pair");
    let done = bench.bitcost(&words);
    done.assert_code(0);
    bench.assert_nothing_left();
    let ends = done.records();
    let means = in_effect(&ends[0], SOFTIRQ_TIME).map(|[_, actual]| actual);
    (done.json(), ends, means.unwrap_or_default())
}

fn has_none(end: &EndpointRecord) -> bool {
    end.samples.iter().all(|sample| sample.softirqs.is_empty())
}

/// The endpoint called sender times the CPUs of both.
fn soft_interrupts_are_timed_where_the_kernel_permits_it() {
    let (document, [sender, receiver], means) = run(&Bench::new());
    assert!(has_none(&receiver));
    if means != SOFTIRQS_TIMED {
        bitcost_testkit::ignore(&format!("soft interrupts cannot be timed: {means}"));
    }
    let (first, last) = (&sender.samples[0], sender.samples.last().unwrap());
    for cpu in sender.pinned_cpus.iter().chain(&receiver.pinned_cpus) {
        assert!(last.softirqs.iter().any(|time| time.cpu == *cpu), "{cpu}");
    }
    for time in &last.softirqs {
        let is_same = |other: &&_| is_kind(other, time);
        let Some(earlier) = first.softirqs.iter().find(is_same) else {
            continue;
        };
        assert!(time.count >= earlier.count && time.sum_ns >= earlier.sum_ns);
    }
    if document["attribution"] == "own_cpus" || document["attribution"] == "softirq_ticks" {
        assert_eq!(document["softirqs"], "timed", "{document:#}");
    }
}

fn is_kind(
    one: &bitcost_model::counters::SoftirqTime,
    other: &bitcost_model::counters::SoftirqTime,
) -> bool {
    one.cpu == other.cpu && one.kind == other.kind
}

fn without_privilege_ticks_are_used_and_the_record_says_why() {
    if let Err(error) = unshare_user_as_root() {
        bitcost_testkit::ignore(&format!("no user namespace can be made here: {error}"));
    }
    let (document, ends, means) = run(&Bench::new());
    assert!(
        means.starts_with("ticks, because they cannot be timed: bpf(BPF_"),
        "{means}"
    );
    assert!(ends.iter().all(has_none));
    assert_ne!(document["softirqs"], "timed");
}
