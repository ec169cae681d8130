//! The names of a lab's nodes as `/etc/hosts` has them.

use std::net::IpAddr;

use bitcost_model::topology::Topology;

/// The address of a node's own name where the node has no address, as Debian has it.
const OWN: &str = "127.0.1.1";

/// The text of `/etc/hosts` in `node` (hosts(5)): the lab's nodes with their addresses, IPv4 first,
/// and then the lines of `machine`.
pub(crate) fn hosts_file(topology: &Topology, node: &str, machine: &str) -> String {
    let addressed = topology
        .ends()
        .flat_map(|end| end.addresses.iter().map(|address| (address.ip, &end.node)));
    let mut named: Vec<(IpAddr, &String)> = addressed.collect();
    named.sort_by_key(|(ip, _)| ip.is_ipv6());
    let mut text: String = named
        .iter()
        .map(|(ip, name)| format!("{ip}\t{name}\n"))
        .collect();
    if topology.address(node).is_none() {
        text += &format!("{OWN}\t{node}\n");
    }
    text + machine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_its_name_and_the_machine_keeps_its_lines() {
        let topology = bitcost_study::topology::parse(
            "lab.toml",
            "hosts = [\"h1\", \"h2\"]\nswitches = [\"s1\"]\n[[link]]\nends = [\"h1\", \"s1\"]\n[[link]]\nends = [\"s1\", \"h2\"]\n",
        )
        .unwrap();
        let text = hosts_file(&topology, "s1", "127.0.0.1 localhost\n");
        assert_eq!(
            text,
            "10.0.0.1\th1\n10.0.0.2\th2\nfd00::1\th1\nfd00::2\th2\n127.0.1.1\ts1\n127.0.0.1 localhost\n"
        );
    }
}
