//! Hosts that a real sshd reaches: two network namespaces, each with a link for management and a
//! link for the data.

pub mod cut;
pub mod study;
pub mod wrong;

use crate::bench::*;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;

use bitcost_sys::namespace::{Kind, current, enter, unshare};
use bitcost_sys::netlink::VethPair;
use bitcost_sys::process::enter_before_exec;
use bitcost_testkit::sshd::{Server, Servers, obstacle};

/// The interface of each host on the data link.
const DATA: &str = "data0";

const DATA_ADDRESS: &str = "10.9.0.2";

/// The programs that a host needs to take a copy.
const TOOLS: &[&str] = &["chmod", "head", "mktemp", "rm", "sh", "uname"];

/// A host with its own network.
pub struct Far {
    pub name: &'static str,
    network: OwnedFd,
    /// The controller's interface towards it.
    pub link: String,
}

/// Two hosts, `a` and `b`, and the controller's folder.
pub struct Field {
    pub bench: Bench,
    pub servers: Servers,
    pub hosts: [Far; 2],
}

impl Field {
    /// Hosts without any bitcost.
    ///
    /// The trial is ignored if no sshd can be started.
    pub fn new() -> Field {
        if let Some(reason) = obstacle() {
            bitcost_testkit::ignore(&reason);
        }
        let bench = Bench::new().with("BITCOST_STATE_DIR", "FOLDER/near-state");
        let mut servers = Servers::new().unwrap();
        let home = current(Kind::Net).unwrap();
        let hosts = [("a", 1), ("b", 2)].map(|(name, number)| far(name, number, &home));
        data_link(&hosts, &home);
        for (host, number) in hosts.iter().zip([1, 2]) {
            let folder = servers.path(host.name);
            for part in ["bin", "tmp"] {
                fs::create_dir_all(folder.join(part)).unwrap();
            }
            fs::set_permissions(folder.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
            for tool in TOOLS {
                let paths = ["/usr/bin", "/bin"].map(|place| PathBuf::from(place).join(tool));
                symlink(
                    paths.iter().find(|path| path.exists()).unwrap(),
                    folder.join("bin").join(tool),
                )
                .unwrap();
            }
            let at = folder.display();
            let environment = [
                format!("PATH={at}/bin"),
                format!("TMPDIR={at}/tmp"),
                format!("BITCOST_STATE_DIR={at}/state"),
                bench.family.variable(),
            ];
            let address: IpAddr = format!("10.9.{number}.2").parse().unwrap();
            let server = Server {
                name: host.name,
                address,
                environment: &environment,
            };
            servers
                .start(&server, |command| host.adopt(command))
                .unwrap();
        }
        Field {
            bench,
            servers,
            hosts,
        }
    }

    /// The words of a command, with the client's configuration and with the data on its own link.
    pub fn words<'a>(&'a self, verb: &'a [&'a str], config: &'a str) -> Vec<&'a str> {
        let hosts = [
            "--ssh-config",
            config,
            "--sender",
            "ssh:a",
            "--receiver",
            "root@b",
            "--receiver-dev",
            DATA,
        ];
        [verb, &hosts].concat()
    }

    pub fn start(&self, verb: &[&str]) -> Running {
        let config = self.servers.config();
        self.bench
            .start(&self.words(verb, config.to_str().unwrap()))
    }

    /// The path of an entry in a folder of a host.
    pub fn at(&self, host: &str, name: &str) -> PathBuf {
        self.servers.path(host).join(name)
    }

    /// The output of ethtool for the features of both hosts' interface.
    pub fn features(&self) -> [String; 2] {
        [0, 1].map(|host| self.hosts[host].print("ethtool", &["-k", DATA]))
    }

    /// Asserts that no process, no file of a copy and no journal is left.
    pub fn assert_nothing_left(&self) {
        eventually(PATIENCE, "every process is gone", || {
            self.bench.family.members().is_empty().then_some(())
        });
        for host in &self.hosts {
            let files = |name: &str| {
                fs::read_dir(self.at(host.name, name))
                    .into_iter()
                    .flatten()
                    .count()
            };
            assert_eq!((files("tmp"), files("state")), (0, 0), "{}", host.name);
        }
    }
}

impl Far {
    /// Makes a command start in this network.
    fn adopt(&self, command: &mut Command) -> Result<(), String> {
        let net = self
            .network
            .try_clone()
            .map_err(|error| error.to_string())?;
        enter_before_exec(command, None, net);
        Ok(())
    }

    /// The output of another program in this network.
    fn print(&self, program: &str, words: &[&str]) -> String {
        let mut command = Command::new(program);
        self.adopt(&mut command).unwrap();
        let output = command.args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A network with a link to the controller's.
fn far(name: &'static str, number: u8, home: &OwnedFd) -> Far {
    unshare(&[Kind::Net]).unwrap();
    let network = current(Kind::Net).unwrap();
    set_up("lo", None);
    enter(home.as_fd(), Kind::Net).unwrap();
    let link = format!("to-{name}");
    veth(&link, "mgmt0", &network);
    set_up(&link, Some(format!("10.9.{number}.1")));
    enter(network.as_fd(), Kind::Net).unwrap();
    set_up("mgmt0", Some(format!("10.9.{number}.2")));
    enter(home.as_fd(), Kind::Net).unwrap();
    Far {
        name,
        network,
        link,
    }
}

fn data_link(hosts: &[Far; 2], home: &OwnedFd) {
    enter(hosts[0].network.as_fd(), Kind::Net).unwrap();
    veth(DATA, DATA, &hosts[1].network);
    for (host, last) in hosts.iter().zip([1, 2]) {
        enter(host.network.as_fd(), Kind::Net).unwrap();
        set_up(DATA, Some(format!("10.9.0.{last}")));
    }
    enter(home.as_fd(), Kind::Net).unwrap();
}

fn veth(name: &str, peer_name: &str, peer: &OwnedFd) {
    let pair = VethPair {
        name,
        peer_name,
        peer_netns: Some(peer.as_fd()),
        mtu_bytes: 1500,
    };
    Rtnl::open().unwrap().create_veth(&pair).unwrap();
}

fn set_up(name: &str, address: Option<String>) {
    let mut rtnl = Rtnl::open().unwrap();
    let index = rtnl.link(name).unwrap().index;
    rtnl.set_up(index, true).unwrap();
    if let Some(address) = address {
        rtnl.add_address(index, address.parse().unwrap(), 24)
            .unwrap();
    }
}

/// Installs the program on the hosts, so that no copy is needed.
fn install(field: &Field) {
    for host in &field.hosts {
        symlink(program(), field.at(host.name, "bin/bitcost")).unwrap();
    }
}
