//! The knobs against the running kernel, each in a private network namespace.

use host::{Set, apply, describe, observe, plan, plan_names, restore};
use netlink::{Rtnl, VethPair};

fn main() {
    testkit::main(vec![
        ("off_turns_every_tso_bit_off_and_restore_brings_all_back", off_then_restore),
        ("on_is_what_is_active_afterwards", on_is_active),
        ("as_found_touches_nothing", as_found_touches_nothing),
        ("lro_on_a_veth_is_reported_as_not_applied", lro_is_mismatched),
        ("bits_taken_along_are_restored", bits_taken_along_are_restored),
        ("the_facts_of_a_veth", the_facts_of_a_veth),
    ]);
}

fn veth() {
    let pair = VethPair { name: "a0", peer_name: "b0", peer_netns: None, mtu_bytes: 8896 };
    Rtnl::open().unwrap().create_veth(&pair).unwrap();
}

fn is_tso(name: &str) -> bool {
    name.starts_with("tx-tcp") && name.ends_with("-segmentation")
}

fn off_then_restore() {
    veth();
    let before = observe("a0").unwrap();
    let tso_on = before.bits.iter().filter(|(name, bit)| is_tso(name) && bit.active).count();
    assert!(tso_on >= 4, "a fresh veth has TSO: {before:?}");
    let off = apply("a0", &plan(&before, Set::Off)).unwrap();
    assert_eq!(off.mismatched, Vec::<String>::new());
    assert!(off.active.iter().filter(|(name, _)| is_tso(name)).all(|(_, on)| !on));
    assert!(!off.active["tx-generic-segmentation"] && !off.active["rx-gro"]);
    assert_eq!(restore("a0", &before).unwrap(), []);
    assert_eq!(observe("a0").unwrap(), before);
}

fn on_is_active() {
    veth();
    let before = observe("a0").unwrap();
    assert!(!before.bits["rx-gro"].active, "a fresh veth has GRO off");
    let on = apply("a0", &plan(&before, Set::On)).unwrap();
    assert_eq!(on.mismatched, Vec::<String>::new());
    assert!(on.active["rx-gro"] && on.active["tx-tcp-segmentation"]);
    assert_eq!(restore("a0", &before).unwrap(), []);
    assert!(!observe("a0").unwrap().bits["rx-gro"].active);
}

fn as_found_touches_nothing() {
    veth();
    let before = observe("a0").unwrap();
    let applied = apply("a0", &plan(&before, Set::AsFound)).unwrap();
    assert!(applied.asked.is_empty() && applied.mismatched.is_empty());
    assert_eq!(observe("a0").unwrap(), before);
}

fn lro_is_mismatched() {
    veth();
    let asked = plan_names([("rx-lro".to_owned(), true)]);
    let applied = apply("a0", &asked).unwrap();
    assert_eq!(applied.mismatched, ["rx-lro"]);
    assert!(!applied.active["rx-lro"]);
    assert!(!plan(&observe("a0").unwrap(), Set::On).asked.contains_key("rx-lro"));
}

fn bits_taken_along_are_restored() {
    veth();
    let before = observe("a0").unwrap();
    let checksum = plan_names([("tx-checksum-ip-generic".to_owned(), false)]);
    let applied = apply("a0", &checksum).unwrap();
    assert!(applied.mismatched.is_empty());
    assert!(!applied.active["tx-tcp-segmentation"], "segmentation needs the checksum");
    assert_eq!(restore("a0", &before).unwrap(), []);
}

fn the_facts_of_a_veth() {
    veth();
    let facts = describe("a0").unwrap();
    assert_eq!((facts.driver.as_deref(), facts.kind.as_deref()), (Some("veth"), Some("veth")));
    assert_eq!((facts.mtu_bytes, facts.up), (8896, false));
    assert!(facts.features.bits.contains_key("rx-gro"));
    let text = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<host::DeviceFacts>(&text).unwrap(), facts);
    let missing = describe("no-such").unwrap_err().to_string();
    assert!(missing.contains("no-such"), "{missing}");
}
