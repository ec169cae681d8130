//! Names of iperf3, netperf and other programs: the options that bitcost takes as its own, and those,
//! with tests and values, that are answered with how it is written here.

use bitcost_model::workload::{WORKLOADS, Workload};
use clap::{Arg, Command};

/// Options of bitcost by their long names, or by their letter, each with what other programs call it.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("4", &["version4"]),
    ("6", &["version6"]),
    ("both", &["bidir"]),
    ("congestion", &["linux-congestion"]),
    ("flows", &["parallel"]),
    ("message-size", &["length"]),
    ("messages", &["blockcount"]),
    ("mss", &["set-mss"]),
    ("nodelay", &["no-delay"]),
    ("rate", &["bitrate", "bandwidth"]),
    ("receiver", &["client", "c", "H"]),
    ("sender-address", &["bind"]),
    ("sender-device", &["bind-dev"]),
    ("source-port", &["cport"]),
    ("verbose", &["V"]),
    ("warmup", &["omit"]),
];

/// The command line with the options of other programs that are taken as its own.
pub fn with_synonyms(command: Command) -> Command {
    command
        .mut_args(with_synonym)
        .mut_subcommands(with_synonyms)
}

fn with_synonym(argument: Arg) -> Arg {
    let letter = argument.get_short().map(|letter| letter.to_string());
    let name = argument.get_long().map(str::to_owned).or(letter);
    let name = name.unwrap_or_default();
    let names = SYNONYMS.iter().find(|(option, _)| *option == name);
    let names = names.map_or(&[][..], |(_, names)| names);
    let add = |argument: Arg, name: &&'static str| match name.chars().next() {
        Some(letter) if name.len() == 1 => argument.short_alias(letter),
        _ => argument.alias(*name),
    };
    names.iter().fold(argument, add)
}

/// A program, options of it with a space between them, and what they are in bitcost.
type Row = (&'static str, &'static str, &'static str);

const IPERF3: &str = "iperf3";
const NETPERF: &str = "netperf";
const OTHERS: &str = "other programs";

const NO_SERVER: &str = "not needed: ssh starts an agent on the other host for the duration of a run (`bitcost test tcp --receiver HOST`)";
const SERVER: &str = "`bitcost serve --iperf3` for clients of iperf3; `bitcost test tcp --receiver HOST` needs no server: ssh starts an agent there for the duration of a run";
const BOTH_ENDPOINTS: &str = "not needed: the figures of both endpoints are always printed";

/// Options that `bitcost test` does not have.
const OPTIONS: &[Row] = &[
    (IPERF3, "-u --udp", "`bitcost test udp`"),
    (IPERF3, "-c --client", "`bitcost test tcp HOST`"),
    (IPERF3, "-s --server", SERVER),
    (
        IPERF3,
        "-D --daemon -1 --one-off --pidfile --idle-timeout --server-bitrate-limit --connect-timeout --cntl-ka",
        NO_SERVER,
    ),
    (
        IPERF3,
        "--username --rsa-public-key-path --authorized-users-path",
        "not needed: ssh controls access",
    ),
    (IPERF3, "--fq-rate", "`--rate RATE --pacing kernel`"),
    (IPERF3, "--no-fq-socket-pacing", "`--pacing sender`"),
    (
        IPERF3,
        "-S --tos",
        "`--dscp N`, where N is the type of service divided by 4 (0x28 is 10)",
    ),
    (
        IPERF3,
        "-A --affinity",
        "`--sender-cpus N --receiver-cpus N`",
    ),
    (IPERF3, "--skip-rx-copy", "`--receive-mode truncate`"),
    (IPERF3, "--gsro", "`--send-mode gso --receive-mode gro`"),
    (
        IPERF3,
        "-f",
        "not needed: the units of text are chosen automatically, and each name in JSON has its unit",
    ),
    (
        IPERF3,
        "--logfile --forceflush",
        "not needed: each line is written when it is known; redirect it with `> FILE`",
    ),
    (IPERF3, "--get-server-output", BOTH_ENDPOINTS),
    (
        IPERF3,
        "--json-stream",
        "`--json`, or `--format csv --rows intervals`",
    ),
    (IPERF3, "--udp-counters-64bit", "always in effect"),
    (IPERF3, "-d --debug", "`--verbose`"),
    (
        IPERF3,
        "-F --file -L --flowlabel -T --title --extra-data -X --xbind --sctp --nstreams -m --mptcp --dont-fragment --timestamps --rcv-timeout --snd-timeout --repeating-payload --pacing-timer",
        "not available in bitcost",
    ),
    (OTHERS, "--csv", "`--format csv`"),
    (OTHERS, "--html", "`--format html`"),
    (
        OTHERS,
        "--jitter",
        "`--delay-variation`, of `bitcost test udp`",
    ),
    (OTHERS, "--tso --gso --gro --lro", "`--offloads 'tso off'`"),
    (
        OTHERS,
        "--quiet",
        "`2> /dev/null`: progress is on standard error",
    ),
    (NETPERF, "-H", "`bitcost test tcp HOST`"),
    (NETPERF, "-c", BOTH_ENDPOINTS),
    (NETPERF, "-D", "not needed: a line is printed each second"),
    (NETPERF, "-I", "`--until-interval 5%`"),
    (NETPERF, "-T", "`--sender-cpus N --receiver-cpus N`"),
    (NETPERF, "-Y", "`--dscp N`"),
    (NETPERF, "-j", "`--latency`"),
    (NETPERF, "-y -a -A -o -W", "not available in bitcost"),
    (NETPERF, "-F", "`--set payload=dirty`"),
    (NETPERF, "-m", "`--message-size BYTES`"),
    (
        NETPERF,
        "-r",
        "`bitcost test rr --request-size BYTES --response-size BYTES`",
    ),
    (NETPERF, "-s", "`--send-buffer BYTES`"),
    (NETPERF, "-S", "`--receive-buffer BYTES`"),
    (NETPERF, "-q", "`--rate RATE --set rate_of=wire`"),
    (NETPERF, "-G", "`--mss BYTES`"),
    (NETPERF, "-K", "`--congestion NAME`"),
    (NETPERF, "-L", "`--sender-address ADDRESS`"),
    (NETPERF, "-d", "`--direction forward` or `reverse`"),
];

/// Options of netperf after `--`, which are options of `bitcost test` like all others.
const AFTER_DASHES: &[Row] = &[
    (NETPERF, "-M", "`--set receive_size_bytes=BYTES`"),
    (NETPERF, "-D", "`--nodelay`"),
    (NETPERF, "-C", "`--set cork=true`"),
    (NETPERF, "-P", "`--source-port PORT --port PORT`"),
    (NETPERF, "-H", "`--receiver-address ADDRESS`"),
    (NETPERF, "-L", "`--sender-address ADDRESS`"),
    (NETPERF, "-R", "not needed: packets are routed"),
    (NETPERF, "-T", "`bitcost test tcp` or `bitcost test udp`"),
    (NETPERF, "-o -O -k", "`--json`"),
];

/// Tests of netperf that are not a workload.
const TESTS: &[(&str, &str)] = &[
    ("tcp_maerts", "`bitcost test tcp --reverse`"),
    ("udp_maerts", "`bitcost test udp --reverse`"),
    ("tcp_sendfile", "`bitcost test tcp --send-mode sendfile`"),
    ("omni", "`bitcost test tcp` or `bitcost test udp`"),
];

/// How an option of another program is written here, one sentence for each program that has it.
pub fn of_option(option: &str, is_after_dashes: bool) -> Option<String> {
    let named = |(_, names, _): &&Row| names.split(' ').any(|name| name == option);
    let after = AFTER_DASHES.iter().filter(named);
    let alone = OPTIONS.iter().filter(named);
    let mut rows: Vec<&Row> = after.filter(|_| is_after_dashes).collect();
    if rows.is_empty() {
        rows.extend(alone.filter(|(program, ..)| !is_after_dashes || *program == NETPERF));
    }
    let sentences: Vec<String> = rows
        .iter()
        .map(|(program, _, here)| match *program {
            OTHERS => format!("`{option}` is {here}"),
            program => format!("{program}'s `{option}` is {here}"),
        })
        .collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// How a test of netperf is written here.
pub fn of_test(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    if let Some((_, here)) = TESTS.iter().find(|(known, _)| *known == lower) {
        return Some((*here).to_owned());
    }
    let workload = Workload::named(name)?;
    Some(format!("`bitcost test {}`", workload.info().short_name))
}

/// netperf's length of a test in seconds, `TCP_STREAM -l 10`, which would be bytes here.
pub fn netperf_length(words: &[String]) -> Option<String> {
    let is_netperf = |word: &&String| WORKLOADS.iter().any(|row| row.netperf_name == **word);
    let test = words.iter().find(is_netperf)?;
    let at = words.iter().position(|word| word.starts_with("-l"))?;
    let attached = words[at][2..].trim_start_matches('=');
    let value = match attached.is_empty() {
        true => words.get(at + 1)?.as_str(),
        false => attached,
    };
    let is_bare = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    is_bare.then(|| {
        format!(
            "`{test} -l {value}`: netperf's `-l {value}` is `-t {value}` here, a time in seconds; for messages of {value} bytes write `-l {value}B`"
        )
    })
}

/// What a value of a setting means in another program, as the end of an error.
pub fn of_value(setting: &str, value: &str) -> String {
    let here = match setting {
        "duration_s" => of_test(value).map(|here| format!("netperf's `-t {value}` is {here}")),
        "rate_bps" if value == "0" => {
            Some("without --rate a test sends as fast as it can".to_owned())
        }
        "rate_bps" => value
            .split_once('/')
            .filter(|(_, burst)| burst.parse::<u32>().is_ok())
            .map(|(rate, burst)| {
                format!("iperf3's `-b {value}` is `--rate {rate} --burst {burst}`")
            }),
        "message_size_bytes" => value
            .strip_prefix('-')
            .map(|bytes| format!("netperf's `-l {value}` is `--bytes {bytes}`")),
        _ => None,
    };
    here.map_or_else(String::new, |here| format!("; {here}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_netperf_s_where_the_test_is_named_so() {
        let said = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            netperf_length(&words)
        };
        let text = said("test TCP_STREAM -l 2").expect("seconds");
        assert!(text.contains("is `-t 2` here"), "{text}");
        assert!(said("test -l10 UDP_STREAM").is_some());
        for line in [
            "test tcp -l 2",
            "test TCP_STREAM -l 2B",
            "test TCP_STREAM --limit 2",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
    }

    #[test]
    fn an_option_of_two_programs_has_a_sentence_for_each() {
        let text = of_option("-c", false).expect("both have it");
        assert!(text.contains("iperf3's `-c`") && text.contains("netperf's `-c`"));
        let text = of_option("-M", true).expect("netperf's");
        assert_eq!(text, "netperf's `-M` is `--set receive_size_bytes=BYTES`");
        assert_eq!(of_option("--nothing", false), None);
    }
}
