//! What `bitcost test -h` shows: the options of every day, in groups, each on one line.

use clap::{Arg, Command};

/// A group of options: its heading, and each option by its long name or letter with its line.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

const GROUPS: &[Group] = &[
    (
        "Traffic",
        &[
            ("time", "Length of the test (10s)"),
            ("flows", "Number of parallel flows (1)"),
            ("reverse", "From the receiver to the sender"),
            ("both", "Both directions at once"),
            ("rate", "Rate of each flow, such as 500M"),
            ("message-size", "Bytes of a send call (128KiB)"),
            ("window", "Socket buffers at both ends"),
            ("mss", "TCP maximum segment size"),
            ("congestion", "Such as cubic or bbr"),
            ("dscp", "Code point, such as EF or 46"),
            ("zerocopy", "Send with sendfile"),
            ("set", "Any other setting"),
        ],
    ),
    (
        "Hosts",
        &[
            ("receiver", "ssh destination, or link of a service"),
            ("port", "Port of the receiver"),
            ("sender-address", "Local address of the sender"),
            ("sender-device", "Interface of the sender"),
            ("4", "IPv4 only"),
            ("6", "IPv6 only"),
            ("sender-cpus", "CPUs of the sender, such as 0"),
            ("receiver-cpus", "CPUs of the receiver"),
        ],
    ),
    (
        "Lab",
        &[
            ("topology", "Lab that is built for the test (wire)"),
            ("mtu", "MTU of its links"),
        ],
    ),
    (
        "Output",
        &[
            ("json", "One JSON document"),
            ("format", "Output format"),
            ("rows", "A row for each"),
            ("until-interval", "Repeat until it is as narrow, as 5%"),
            ("against", "Compare with a variant, as '-w 64K'"),
            ("prove", "Prove the bottleneck by experiments"),
            ("profile", "CPU time by layer of the kernel"),
            ("timestamps", "Time of day on each line"),
            ("verbose", "All figures and settings"),
        ],
    ),
];

/// The verb with a short help of the options of every day; `--help` has all.
pub fn short(verb: Command) -> Command {
    verb.mut_args(shown)
        .after_help("--help: all options. `bitcost help settings`: all settings with their values.")
}

fn shown(argument: Arg) -> Arg {
    if argument.is_positional() {
        let whole = argument.get_help().cloned().unwrap_or_default();
        let line = match argument.get_id() == "host" {
            true => "Host of the receiver, as --receiver (the lab `wire`)",
            false => "Workload",
        };
        return argument.help(line).long_help(whole);
    }
    let letter = argument.get_short().map(|letter| letter.to_string());
    let name = argument.get_long().map(str::to_owned).or(letter);
    let name = name.unwrap_or_default();
    let found = GROUPS.iter().find_map(|(heading, options)| {
        let option = options.iter().find(|(option, _)| *option == name)?;
        Some((*heading, option.1))
    });
    let Some((heading, line)) = found else {
        return argument.hide_short_help(true);
    };
    let whole = argument.get_long_help().or(argument.get_help());
    let whole = whole.cloned().unwrap_or_default();
    argument.help(line).long_help(whole).help_heading(heading)
}
