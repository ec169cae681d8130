//! Connections and controllers that are lost: hosts restore themselves, and an execution continues
//! if it can.

use crate::bench::*;
use bitcost_model::event::FailureKind;

use super::{Field, install};

bitcost_testkit::trials! {
    PrivateNetwork: hosts_restore_after_a_cut_link_and_execution_continues, hosts_restore_after_the_controller_dies;
}

/// How long a run takes from its settings to its traffic, and less than its duration.
const UNDER_WAY: Duration = Duration::from_secs(1);

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
fn hosts_restore_after_a_cut_link_and_execution_continues() {
    let field = Field::new();
    field.bench.write("small.toml", STUDY);
    let before = field.features();
    let running = field.start(&["run", "small.toml", "--seed", "1", "--json"]);
    field.bench.wait_for_run(&running, 1);
    eventually(PATIENCE, "the second run sets offloads", || {
        field
            .features()
            .iter()
            .zip(&before)
            .all(|(now, before)| now != before)
            .then_some(())
    });
    // The clocks are compared by then, and traffic flows.
    std::thread::sleep(UNDER_WAY);
    set_links(&field, false);
    eventually(
        PATIENCE,
        "both hosts are as before while they are cut off",
        || (field.features() == before).then_some(()),
    );
    eventually(PATIENCE, "an attempt to reach a host fails", || {
        let said = running.stderr();
        said.contains(", trying again: ").then_some(())
    });
    set_links(&field, true);
    let done = running.finish(PATIENCE).with_code(1);
    field.assert_nothing_left();
    assert_eq!(field.features(), before);
    assert_eq!(runs_per_cell(&done.json()).iter().sum::<u64>(), 3);
    let lost = |event: &Event| match event {
        Event::RunFailed {
            run, kind, reason, ..
        } => Some((*run, *kind, reason.clone())),
        _ => None,
    };
    let lost: Vec<_> = field.bench.log().events.iter().filter_map(lost).collect();
    let [(1, FailureKind::Lost, reason)] = &lost[..] else {
        panic!("{lost:?}")
    };
    assert!(
        reason.contains("nothing heard from") || reason.contains("is gone"),
        "{reason}"
    );
    let resumed = field.bench.resume();
    assert_eq!(runs_per_cell(&resumed), [2, 2]);
    field.assert_nothing_left();
}

fn hosts_restore_after_the_controller_dies() {
    let field = Field::new();
    install(&field);
    field.bench.write("small.toml", STUDY);
    let before = field.features();
    let running = field.start(&["run", "small.toml", "--seed", "1"]);
    field.bench.wait_for_run(&running, 0);
    eventually(PATIENCE, "offloads are set", || {
        (field.features() != before).then_some(())
    });
    running.signal(Signal::KILL);
    eventually(PATIENCE, "both hosts are as before", || {
        (field.features() == before).then_some(())
    });
    eventually(PATIENCE, "every process is gone", || {
        field.bench.family.members().is_empty().then_some(())
    });
    field.assert_nothing_left();
}
