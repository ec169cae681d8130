//! Side effects of a setting are restored with it, on real devices, each in a private network
//! namespace.

use std::process::Command;
use std::sync::{Arc, Mutex};

use bitcost_host::journal::Entry;
use bitcost_host::{Change, ChangeSet, HostError, Journal, MTU, NoJournal, Watch, restore, single};
use bitcost_model::host_settings::HostSetting;
use bitcost_sys::netlink::Rtnl;
use bitcost_testkit::assert_says;

bitcost_testkit::trials! { PrivateNetwork:
    mtu_is_restored_after_its_process_was_killed,
    side_effects_are_restored_after_a_killed_restore,
    ambiguous_route_is_not_changed,
    foreign_change_of_a_link_is_kept_and_reported,
    removed_link_is_not_recreated,
    removed_facts_are_restored_from_the_snapshot,
    unrestorable_fact_is_reported_with_before_and_after;
}

/// Runs a script that makes a host; ignores the trial if this kernel or machine cannot.
fn outside(script: &str) {
    match Command::new("sh").args(["-ec", script]).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => bitcost_testkit::ignore(&format!(
            "{script}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => bitcost_testkit::ignore(&format!("sh: {error}")),
    }
}

/// The links here as other programs report them, line by line in order.
fn seen() -> Vec<String> {
    let script = "ip -o link; ip -o address; ip route; ip -6 route; grep -sH . /proc/sys/net/ipv[46]/conf/*/* || true";
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace(" tentative", "");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The lines that only one of the two has.
fn changed(before: &[String], now: &[String]) -> Vec<String> {
    let only = |here: &[String], there: &[String], sign: char| {
        here.iter()
            .filter(|line| !there.contains(line))
            .map(|line| format!("{sign} {line}"))
            .collect::<Vec<_>>()
    };
    [only(before, now, '-'), only(now, before, '+')].concat()
}

fn assert_as(before: &[String], what: &str) {
    assert_eq!(changed(before, &seen()), [""; 0], "{what}");
}

/// A veth pair with a macvlan on it, addresses, and routes with an MTU.
const HOST: &str = "
ip link add a0 mtu 3000 numtxqueues 2 numrxqueues 2 type veth peer name b0 mtu 3000 numtxqueues 2 numrxqueues 2
ip link set a0 up
ip link set b0 up
ip link add link a0 name mv0 mtu 3000 type macvlan mode bridge
ip link set mv0 up
ip address add 10.9.0.1/24 dev a0
ip -6 address add fd00::1/64 dev a0 nodad
ip -6 address add fd02::1/64 dev mv0 nodad
echo 1300 >/proc/sys/net/ipv6/conf/a0/mtu
echo 2500 >/proc/sys/net/ipv6/conf/mv0/mtu
ip -6 route add fd01::/64 dev a0 mtu 2000
ip -6 route add fd03::/64 via fd00::2 dev a0 mtu 2600 metric 77
ip -6 route add fd04::/64 dev mv0 mtu 2200
ip route add 10.10.0.0/16 dev a0 mtu 2100
";

fn held() -> ChangeSet {
    ChangeSet::new(Box::new(NoJournal))
}

/// Sets another MTU of a0.
fn short_frames() -> ChangeSet {
    let mut held = held();
    held.set(&MTU, "a0", &HostSetting::Mtu(1400)).unwrap();
    held
}

fn mtu_of(device: &str) -> u32 {
    Rtnl::open().unwrap().link(device).unwrap().mtu_bytes
}

/// A journal that keeps the changes in memory.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<Change>>>);

impl Journal for Noted {
    fn record(&mut self, step: Entry) -> Result<(), HostError> {
        if let Entry::Intent(change) | Entry::Made(change) = step {
            self.0.lock().unwrap().push(change);
        }
        Ok(())
    }
}

/// What was noted of a new MTU by a process that ended without restoring it.
fn set_and_killed() -> Vec<Change> {
    let noted = Noted::default();
    let mut held = ChangeSet::new(Box::new(noted.clone()));
    held.set(&MTU, "a0", &HostSetting::Mtu(1400)).unwrap();
    std::mem::forget(held);
    let changes = noted.0.lock().unwrap();
    changes.clone()
}

fn mtu_is_restored_after_its_process_was_killed() {
    outside(HOST);
    let before = seen();
    let change = set_and_killed()[0].clone();
    assert_eq!(change.side_effects_after, None, "it was never read back");
    let text = serde_json::to_string(&change).unwrap();
    let outcome = restore(&serde_json::from_str(&text).unwrap());
    assert!(outcome.is_clean(), "{outcome}");
    assert_as(&before, "restored");
    // Restoring a second time changes nothing.
    assert!(restore(&change).is_clean());
    assert_as(&before, "restored");
}

fn side_effects_are_restored_after_a_killed_restore() {
    outside(HOST);
    let before = seen();
    let change = set_and_killed()[1].clone();
    assert!(change.side_effects_after.is_some());
    // The interface has its MTU again, and the kernel raised that of the routes; nothing else was
    // done.
    outside("ip link set a0 mtu 3000");
    let outcome = restore(&change);
    assert!(outcome.is_clean(), "{outcome}");
    assert_as(&before, "restored");
}

fn ambiguous_route_is_not_changed() {
    outside(HOST);
    outside(
        "ip -6 route add fd05::/64 dev a0 mtu 2000 metric 9; ip -6 route append fd05::/64 dev b0 metric 9",
    );
    let before = seen();
    match held().set(&MTU, "a0", &HostSetting::Mtu(1400)) {
        Err(error) => {
            let said = error.to_string();
            assert_says(&said, &["fd05::/64", "another metric"]);
        }
        Ok(in_effect) => assert_eq!(
            in_effect.actual,
            single("1400"),
            "this kernel made one route of the two"
        ),
    }
    assert_as(&before, "restored");
}

fn foreign_change_of_a_link_is_kept_and_reported() {
    outside(HOST);
    let mut held = short_frames();
    outside("ip link set mv0 mtu 1300");
    let outcome = held.restore().remove(0);
    assert!(outcome.is_settled() && !outcome.is_clean(), "{outcome}");
    let said = outcome.to_string();
    assert_says(
        &said,
        &["link mv0 mtu_bytes was changed by another program and is left at 1300 (before: 3000)"],
    );
    assert_eq!((mtu_of("a0"), mtu_of("mv0")), (3000, 1300));
}

fn removed_link_is_not_recreated() {
    outside(HOST);
    let mut held = short_frames();
    outside("ip link del mv0");
    let outcome = held.restore().remove(0);
    assert!(outcome.is_settled(), "{outcome}");
    assert_eq!(mtu_of("a0"), 3000);
}

/// Plays a run: `applied` is the effect of a setting, `meanwhile` that of another program.
fn played(applied: &str, meanwhile: &str) -> Vec<String> {
    let mut watch = Watch::start("a0").unwrap();
    outside(applied);
    watch.applied();
    outside(meanwhile);
    watch.release();
    watch.settle()
}

fn removed_facts_are_restored_from_the_snapshot() {
    outside(HOST);
    let before = seen();
    let removed = "
        ip -6 address del fd00::1/64 dev a0
        ip address del 10.9.0.1/24 dev a0
        ip link set mv0 mtu 1500 down
        echo 1 >/proc/sys/net/ipv4/conf/a0/accept_redirects
        echo 0 >/proc/sys/net/ipv6/conf/mv0/accept_redirects
        echo 7 >/proc/sys/net/ipv6/conf/all/hop_limit
    ";
    assert_eq!(played(removed, "true"), [""; 0]);
    assert_as(&before, "restore");
}

fn unrestorable_fact_is_reported_with_before_and_after() {
    outside(HOST);
    let left = played("ip link del mv0; ip address add 10.9.0.7/24 dev a0", "true");
    let text = left.join("\n");
    assert!(text.contains("link mv0 mtu_bytes was changed along with a setting and could not be restored (before: 3000; after: absent)"), "{text}");
    assert_says(
        &text,
        &[
            "address a0 10.9.0.7/24 was changed along",
            "(before: absent;",
        ],
    );
    assert!(
        !text.contains("net.ipv6.conf.mv0"),
        "one line for a link that is gone: {text}"
    );
}
