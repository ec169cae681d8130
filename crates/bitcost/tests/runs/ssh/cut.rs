//! Connections and controllers that are gone: hosts restore by themselves, and what can go on does.

use std::time::{Duration, Instant};

use model::event::{Event, FailureKind};
use netlink::Rtnl;
use rustix::process::Signal;
use testkit::process::eventually;

use super::{Field, install};
use crate::bench::{PATIENCE, runs_per_cell};

/// How long both hosts are cut off.
const CUT: Duration = Duration::from_secs(10);

/// The lease, and what restoring may take.
const RESTORED: Duration = Duration::from_secs(9);

/// Runs that are longer than it takes to cut a link.
const STUDY: &str = r#"title = "Offloads off"
question = "Do hosts restore?"
[workload]
warmup_s = 0.05
duration_s = 3
offloads = "off"
[[factor]]
name = "message_size_bytes"
levels = [512, 1024]
[run]
blocks = 2
"#;

fn set_links(field: &Field, up: bool) {
    let mut rtnl = Rtnl::open().unwrap();
    for host in &field.hosts {
        let index = rtnl.link(&host.link).unwrap().index;
        rtnl.set_up(index, up).unwrap();
    }
}

/// The second of four runs is lost, and no other.
pub fn link() {
    let field = Field::new();
    field.bench.write("small.toml", STUDY);
    let before = field.features();
    let running = field.start(&["run", "small.toml", "--seed", "1", "--json"]);
    field.bench.wait_for_run(1);
    eventually(PATIENCE, "the second run sets offloads", || {
        field.features().iter().zip(&before).all(|(now, before)| now != before).then_some(())
    });
    set_links(&field, false);
    let cut = Instant::now();
    eventually(RESTORED, "both hosts are as before while they are cut off", || {
        (field.features() == before).then_some(())
    });
    std::thread::sleep(CUT.saturating_sub(cut.elapsed()));
    set_links(&field, true);
    let done = running.finish(PATIENCE);
    done.assert_code(1);
    field.assert_nothing_left();
    assert_eq!(field.features(), before);
    assert_eq!(runs_per_cell(&done.json()).iter().sum::<u64>(), 3, "{}", done.stderr);
    let lost = |event: &Event| match event {
        Event::RunFailed { run, kind, reason } => Some((*run, *kind, reason.clone())),
        _ => None,
    };
    let lost: Vec<_> = field.bench.log().events.iter().filter_map(lost).collect();
    let [(1, FailureKind::Lost, reason)] = &lost[..] else { panic!("{lost:?}") };
    assert!(reason.contains("nothing heard from") || reason.contains("is gone"), "{reason}");
    assert!(done.stderr.contains("out of reach, tried again: "), "{}", done.stderr);
    let resumed = field.bench.resume();
    assert_eq!(runs_per_cell(&resumed), [2, 2]);
    field.assert_nothing_left();
}

pub fn controller() {
    let field = Field::new();
    install(&field);
    field.bench.write("small.toml", STUDY);
    let before = field.features();
    let running = field.start(&["run", "small.toml", "--seed", "1"]);
    field.bench.wait_for_run(0);
    eventually(PATIENCE, "offloads are set", || (field.features() != before).then_some(()));
    running.signal(Signal::KILL);
    eventually(RESTORED, "both hosts are as before", || (field.features() == before).then_some(()));
    eventually(PATIENCE, "every process is gone", || field.bench.family.members().is_empty().then_some(()));
    field.assert_nothing_left();
}
