//! The netlink verbs against the running kernel, each in a private network namespace.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bitcost_sys::netlink::{Ethtool, ROOT, Route, napis};
use bitcost_testkit::assert_says;

fn main() {
    bitcost_testkit::main(&[TRIALS]);
}

bitcost_testkit::trials! { PrivateNetwork:
    routes_are_reported,
    refusal_has_the_message_of_the_kernel,
    napi_of_a_veth_with_gro_is_listed;
}

fn routes_are_reported() {
    let mut rtnl = bitcost_testkit::veth(1500);
    let a = rtnl.link("a0").unwrap().index;
    assert!(rtnl.link("lo").unwrap().is_loopback() && !rtnl.link("a0").unwrap().is_loopback());
    for link in ["a0", "b0"].map(|name| rtnl.link(name).unwrap().index) {
        rtnl.set_up(link, true).unwrap();
    }
    for (own, other, prefix) in [("10.9.0.1", "10.9.0.2", 24), ("fd09::1", "fd09::2", 64)] {
        let [own, other]: [IpAddr; 2] = [own.parse().unwrap(), other.parse().unwrap()];
        rtnl.add_address(a, own, prefix).unwrap();
        assert_eq!(
            rtnl.route(other, 0).unwrap(),
            Route {
                device: "a0".to_owned(),
                source: own,
                is_local: false
            }
        );
        // The kernel makes the local route of an IPv6 address in a separate work queue.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !rtnl.route(own, 0).unwrap().is_local {
            assert!(Instant::now() < deadline, "{own} does not become local");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(rtnl.route(own, 0).unwrap().source, own);
    }
    let error = rtnl.route("192.0.2.1".parse().unwrap(), 0).unwrap_err();
    assert_says(&error.to_string(), &["find the route to 192.0.2.1"]);
}

fn refusal_has_the_message_of_the_kernel() {
    let mut rtnl = bitcost_testkit::veth(1500);
    let a = rtnl.link("a0").unwrap();
    let said = rtnl.set_mtu(a.index, 10).unwrap_err().to_string();
    assert!(said.contains("set mtu to 10 of a0"), "{said}");
    assert_says(&said, &["the kernel says: mtu less than device minimum"]);
    let said = rtnl
        .put_qdisc((a.index, ROOT), 0, "no-such", &[])
        .unwrap_err()
        .to_string();
    assert!(said.contains("make no-such the root qdisc of a0"), "{said}");
    // For a link that does not exist, its number is all that is known.
    let said = rtnl.set_up(1 << 20, true).unwrap_err().to_string();
    assert!(said.contains("set link 1048576 up"), "{said}");
    let said = rtnl.link("no-such").unwrap_err().to_string();
    assert_says(&said, &["\"no-such\"", "check its name"]);
}

fn napi_of_a_veth_with_gro_is_listed() {
    let mut rtnl = bitcost_testkit::veth(1500);
    for name in ["a0", "b0"] {
        let link = rtnl.link(name).unwrap();
        rtnl.set_up(link.index, true).unwrap();
    }
    let gro = BTreeMap::from([("rx-gro".to_owned(), true)]);
    let mut ethtool = Ethtool::open().unwrap();
    ethtool.set_features("a0", &gro).unwrap();
    assert!(ethtool.features("a0").unwrap()["rx-gro"].active);
    let index = rtnl.link("a0").unwrap().index;
    if let Some(napis) = napis(index).unwrap() {
        assert!(!napis.is_empty());
        assert_eq!(napis[0].thread_pid, None);
    }
}
