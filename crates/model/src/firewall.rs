//! What opens a port of a host, for errors of connections that do not arrive.

/// The usual programs that manage a firewall, with the command of each that opens a port; those that write rules of another come
/// first.
pub const FIREWALLS: [(&str, &str); 3] = [
    ("ufw", "ufw allow PORT/PROTOCOL"),
    ("firewall-cmd", "firewall-cmd --add-port=PORT/PROTOCOL"),
    (
        "nft",
        "nft insert rule inet filter input PROTOCOL dport PORT accept",
    ),
];

/// One of these commands for a port of a protocol.
pub fn filled(command: &str, protocol: &str, port: u16) -> String {
    let command = command.replace("PORT", &port.to_string());
    format!("`{}`", command.replace("PROTOCOL", protocol))
}

/// How a container's port is reached.
pub fn published(port: u16) -> String {
    format!("a container needs `docker run -p {port}:{port}/tcp -p {port}:{port}/udp`")
}

/// The commands of all of them, where it is not known which one a host has.
pub fn to_open(protocol: &str, port: u16) -> String {
    let commands = FIREWALLS.map(|(_, command)| filled(command, protocol, port));
    format!("{}; {}", commands.join(" or "), published(port))
}
