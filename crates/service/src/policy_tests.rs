//! Each rule refuses by its name, with the value that it forbids.

use std::net::IpAddr;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::host_settings::{HostSetting, OFFLOADS, SettingRequest, Sysctl};
use bitcost_model::place::Ports;
use bitcost_model::protocol::{Confinement, Part, Peer, Prepare, Start, ToAgent};
use bitcost_model::record::Role;

use crate::policy::{Policy, Rules};

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

fn policy(rules: Rules) -> Policy {
    Policy {
        rules,
        peer: PEER,
        local: LOCAL,
        device: "eth0".to_owned(),
    }
}

/// A run of one flow that this host receives.
pub fn prepare(change: impl FnOnce(&mut Conditions)) -> Prepare {
    let mut conditions = Conditions::of(Workload::TcpStream);
    change(&mut conditions);
    Prepare {
        run: 1,
        device: "eth0".to_owned(),
        cpus: Vec::new(),
        peer_cpu: None,
        softirq_cpus: Vec::new(),
        token: [1; 16],
        parts: vec![Part {
            role: Role::Receiver,
            conditions,
            listen_on: Some(LOCAL),
        }],
        receiving: None,
        peer: Peer::Bitcost,
        confinement: None,
        is_profiled: false,
    }
}

fn check(policy: &Policy, message: &ToAgent, now_ns: u64) -> Result<(), String> {
    let judged = policy.judge(message.clone(), now_ns);
    judged.map(drop).map_err(|refused| refused.0)
}

fn judged(rules: Rules, prepare: Prepare) -> Result<(), String> {
    check(&policy(rules), &ToAgent::Prepare(Box::new(prepare)), 0)
}

fn asked(change: impl FnOnce(&mut Conditions)) -> String {
    judged(Rules::default(), prepare(change)).expect_err("refused")
}

fn request(endpoint: Option<Role>, setting: HostSetting) -> SettingRequest {
    SettingRequest { endpoint, setting }
}

fn parameter(name: &str) -> HostSetting {
    HostSetting::Sysctl(Sysctl {
        name: name.to_owned(),
        value: "1".to_owned(),
    })
}

#[test]
fn a_plain_run_is_allowed() {
    assert_eq!(judged(Rules::default(), prepare(|_| {})), Ok(()));
}

#[test]
fn the_other_endpoint_is_a_bitcost() {
    let to_iperf3 = Prepare {
        peer: Peer::Iperf3,
        ..prepare(|_| {})
    };
    let error = judged(Rules::default(), to_iperf3).expect_err("refused");
    assert!(error.contains("requested an iperf3 server"), "{error}");
}

#[test]
fn what_needs_both_endpoints_of_a_lab_is_not_measured() {
    let timed = Prepare {
        softirq_cpus: vec![0, 1],
        ..prepare(|_| {})
    };
    let near = Prepare {
        peer_cpu: Some(1),
        ..prepare(|_| {})
    };
    for asked in [timed, near] {
        let error = judged(Rules::default(), asked).expect_err("refused");
        assert!(error.contains("this is not a lab"), "{error}");
    }
}

#[test]
fn the_host_is_not_profiled() {
    let run = Prepare {
        is_profiled: true,
        ..prepare(|_| {})
    };
    for message in [ToAgent::TryProfile, ToAgent::Prepare(Box::new(run))] {
        let error = check(&policy(Rules::default()), &message, 0).expect_err("refused");
        assert!(error.contains("requested --profile"), "{error}");
    }
}

#[test]
fn no_setting_of_the_host_is_changed_unless_it_is_named() {
    let offloads =
        |conditions: &mut Conditions| OFFLOADS.ask(&mut conditions.host_settings, "off").unwrap();
    assert_eq!(
        asked(offloads),
        r#"allow-settings: none; requested "offloads""#
    );
    let sysctl = |endpoint| {
        move |conditions: &mut Conditions| {
            conditions.host_settings = vec![request(endpoint, parameter("net.ipv4.tcp_sack"))];
        }
    };
    assert!(asked(sysctl(None)).contains(r#"requested "sysctl""#));
    assert!(asked(sysctl(Some(Role::Receiver))).contains("sysctl"));
    // It is the other host that is changed.
    assert_eq!(
        judged(Rules::default(), prepare(sysctl(Some(Role::Sender)))),
        Ok(())
    );
    let rules = Rules {
        settings: vec!["offloads".to_owned()],
        ..Rules::default()
    };
    assert_eq!(judged(rules.clone(), prepare(offloads)), Ok(()));
    let error = judged(rules, prepare(sysctl(None))).expect_err("refused");
    assert_eq!(error, r#"allow-settings: offloads; requested "sysctl""#);
}

#[test]
fn length_flows_and_rate_are_limited() {
    assert!(
        asked(|c| c.duration_ms = 600_000).starts_with("max-duration is 600 s; requested 600.")
    );
    assert!(
        asked(|c| (c.message_size_bytes, c.flows) = (1 << 24, 128))
            .starts_with("buffers of a run take at most")
    );
    assert!(
        asked(|c| c.message_size_bytes = u32::MAX).contains("message_size_bytes is 4294967295")
    );
    assert!(asked(|c| c.flows = 129).starts_with("max-flows is 128; requested 129 flows"));
    let rules = Rules {
        max_rate_bps: Some(1_000_000),
        ..Rules::default()
    };
    let rate = |change: &dyn Fn(&mut Conditions)| judged(rules.clone(), prepare(change));
    assert!(rate(&|_| {}).expect_err("none").contains("without a rate"));
    let two_flows = |bps: u64| {
        move |c: &mut Conditions| {
            c.flows = 2;
            c.rate_bps = Some(bps);
        }
    };
    assert_eq!(rate(&two_flows(500_000)), Ok(()));
    let error = rate(&two_flows(500_001)).expect_err("too much");
    assert!(error.contains("max-rate is 1000000 bit/s") && error.contains("1000002"));
    let burst = rate(&|c| {
        c.rate_bps = Some(1_000_000);
        c.burst_messages = Some(100);
    });
    assert!(burst.expect_err("too much").contains("bytes at once"));
    // The rate that counts is that of the workload, and of several the highest.
    let both = rate(&|c| (c.rate_bps, c.message_rate) = (Some(1), Some(1_000_000)));
    assert!(
        both.expect_err("too much")
            .starts_with("max-rate is 1000000 bit/s")
    );
}

#[test]
fn interfaces_addresses_and_ports_are_limited() {
    let mut other = prepare(|_| {});
    other.device = "eth1".to_owned();
    let error = judged(Rules::default(), other.clone()).expect_err("another interface");
    assert_eq!(error, r#"interface: eth0; requested "eth1""#);
    let named = Rules {
        interfaces: vec!["eth1".to_owned()],
        ..Rules::default()
    };
    assert_eq!(judged(named, other), Ok(()));
    let mut elsewhere = prepare(|_| {});
    elsewhere.parts[0].listen_on = Some(IpAddr::from([127, 0, 0, 1]));
    assert!(
        judged(Rules::default(), elsewhere)
            .expect_err("refused")
            .contains("192.0.2.2")
    );
    let port = Ports {
        first: 22,
        last: 22,
    };
    assert!(asked(|c| c.places.receiver.ports = Some(port)).contains("requested 22"));
}

#[test]
fn a_field_that_the_workload_does_not_use_is_refused() {
    let error = asked(|c| c.transaction_rate = Some(1));
    assert!(error.starts_with("a test must be possible: transaction_rate is not for tcp_stream;"));
    let mut background = prepare(|_| {});
    let mut conditions = Conditions::of(Workload::TcpRr);
    conditions.rate_bps = Some(1);
    background.parts.push(Part {
        conditions,
        ..background.parts[0].clone()
    });
    let error = judged(Rules::default(), background).expect_err("refused");
    assert!(error.contains("rate_bps is not for tcp_rr"), "{error}");
}

#[test]
fn every_interface_and_address_of_this_host_is_judged() {
    let rules = Rules {
        settings: ["mtu_bytes", "offloads", "sysctl"]
            .map(str::to_owned)
            .into(),
        interfaces: vec!["eth0".to_owned()],
        ..Rules::default()
    };
    let refused = |change: &dyn Fn(&mut Conditions)| {
        judged(rules.clone(), prepare(change)).expect_err("refused")
    };
    let named = |c: &mut Conditions| {
        c.host_settings = vec![request(None, parameter("net.ipv4.conf.eth1.rp_filter"))];
    };
    assert_eq!(refused(&named), r#"interface: eth0; requested "eth1""#);
    // The other host is its client's.
    let elsewhere = |c: &mut Conditions| {
        named(c);
        c.host_settings[0].endpoint = Some(Role::Sender);
    };
    assert_eq!(judged(rules.clone(), prepare(elsewhere)), Ok(()));
    let bound = |c: &mut Conditions| c.places.receiver.device = Some("eth1".to_owned());
    assert_eq!(refused(&bound), r#"interface: eth0; requested "eth1""#);
    let mut sends = prepare(|c| c.places.sender.address = Some([198, 51, 100, 1].into()));
    (sends.parts[0].role, sends.parts[0].listen_on) = (Role::Sender, None);
    let error = judged(rules, sends).expect_err("refused");
    assert!(error.starts_with("data is sent only from"), "{error}");
}

#[test]
fn the_agent_is_held_to_the_rules_whatever_the_client_says() {
    let said = Prepare {
        confinement: Some(Confinement {
            peer: [203, 0, 113, 1].into(),
            max_rate_bps: None,
            max_duration_s: u32::MAX,
        }),
        ..prepare(|c| c.rate_bps = Some(1000))
    };
    let rules = Rules {
        max_rate_bps: Some(1_000_000),
        ..Rules::default()
    };
    let judged = policy(rules).judge(ToAgent::Prepare(Box::new(said)), 0);
    let Ok(ToAgent::Prepare(prepare)) = judged else {
        panic!("{judged:?}");
    };
    let wanted = Confinement {
        peer: PEER,
        max_rate_bps: Some(1_000_000),
        max_duration_s: 600,
    };
    assert_eq!(prepare.confinement, Some(wanted));
}

#[test]
fn data_go_to_the_client_alone() {
    let meet = |address: &str| ToAgent::Meet {
        addresses: vec![vec![address.parse().expect("an address")]],
        origin: None,
    };
    let policy = policy(Rules::default());
    assert_eq!(check(&policy, &meet("192.0.2.1:9"), 0), Ok(()));
    assert_eq!(check(&policy, &meet("[::ffff:192.0.2.1]:9"), 0), Ok(()));
    let error = check(&policy, &meet("192.0.2.3:9"), 0).expect_err("a third party");
    assert!(error.starts_with("data is sent only to the address from which"));
    assert!(check(&policy, &ToAgent::Route { to: PEER }, 0).is_ok());
    assert!(
        check(
            &policy,
            &ToAgent::Route {
                to: [8, 8, 8, 8].into()
            },
            0
        )
        .is_err()
    );
}

#[test]
fn a_run_is_not_prepared_for_later() {
    let start = |begin_ns| {
        ToAgent::Start(Start {
            begin_ns,
            window_start_ns: begin_ns,
            window_end_ns: begin_ns,
            stop_ns: begin_ns,
        })
    };
    let policy = policy(Rules::default());
    assert_eq!(check(&policy, &start(1_000_000_000), 0), Ok(()));
    assert!(check(&policy, &start(61_000_000_000), 0).is_err());
}
