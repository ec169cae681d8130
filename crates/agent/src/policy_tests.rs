//! Each rule refuses by its name, with the value that it forbids.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::confinement::{Confinement, Rules};
use bitcost_model::host_settings::{HostSetting, OFFLOADS, SettingRequest, Sysctl};
use bitcost_model::place::Ports;
use bitcost_model::protocol::{Part, Peer, Prepare, ToAgent};
use bitcost_model::record::Role;

use crate::policy::Policy;

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const LISTENING: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 7351);

/// A run of one flow that this host receives.
fn prepare() -> Prepare {
    Prepare {
        run: 1,
        device: "eth0".to_owned(),
        cpus: Vec::new(),
        peer_cpu: None,
        softirq_cpus: Vec::new(),
        token: [1; 16],
        parts: vec![Part {
            role: Role::Receiver,
            conditions: Conditions::of(Workload::TcpStream),
            listen_on: Some(LOCAL),
        }],
        receiving: None,
        peer: Peer::Bitcost,
        is_profiled: false,
        discards: false,
        is_remote: false,
    }
}

/// A service with these rules, and what it said.
struct Judged {
    to: Confinement,
    said: String,
}

impl Judged {
    fn by(rules: Rules) -> Judged {
        Judged {
            to: Confinement {
                rules,
                peer: PEER,
                local: SocketAddr::new(LOCAL, 7351),
                listening: LISTENING,
                device: "eth0".to_owned(),
            },
            said: String::new(),
        }
    }

    fn message(&mut self, what: &str, message: ToAgent) {
        let said = match Policy(&self.to).judge(message) {
            Ok(_) => "allowed".to_owned(),
            Err(why) => why,
        };
        self.said += &format!("{what}\n    {said}\n");
    }

    fn run(&mut self, what: &str, change: impl FnOnce(&mut Prepare)) {
        let mut run = prepare();
        change(&mut run);
        self.message(what, ToAgent::Prepare(Box::new(run)));
    }

    fn asks(&mut self, what: &str, change: impl FnOnce(&mut Conditions)) {
        self.run(what, |run| change(&mut run.parts[0].conditions));
    }
}

fn sysctl(name: &str, endpoint: Option<Role>) -> impl Fn(&mut Conditions) {
    let setting = HostSetting::Sysctl(Sysctl {
        name: name.to_owned(),
        value: "1".to_owned(),
    });
    move |c| {
        let setting = setting.clone();
        c.host_settings.push(SettingRequest { endpoint, setting });
    }
}

fn offloads(c: &mut Conditions) {
    OFFLOADS.ask(&mut c.host_settings, "off").expect("a value");
}

#[test]
fn the_usual_rules() {
    let mut by = Judged::by(Rules::default());
    by.run("a plain run", |_| {});
    by.run("a stock server", |run| run.peer = Peer::Iperf3);
    by.run("soft interrupts of a lab", |run| run.softirq_cpus = vec![0]);
    by.run("CPUs of a lab", |run| run.peer_cpu = Some(1));
    by.run("a profile", |run| run.is_profiled = true);
    by.message("the try of a profile", ToAgent::TryProfile);
    let observe = ToAgent::Observe {
        connections: Vec::new(),
        role: Role::Sender,
        length_ms: 1,
    };
    by.message("connections of other programs", observe);
    by.asks("offloads", offloads);
    let of = |endpoint| sysctl("net.ipv4.tcp_sack", endpoint);
    by.asks("a sysctl of both hosts", of(None));
    by.asks("of this host", of(Some(Role::Receiver)));
    by.asks("of the other host", of(Some(Role::Sender)));
    by.asks("10 min after the warm-up", |c| c.duration_ms = 600_000);
    by.asks("2 GiB", |c| {
        (c.message_size_bytes, c.flows) = (1 << 24, 128)
    });
    by.asks("4 GiB", |c| c.message_size_bytes = u32::MAX);
    by.asks("flows", |c| c.flows = 129);
    by.run("an interface", |run| run.device = "eth1".to_owned());
    let (first, last) = (22, 22);
    let port = Some(Ports { first, last });
    by.asks("a port", |c| c.places.receiver.ports = port);
    by.asks("an unused field", |c| c.transaction_rate = Some(1));
    by.run("an unused field of a second part", |run| {
        let mut part = run.parts[0].clone();
        part.conditions = Conditions::of(Workload::TcpRr);
        part.conditions.rate_bps = Some(1);
        run.parts.push(part);
    });
    by.run("connections from the service", |run| {
        run.parts[0].role = Role::Sender;
        run.parts[0].conditions = Conditions::of(Workload::TcpCrr);
    });
    by.message(
        "the route to the client",
        ToAgent::Route {
            to: PEER,
            device: String::new(),
        },
    );
    let to = Ipv4Addr::UNSPECIFIED.into();
    by.message(
        "the route to the client as it is seen",
        ToAgent::Route {
            to,
            device: String::new(),
        },
    );
    let to = [8, 8, 8, 8].into();
    by.message(
        "a route to others",
        ToAgent::Route {
            to,
            device: String::new(),
        },
    );
    insta::assert_snapshot!(by.said);
}

#[test]
fn a_rate() {
    let mut by = Judged::by(Rules {
        max_rate_bps: Some(1_000_000),
        ..Rules::default()
    });
    by.asks("none", |_| {});
    for bps in [500_000, 500_001] {
        let what = format!("{bps} of each of two flows");
        by.asks(&what, |c| (c.flows, c.rate_bps) = (2, Some(bps)));
    }
    by.asks("100 messages at once", |c| {
        (c.rate_bps, c.burst_messages) = (Some(1_000_000), Some(100));
    });
    // The rate that counts is that of the workload, and of several the highest.
    by.asks("a low rate of bytes and a high one of messages", |c| {
        (c.rate_bps, c.message_rate) = (Some(1), Some(1_000_000));
    });
    insta::assert_snapshot!(by.said);
}

#[test]
fn named_settings_and_interfaces() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut one = Judged::by(Rules {
        settings: names(&["offloads"]),
        interfaces: names(&["eth1"]),
        ..Rules::default()
    });
    one.run("offloads of eth1", |run| {
        run.device = "eth1".to_owned();
        offloads(&mut run.parts[0].conditions);
    });
    one.run("a sysctl there", |run| {
        run.device = "eth1".to_owned();
        sysctl("net.ipv4.tcp_sack", None)(&mut run.parts[0].conditions);
    });
    let mut several = Judged::by(Rules {
        settings: names(&["mtu_bytes", "offloads", "sysctl"]),
        interfaces: names(&["eth0"]),
        ..Rules::default()
    });
    let of_eth1 = |endpoint| sysctl("net.ipv4.conf.eth1.rp_filter", endpoint);
    several.asks("a sysctl of eth1", of_eth1(None));
    several.asks("of the other host", of_eth1(Some(Role::Sender)));
    let eth1 = Some("eth1".to_owned());
    several.asks("bound to eth1", |c| c.places.receiver.device = eth1);
    insta::assert_snapshot!(one.said + &several.said);
}

#[test]
fn data_come_to_the_address_that_the_client_reached() {
    let mut run = prepare();
    run.parts[0].listen_on = None;
    let by = Judged::by(Rules::default());
    let judged = Policy(&by.to).judge(ToAgent::Prepare(Box::new(run)));
    let Ok(ToAgent::Prepare(prepare)) = judged else {
        panic!("{judged:?}");
    };
    assert_eq!(prepare.parts[0].listen_on, Some(LOCAL));
}
