//! What opens a port of a host, for errors of connections that do not arrive.

/// A program that manages a firewall, and its command that opens a port of a protocol.
pub type Firewall = (&'static str, fn(&str, u16) -> String);

/// The usual ones; those that write rules of another come first.
pub const FIREWALLS: [Firewall; 3] = [
    ("ufw", |protocol, port| {
        format!("`ufw allow {port}/{protocol}`")
    }),
    ("firewall-cmd", |protocol, port| {
        format!("`firewall-cmd --add-port={port}/{protocol}`")
    }),
    ("nft", |protocol, port| {
        format!("`nft insert rule inet filter input {protocol} dport {port} accept`")
    }),
];

/// How a container's port is reached.
pub fn published(port: u16) -> String {
    format!("a container needs `docker run -p {port}:{port}/tcp -p {port}:{port}/udp`")
}

/// The commands of all of them, where it is not known which one a host has.
pub fn to_open(protocol: &str, port: u16) -> String {
    let commands = FIREWALLS.map(|(_, command)| command(protocol, port));
    format!("{}; {}", commands.join(" or "), published(port))
}
