//! The knobs against the running kernel, each in a private network namespace.

use std::fs;
use std::process::Command;

use bitcost_host::{
    CHANNEL_COUNTS, Change, ChangeSet, GRO_MAX_SIZE, GSO_MAX_SEGS, GSO_MAX_SIZE, HostError,
    INTERRUPT_COALESCING, Knob, MTU, NoJournal, Offloads, Outcome, RING_SIZES, RPS_CPUS, RootQdisc,
    Sysctl, THREADED_NAPI, Values, describe, is_on, single,
};
use bitcost_model::host_settings::{HostSetting, Qdisc};
use bitcost_model::settings::{Kind, find};
use bitcost_sys::netlink::{Ethtool, Features, ROOT, Rtnl};
use bitcost_testkit::{assert_says, ignore, split};

bitcost_testkit::trials! { PrivateNetwork:
    tso_off_restores_requested_and_active_bits,
    offloads_on_are_active_afterwards,
    lro_on_a_veth_fails_with_requested_and_actual_value,
    bits_changed_as_side_effect_are_restored,
    limits_of_super_packets_are_set_for_both_families_and_restored,
    separate_limit_of_ipv4_is_restored,
    default_qdisc_is_replaced_and_restored,
    foreign_qdisc_is_restored_with_handle_and_parameters,
    qdisc_tree_is_not_replaced,
    missing_qdisc_is_reported_with_its_module,
    sysctl_is_set_and_restored,
    sysctl_of_the_machine_is_refused_in_a_namespace,
    channels_are_set_and_restored,
    threads_and_cpus_that_receive_are_set_and_restored,
    coalescing_is_set_and_restored_if_supported,
    invalid_subject_is_refused,
    changes_are_restored_in_reverse_order_and_qdiscs_last,
    foreign_change_is_kept_and_reported,
    foreign_bit_is_kept_and_others_are_restored,
    missing_device_needs_no_restoring,
    renamed_device_is_restored,
    dropping_the_change_set_restores,
    facts_of_a_veth;
}

fn veth() {
    let mut rtnl = bitcost_testkit::veth(8896);
    let index = rtnl.link("a0").unwrap().index;
    rtnl.set_up(index, true).unwrap();
}

/// The request for a knob that people write so; of a sysctl its value.
fn request(knob: &dyn Knob, subject: &str, text: &str) -> HostSetting {
    let text = match knob.name() {
        "sysctl" => format!("{subject}={text}"),
        _ => text.to_owned(),
    };
    let Some(Kind::Host(grammar)) = find(knob.name()).map(|setting| setting.kind) else {
        panic!("{} is no setting of a host", knob.name());
    };
    grammar.read(&text).expect("it reads").remove(0).setting
}

fn held() -> ChangeSet {
    ChangeSet::new(Box::new(NoJournal))
}

/// Makes requests of `a0`, one after the other.
fn made(requests: &[(&'static dyn Knob, &str)]) -> ChangeSet {
    let mut held = held();
    for (knob, request) in requests {
        let asked = self::request(*knob, "a0", request);
        held.set(*knob, "a0", &asked).unwrap();
    }
    held
}

fn index_of_a0(rtnl: &mut Rtnl) -> u32 {
    rtnl.link("a0").unwrap().index
}

#[track_caller]
fn assert_clean(outcomes: &[Outcome]) {
    assert!(outcomes.iter().all(Outcome::is_clean), "{outcomes:?}");
}

/// Makes a request that is refused with a sentence that has all of these words.
#[track_caller]
fn assert_refused(knob: &'static dyn Knob, subject: &str, request: &str, words: &[&str]) {
    let asked = self::request(knob, subject, request);
    let said = held().set(knob, subject, &asked).unwrap_err().to_string();
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}

/// Sets a request, checks that another program sees it, and that everything is as before
/// afterwards.
fn set_and_restore(knob: &'static dyn Knob, subject: &str, request: &str, seen: impl FnOnce()) {
    let before = knob.observe(subject).unwrap();
    let mut held = held();
    let asked = self::request(knob, subject, request);
    let in_effect = held.set(knob, subject, &asked).unwrap();
    assert_eq!(in_effect.actual, knob.observe(subject).unwrap());
    assert_ne!(in_effect.actual, before);
    seen();
    let outcomes = held.restore();
    assert_eq!(outcomes.len(), 1);
    assert_clean(&outcomes);
    assert_eq!(knob.observe(subject).unwrap(), before);
}

/// The output of a program; `None` if it is not installed.
fn printed(line: &str) -> Option<String> {
    let words = split(line);
    let output = Command::new(words[0]).args(&words[1..]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program that changes something; ignores the trial if it is not installed or refuses.
fn outside(line: &str) {
    let words = split(line);
    match Command::new(words[0]).args(&words[1..]).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => ignore(&format!("{line}: {}", output.stderr.escape_ascii())),
        Err(error) => ignore(&format!("{line}: {error}")),
    }
}

fn assert_printed(line: &str, wanted: &str) {
    if let Some(text) = printed(line) {
        assert!(text.contains(wanted), "{line}: {text}");
    }
}

fn is_tso(name: &str) -> bool {
    name.starts_with("tx-tcp") && name.ends_with("-segmentation")
}

/// Every bit with its values `wanted` and `active` as the kernel reports them, and the output of
/// ethtool.
fn outside_view() -> (Features, Option<String>) {
    let features = Ethtool::open().unwrap().features("a0").unwrap();
    (features, printed("ethtool -k a0"))
}

fn tso_off_restores_requested_and_active_bits() {
    veth();
    let is_tso_of = |features: &Features| -> Vec<(bool, bool)> {
        let bits = features.iter().filter(|(name, _)| is_tso(name));
        bits.map(|(_, bit)| (bit.wanted, bit.active)).collect()
    };
    let before = outside_view();
    let bits = is_tso_of(&before.0);
    assert!(
        bits.len() >= 4 && bits.iter().all(|bit| *bit == (true, true)),
        "{bits:?}"
    );
    let mut change = made(&[(&Offloads, "tcp-segmentation-offload off")]);
    let now = is_tso_of(&outside_view().0);
    assert_eq!(now, vec![(false, false); bits.len()]);
    assert_clean(&change.restore());
    assert_eq!(outside_view(), before);
    // The feature is wanted, but not active because a checksum is off; this state must be restored.
    outside("ethtool -K a0 tx-checksum-ip-generic off");
    let before = outside_view();
    assert!(is_tso_of(&before.0).contains(&(true, false)), "{before:?}");
    assert_eq!(made(&[(&Offloads, "off")]).restore().len(), 1);
    assert_eq!(outside_view(), before);
}

fn offloads_on_are_active_afterwards() {
    veth();
    // A fresh veth has GRO off.
    assert!(!is_on(&Offloads.observe("a0").unwrap()["rx-gro"]));
    set_and_restore(&Offloads, "a0", "on", || {
        let now = Offloads.observe("a0").unwrap();
        assert!(is_on(&now["rx-gro"]) && is_on(&now["tx-tcp-segmentation"]));
    });
}

fn lro_on_a_veth_fails_with_requested_and_actual_value() {
    veth();
    let before = Offloads.observe("a0").unwrap();
    for name in ["lro", "rx-lro", "large-receive-offload"] {
        let asked = request(&Offloads, "a0", &format!("{name} on, gso off"));
        let error = held().set(&Offloads, "a0", &asked).unwrap_err();
        assert!(matches!(error, HostError::NotApplied { .. }), "{error}");
        let said = error.to_string();
        assert_says(&said, &["rx-lro requested on, in effect off [fixed]"]);
        // The side effects are restored.
        assert_eq!(Offloads.observe("a0").unwrap(), before);
    }
    assert_refused(&Offloads, "a0", "rx-gor on", &["did you mean `rx-gro`"]);
}

fn bits_changed_as_side_effect_are_restored() {
    veth();
    set_and_restore(&Offloads, "a0", "tx off", || {
        let now = Offloads.observe("a0").unwrap();
        // Segmentation needs the checksum.
        assert!(!is_on(&now["tx-tcp-segmentation"]));
    });
}

/// The knobs of super-packets with what ip-link(8) calls their limit of IPv4, where the kernel has
/// a separate one.
const LIMITS: [(&'static dyn Knob, &str); 3] = [
    (&GSO_MAX_SEGS, ""),
    (&GSO_MAX_SIZE, "gso_ipv4_max_size"),
    (&GRO_MAX_SIZE, "gro_ipv4_max_size"),
];

/// Ignores the trial where the kernel does not report this limit.
fn need(knob: &dyn Knob) {
    if knob.observe("a0").unwrap().is_empty() {
        ignore(&format!("this kernel does not report {}", knob.name()));
    }
}

fn limits_of_super_packets_are_set_for_both_families_and_restored() {
    veth();
    for (knob, ipv4) in LIMITS {
        need(knob);
        for value in ["2000", "1024"] {
            set_and_restore(knob, "a0", value, || {
                let now = knob.observe("a0").unwrap();
                assert!(now.values().all(|now| now == value), "{now:?}");
                let link = printed("ip -d link show a0").unwrap_or_default();
                for name in [knob.name(), ipv4] {
                    // An older `ip` does not print every limit.
                    let shown = link.split_once(&format!("{name} ")).map(|(_, rest)| rest);
                    let is_it = shown.is_none_or(|rest| rest.starts_with(&format!("{value} ")));
                    assert!(is_it || name.is_empty(), "{name} is {value}: {link}");
                }
            });
        }
    }
}

/// A change that was never read back.
fn change_of(knob: &dyn Knob, subject: &str, before: Values, asked: Values) -> Change {
    Change {
        number: 1,
        knob: knob.name().to_owned(),
        subject: subject.to_owned(),
        index: None,
        asked,
        before,
        after: None,
        side_effects: Values::new(),
        side_effects_after: None,
    }
}

fn separate_limit_of_ipv4_is_restored() {
    veth();
    for (knob, limit) in LIMITS.into_iter().skip(1) {
        need(knob);
        let mut rtnl = Rtnl::open().unwrap();
        let index = index_of_a0(&mut rtnl);
        let now = || Rtnl::open().unwrap().link("a0").unwrap().numbers;
        if !now().contains_key(limit) {
            ignore("this kernel has no separate limit of IPv4");
        }
        rtnl.set_numbers(index, &[(limit, 30_000)]).unwrap();
        set_and_restore(knob, "a0", "16000", || {
            assert_eq!(now()[limit], 16_000);
        });
        assert_eq!(now()[limit], 30_000);
        // The kernel changes it along: a change that was never read back is restored with it.
        let before = knob.observe("a0").unwrap();
        let asked = ["value", "ipv4"].map(|name| (name.to_owned(), "16000".to_owned()));
        let lost = change_of(knob, "a0", before.clone(), asked.into());
        knob.write("a0", &before, &lost.asked).unwrap();
        assert!(bitcost_host::restore(&lost).is_clean());
        assert_eq!(knob.observe("a0").unwrap(), before);
    }
}

fn default_qdisc_is_replaced_and_restored() {
    veth();
    for (request, wanted) in [
        ("pfifo limit 77", "limit 77p"),
        ("tbf rate 1G", "rate 1Gbit"),
        ("tbf rate 80G", "rate 80Gbit"),
    ] {
        set_and_restore(&RootQdisc, "a0", request, || {
            assert_printed("tc qdisc show dev a0", wanted);
        });
    }
    assert_refused(&RootQdisc, "a0", "tbf", &["tbf needs rate_bps"]);
    let unknown = HostSetting::Qdisc(Qdisc {
        kind: "pfifoo".to_owned(),
        parameters: Default::default(),
    });
    let said = held().set(&RootQdisc, "a0", &unknown).unwrap_err();
    assert_says(
        &said.to_string(),
        &[
            "make pfifoo the root qdisc of a0",
            "this kind is unknown; did you mean `pfifo`",
        ],
    );
}

fn foreign_qdisc_is_restored_with_handle_and_parameters() {
    veth();
    for row in [
        "tbf rate 1gbit burst 64k limit 1m",
        "pfifo limit 33",
        "bfifo limit 9999",
    ] {
        outside("tc qdisc replace dev a0 root handle 5: pfifo");
        outside(&format!("tc qdisc replace dev a0 root handle 77: {row}"));
        let shown = printed("tc qdisc show dev a0");
        set_and_restore(&RootQdisc, "a0", "tbf rate 20M", || ());
        set_and_restore(&RootQdisc, "a0", "default", || ());
        assert_eq!(printed("tc qdisc show dev a0"), shown);
    }
}

fn qdisc_tree_is_not_replaced() {
    veth();
    outside("tc qdisc replace dev a0 root handle 7: htb default 1");
    let before = RootQdisc.observe("a0").unwrap();
    for kind in ["pfifo", "default"] {
        assert_refused(&RootQdisc, "a0", kind, &["could not be restored", "htb"]);
    }
    assert_eq!(RootQdisc.observe("a0").unwrap(), before);
}

fn missing_qdisc_is_reported_with_its_module() {
    veth();
    let before = RootQdisc.observe("a0").unwrap();
    for (kind, text, name, value) in [
        ("netem", "delay 5ms", "delay_us", "5000"),
        ("fq", "limit 500", "limit_packets", "500"),
        ("fq_codel", "target 5ms", "target_us", "4999"),
    ] {
        let asked = request(&RootQdisc, "a0", &format!("{kind} {text}"));
        let mut held = held();
        match held.set(&RootQdisc, "a0", &asked) {
            Ok(in_effect) => assert_eq!(in_effect.actual[name], value),
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains(&format!("modprobe sch_{kind}")), "{said}");
            }
        }
        drop(held);
        assert_eq!(RootQdisc.observe("a0").unwrap(), before);
    }
}

fn sysctl_is_set_and_restored() {
    let (rmem, control) = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_congestion_control");
    set_and_restore(&Sysctl, rmem, "4096\t65536 1048576", || {
        let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").unwrap();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        assert_eq!(words, ["4096", "65536", "1048576"]);
    });
    let before = Sysctl.observe(control).unwrap();
    assert_refused(&Sysctl, control, "nonesuch", &["no such module", "reno"]);
    assert_eq!(Sysctl.observe(control).unwrap(), before);
    let default = &before["value"];
    let other = before["allowed"].split(' ').find(|name| name != default);
    if let Some(other) = other {
        set_and_restore(&Sysctl, control, other, || {});
    }
    assert_refused(&Sysctl, rmem, "few", &[rmem, "few"]);
}

fn sysctl_of_the_machine_is_refused_in_a_namespace() {
    let name = "net.core.rmem_max";
    let Ok(before) = Sysctl.observe(name) else {
        ignore("not visible in a network namespace")
    };
    assert_refused(&Sysctl, name, "123456", &[name, "whole machine"]);
    assert_eq!(Sysctl.observe(name).unwrap(), before);
}

fn threads_and_cpus_that_receive_are_set_and_restored() {
    veth();
    if let Err(error) = THREADED_NAPI.observe("a0") {
        ignore(&error.to_string());
    }
    assert_refused(&THREADED_NAPI, "a0", "on", &["has no NAPI"]);
    let mut gro = made(&[(&Offloads, "rx-gro on")]);
    set_and_restore(&THREADED_NAPI, "a0", "on", || {});
    gro.restore();
    let first = request(&RPS_CPUS, "a0", "0");
    if held().set(&RPS_CPUS, "a0", &first).is_err() {
        ignore("RPS is for root of the machine alone, or not in this kernel")
    }
    assert_refused(&RPS_CPUS, "a0", "2000", &["CPUs that exist, 0"]);
    set_and_restore(&RPS_CPUS, "a0", "0", || {
        let now = RPS_CPUS.observe("a0").unwrap();
        assert!(RPS_CPUS.agrees("rx-0", "00000001", &now["rx-0"]), "{now:?}");
    });
}

fn channels_are_set_and_restored() {
    veth();
    let Ok(now) = CHANNEL_COUNTS.observe("a0") else {
        ignore("veth has no channels here")
    };
    assert_eq!(now["rx"], "1");
    let missing = ["does not support it; supported: rx, tx"];
    assert_refused(&CHANNEL_COUNTS, "a0", "combined 2", &missing);
    let set = |text: &str| {
        let asked = request(&CHANNEL_COUNTS, "a0", text);
        held().set(&CHANNEL_COUNTS, "a0", &asked).map(drop)
    };
    let said = set("rx 4096").unwrap_err().to_string();
    if said.contains("sysfs is not mounted") {
        ignore(&said);
    }
    assert!(said.contains("; it has rx 1"), "{said}");
    if set("rx 2 tx 2").is_err() {
        ignore("a veth has one queue here");
    }
    set_and_restore(&CHANNEL_COUNTS, "a0", "rx 2 tx 2", || {
        assert_printed("ethtool -l a0", "RX:\t\t2");
    });
}

fn coalescing_is_set_and_restored_if_supported() {
    veth();
    let knob = &INTERRUPT_COALESCING;
    assert_refused(knob, "a0", "rx_usecs 10", &["cannot do it"]);
    assert_refused(&RING_SIZES, "a0", "rx 512", &["cannot do it"]);
    outside("ip tuntap add dev t0 mode tap");
    if knob.observe("t0").is_err() {
        ignore("a tap has no coalescing here");
    }
    assert_refused(knob, "t0", "rx_usec 10", &["did you mean `rx_usecs`"]);
    set_and_restore(knob, "t0", "rx_frames 8", || {
        assert_printed("ethtool -c t0", "rx-frames:");
    });
}

/// Names that would lead to other files or break a message, for every knob: they are set, and
/// restored from a journal.
fn invalid_subject_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    let (absolute, long) = (folder.path().to_str().unwrap(), "x".repeat(70_000));
    let hostile = ",.,..,../..,cpu0/../..,cpu,cpu-1,cpu0x,cpu99999999999,a/b,a b,a\n,net.ipv4.../../kernel/panic,\
        net/../kernel/panic,kernel.panic,net.,net.ipv4.tcp_sack\0";
    for subject in hostile.split(',').chain([absolute, long.as_str()]) {
        let is_wrong = |knob: &&&'static dyn Knob| !is_a_subject(knob.name(), subject);
        for knob in bitcost_host::KNOBS.iter().filter(is_wrong) {
            let shown: String = subject.chars().take(40).collect();
            let said = held().set(*knob, subject, &HostSetting::Mtu(1400));
            let said = said.unwrap_err().to_string();
            assert!(
                said.contains("allowed: ") && said.len() < 1000,
                "{} {shown}: {said}",
                knob.name()
            );
            let change = change_of(*knob, subject, single("PWNED"), single("1"));
            let outcome = bitcost_host::restore(&change);
            assert!(
                outcome.failed.is_some_and(|why| why.contains("allowed: ")),
                "{} {shown}",
                knob.name()
            );
        }
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "untouched");
}

/// Names that look like a device's are refused since there is no such device, not for their form.
fn is_a_subject(knob: &str, subject: &str) -> bool {
    let mut names = "cpu cpu-1 cpu0x cpu99999999999 kernel.panic net.".split(' ');
    names.any(|name| name == subject) && knob != "sysctl"
}

fn changes_are_restored_in_reverse_order_and_qdiscs_last() {
    veth();
    let knobs: [&dyn Knob; 3] = [&Offloads, &MTU, &RootQdisc];
    let observe = || knobs.map(|knob| knob.observe("a0").unwrap());
    let before = observe();
    let mut held = made(&[
        (&Offloads, "off"),
        (&MTU, "1500"),
        (&Offloads, "gro on, tx off"),
        (&RootQdisc, "pfifo limit 5"),
    ]);
    let outcomes = held.restore();
    let order: Vec<&str> = outcomes.iter().map(|one| one.knob.as_str()).collect();
    assert_eq!(order, ["offloads", "mtu_bytes", "offloads", "qdisc"]);
    assert_clean(&outcomes);
    assert_eq!(observe(), before);
}

fn foreign_change_is_kept_and_reported() {
    veth();
    let mut held = made(&[(&MTU, "1500"), (&RootQdisc, "pfifo limit 5")]);
    let wmem = "net.ipv4.tcp_wmem";
    let asked = request(&Sysctl, wmem, "4096 65536 1048576");
    held.set(&Sysctl, wmem, &asked).unwrap();
    let mut rtnl = Rtnl::open().unwrap();
    let index = index_of_a0(&mut rtnl);
    rtnl.set_mtu(index, 4000).unwrap();
    rtnl.put_qdisc((index, ROOT), 0x99_0000, "pfifo", &7u32.to_ne_bytes())
        .unwrap();
    let outcomes = held.restore();
    assert!(outcomes.iter().all(Outcome::is_settled), "{outcomes:?}");
    let said: Vec<String> = outcomes.iter().map(ToString::to_string).collect();
    assert_eq!(said[0], "sysctl of net.ipv4.tcp_wmem: as before");
    let left = "was changed by another program and is left at";
    assert_says(&said[1], &[&format!("value {left} 4000 (before: 8896)")]);
    assert_says(&said[2], &[&format!("limit_packets {left} 7")]);
    assert_eq!(MTU.observe("a0").unwrap(), single("4000"));
    assert_eq!(RootQdisc.observe("a0").unwrap()["handle"], "99:");
}

fn foreign_bit_is_kept_and_others_are_restored() {
    veth();
    let before = Offloads.observe("a0").unwrap();
    let mut change = made(&[(&Offloads, "tso off, gro on")]);
    let foreign = ["rx-gro-list", "tx-tcp-segmentation"].map(|name| (name.to_owned(), true));
    let mut ethtool = Ethtool::open().unwrap();
    ethtool.set_features("a0", &foreign.into()).unwrap();
    let outcome = change.restore().remove(0);
    let left: Vec<&str> = outcome
        .foreign
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    // What is as before again is nobody's.
    assert_eq!(left, ["rx-gro-list"], "{outcome}");
    let mut now = Offloads.observe("a0").unwrap();
    now.retain(|name, word| before[name] != *word);
    assert_eq!(now.into_keys().collect::<Vec<_>>(), ["rx-gro-list"]);
}

fn missing_device_needs_no_restoring() {
    veth();
    let mut held = made(&[(&MTU, "1500")]);
    let tag = "net.ipv4.conf.a0.tag";
    held.set(&Sysctl, tag, &request(&Sysctl, tag, "7")).unwrap();
    outside("ip link delete a0");
    let outcomes = held.restore();
    assert_eq!(outcomes.len(), 2);
    for gone in outcomes {
        assert!(gone.is_settled() && gone.gone.is_some(), "{gone:?}");
    }
}

fn renamed_device_is_restored() {
    veth();
    let mut held = made(&[(&MTU, "1500")]);
    let tag = "net.ipv4.conf.a0.tag";
    held.set(&Sysctl, tag, &request(&Sysctl, tag, "7")).unwrap();
    outside("ip link set a0 down");
    outside("ip link set a0 name a0.5");
    for outcome in held.restore() {
        assert!(outcome.is_settled() && outcome.gone.is_none(), "{outcome}");
    }
    assert_eq!(MTU.observe("a0.5").unwrap(), single("8896"));
    let now = Sysctl.observe("net.ipv4.conf.a0.5.tag").unwrap();
    assert_eq!(now, single("0"));
    set_and_restore(&Sysctl, "net.ipv4.conf.a0.5.tag", "7", || ());
}

fn dropping_the_change_set_restores() {
    veth();
    drop(made(&[(&MTU, "1500")]));
    assert_eq!(MTU.observe("a0").unwrap(), single("8896"));
}

fn facts_of_a_veth() {
    veth();
    let facts = describe("a0").unwrap();
    assert_eq!(facts.driver.as_deref(), Some("veth"));
    assert_eq!(facts.mtu_bytes, 8896);
    assert!(facts.features.contains_key("rx-gro"));
    let missing = describe("no-such").unwrap_err().to_string();
    assert!(missing.contains("no-such"), "{missing}");
}
