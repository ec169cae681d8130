//! A service behind a firewall with one open port, behind address translation and at a published port: the client opens every
//! connection, in both directions of the data; where the port is closed, the error names it.

use std::io::Write;
use std::sync::Mutex;

use crate::bench::*;
use crate::service::{Service, bitcost, said};
use bitcost_testkit::gap::Gap;

bitcost_testkit::trials! {
    PrivateNetwork: one_open_port_is_enough, a_published_port_is_enough,
        a_port_published_by_another_number_is_named, a_closed_port_is_named, what_cannot_go_to_the_port_is_named, a_port_that_is_taken_is_named;
}

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 2);
/// The router's addresses towards both.
const ROUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1)];

/// A client, a router, which is the namespace of the test, and a service.
struct Net {
    gap: Gap,
    service: Mutex<Service>,
    link: String,
    port: u16,
}

impl Net {
    /// The service's host has a route to the client unless the router translates its address.
    fn new(is_translated: bool) -> Net {
        need(&["nft"]);
        let gap = Gap::new(1500);
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
        let ends = [(CLIENT, ROUTER[0], SERVER), (SERVER, ROUTER[1], CLIENT)];
        for ((own, router, far), end) in ends.into_iter().zip(0..) {
            let mut rtnl = Rtnl::open().unwrap();
            rtnl.add_address(gap.devices[end], router.into(), 24)
                .unwrap();
            gap.hosts[end].run(|| {
                let mut rtnl = Rtnl::open().unwrap();
                let device = rtnl.link(bitcost_testkit::gap::DEVICE).unwrap().index;
                rtnl.add_address(device, own.into(), 24).unwrap();
                if end == 0 || !is_translated {
                    rtnl.add_route(far.into(), 32, router.into()).unwrap();
                }
            });
        }
        let folder = tempfile::tempdir().unwrap();
        let put = |command: &mut Command| gap.hosts[1].put(command);
        let service = Service::of(folder, SERVER.into(), &[], put);
        Net {
            link: service.link.clone(),
            port: service.port,
            service: Mutex::new(service),
            gap,
        }
    }

    /// Puts rules into the router; PORT is the service's.
    fn rules(&self, text: &str) {
        let text = text.replace("PORT", &self.port.to_string());
        let mut command = Command::new("nft");
        let mut nft = command
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        nft.stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(nft.wait().unwrap().success(), "{text}");
    }

    /// Only what the client opens passes, and of that what these rules accept.
    fn filter(&self, accepts: &str) {
        self.rules(&format!(
            "flush ruleset
             table inet filter {{ chain forward {{ type filter hook forward priority 0; policy drop;
               ct state established,related accept
               icmp type echo-request accept
               ip saddr {CLIENT} {accepts} accept
             }}
             }}"
        ));
    }

    /// `bitcost test` at the client's host.
    fn test(&self, words: &str) -> Output {
        let state = self.service.lock().unwrap().client();
        let (workload, rest) = words.split_once(' ').unwrap();
        let mut command = bitcost(&state);
        command
            .args(["test", "--no-log", workload, &self.link])
            .args(rest.split_whitespace())
            .stdin(Stdio::null());
        self.gap.hosts[0].put(&mut command);
        command.output().unwrap()
    }

    /// The screen of a test that fails.
    fn failed(&self, code: i32, words: &str) -> String {
        let output = self.test(words);
        let said = said(&output).replace(&self.port.to_string(), "PORT");
        // A host with another firewall than nft is told of that one.
        let nft = "this host: `nft insert rule inet filter input udp dport PORT accept`";
        let said = said
            .replace("this host: `ufw allow PORT/udp`", nft)
            .replace("this host: `firewall-cmd --add-port=PORT/udp`", nft);
        assert_eq!(output.status.code(), Some(code), "{said}");
        format!("bitcost test {words}\n{said}\n")
    }

    fn all_pass(&self) {
        for words in [
            "tcp -t 300ms -P 40",
            "tcp -t 300ms -P 3 --bidir --receive-buffer 100k --mss 1200 --dscp 46",
            "udp -t 300ms -b 2M -R",
            "udp -t 300ms -b 2M -P 5 --bidir",
            "rr -t 300ms -R",
            "udp-rr -t 300ms",
            "crr -t 300ms",
            "connect -t 300ms -P 2",
        ] {
            let output = self.test(words);
            assert!(output.status.success(), "{words}: {}", said(&output));
        }
    }
}

fn one_open_port_is_enough() {
    let net = Net::new(false);
    net.filter("meta l4proto { tcp, udp } th dport PORT");
    net.all_pass();
}

/// A service whose port a router publishes, as a container does.
fn published(ports: &str, number: Option<u16>) -> Net {
    let mut net = Net::new(true);
    net.rules(&format!(
        "table ip nat {{
           chain before {{ type nat hook prerouting priority -100;
             ip daddr {} {ports} dnat to {SERVER}:PORT
           }}
           chain after {{ type nat hook postrouting priority 100; masquerade; }}
         }}",
        ROUTER[0]
    ));
    let inner = format!("{SERVER}:{}", net.port);
    let outer = format!("{}:{}", ROUTER[0], number.unwrap_or(net.port));
    net.link = net.link.replace(&inner, &outer);
    net
}

fn a_published_port_is_enough() {
    published("meta l4proto { tcp, udp } th dport PORT", None).all_pass();
}

fn a_port_published_by_another_number_is_named() {
    let net = published("tcp dport 700", Some(700));
    insta::assert_snapshot!(net.failed(3, "udp -t 300ms"));
}

fn a_closed_port_is_named() {
    let net = Net::new(false);
    net.filter("tcp dport PORT");
    let udp = net.failed(3, "udp -t 300ms");
    net.filter("udp dport PORT");
    insta::assert_snapshot!(udp + &net.failed(3, "tcp -t 300ms"));
}

fn what_cannot_go_to_the_port_is_named() {
    let net = Net::new(false);
    let refused = [
        "crr -t 300ms -R",
        "tcp -t 300ms -p 5000",
        "tcp -t 300ms -R --source-port 5000",
    ];
    insta::assert_snapshot!(refused.map(|words| net.failed(1, words)).concat());
}

fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |port: u16| {
        let mut command = bitcost(&folder.path().join("client"));
        command.args(["serve", &format!("127.0.0.1:{port}"), "--state"]);
        let output = command.arg(folder.path().join("service")).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        said(&output).replace(&port.to_string(), "PORT")
    };
    let first = Service::start();
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    insta::assert_snapshot!(serve(first.port) + &serve(udp.local_addr().unwrap().port()));
}
