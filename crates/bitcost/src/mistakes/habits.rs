//! What iperf3 and netperf write otherwise than bitcost does: their options, tests and values, each
//! with how it is written here.

use bitcost_model::workload::Workload;

/// Options of a program, and what they are in bitcost.
type Row = (&'static str, &'static [&'static str], &'static str);

const IPERF3: &str = "iperf3";
const NETPERF: &str = "netperf";

const NO_SERVER: &str = "not needed: ssh starts an agent on the other host for the duration of a run (`bitcost test tcp --receiver HOST`)";
const BOTH_ENDPOINTS: &str = "not needed: the figures of both endpoints are always printed";

/// Options that `bitcost test` does not have.
const OPTIONS: &[Row] = &[
    (IPERF3, &["-u", "--udp"], "`bitcost test udp`"),
    (
        IPERF3,
        &["-c", "--client"],
        "`bitcost test tcp --receiver HOST`, where HOST is what ssh reaches",
    ),
    (
        IPERF3,
        &[
            "-s",
            "--server",
            "-D",
            "--daemon",
            "-1",
            "--one-off",
            "--pidfile",
            "--idle-timeout",
            "--server-bitrate-limit",
            "--connect-timeout",
            "--cntl-ka",
        ],
        NO_SERVER,
    ),
    (
        IPERF3,
        &[
            "--username",
            "--rsa-public-key-path",
            "--authorized-users-path",
        ],
        "not needed: ssh controls the access",
    ),
    (IPERF3, &["--fq-rate"], "`--rate RATE --pacing kernel`"),
    (IPERF3, &["--no-fq-socket-pacing"], "`--pacing sender`"),
    (
        IPERF3,
        &["-S", "--tos"],
        "`--dscp N`, where N is the type of service divided by 4 (0x28 is 10)",
    ),
    (
        IPERF3,
        &["-A", "--affinity"],
        "`--sender-cpus N --receiver-cpus N`",
    ),
    (IPERF3, &["--skip-rx-copy"], "`--receive-mode truncate`"),
    (IPERF3, &["--gsro"], "`--send-mode gso --receive-mode gro`"),
    (
        IPERF3,
        &["-f"],
        "not needed: text has Mbit/s, and each name in JSON has its unit",
    ),
    (
        IPERF3,
        &["--logfile", "--forceflush"],
        "not needed: each line is written when it is known; redirect it with `> FILE`",
    ),
    (IPERF3, &["--get-server-output"], BOTH_ENDPOINTS),
    (
        IPERF3,
        &["--json-stream"],
        "`--json`, or `--format csv --rows intervals`",
    ),
    (IPERF3, &["--udp-counters-64bit"], "always in effect"),
    (IPERF3, &["-d", "--debug"], "`--verbose`"),
    (
        IPERF3,
        &[
            "-F",
            "--file",
            "-T",
            "--title",
            "--extra-data",
            "-X",
            "--xbind",
            "--sctp",
            "--nstreams",
            "-m",
            "--mptcp",
            "--dont-fragment",
            "--timestamps",
            "--rcv-timeout",
            "--snd-timeout",
            "--repeating-payload",
            "--pacing-timer",
        ],
        "not available in bitcost",
    ),
    (
        NETPERF,
        &["-H"],
        "`bitcost test tcp --receiver HOST`, where HOST is what ssh reaches",
    ),
    (NETPERF, &["-c"], BOTH_ENDPOINTS),
    (
        NETPERF,
        &["-D"],
        "not needed: a line is printed each second",
    ),
    (NETPERF, &["-I"], "`--until-interval 5%`"),
    (NETPERF, &["-T"], "`--sender-cpus N --receiver-cpus N`"),
    (NETPERF, &["-Y"], "`--dscp N`"),
    (NETPERF, &["-y"], "`--priority N`"),
    (NETPERF, &["-j"], "`--latency`"),
    (NETPERF, &["-a", "-A"], "`--buffer-alignment BYTES`"),
    (NETPERF, &["-o"], "`--buffer-offset BYTES`"),
    (NETPERF, &["-F"], "`--payload dirty`"),
    (NETPERF, &["-W"], "`--ring N`"),
    (NETPERF, &["-m"], "`--message-size BYTES`"),
    (
        NETPERF,
        &["-r"],
        "`bitcost test rr --request-size BYTES --response-size BYTES`",
    ),
    (NETPERF, &["-s"], "`--send-buffer BYTES`"),
    (NETPERF, &["-S"], "`--receive-buffer BYTES`"),
    (NETPERF, &["-q"], "`--rate RATE --rate-of wire`"),
    (NETPERF, &["-G"], "`--mss BYTES`"),
    (NETPERF, &["-K"], "`--congestion NAME`"),
    (NETPERF, &["-d"], "`--direction forward` or `reverse`"),
];

/// Options of netperf after `--`, which are options of `bitcost test` like all others.
const AFTER_DASHES: &[Row] = &[
    (NETPERF, &["-- -M"], "`--receive-size BYTES`"),
    (NETPERF, &["-- -D"], "`--nodelay`"),
    (NETPERF, &["-- -C"], "`--cork`"),
    (NETPERF, &["-- -P"], "`--source-port PORT --port PORT`"),
    (NETPERF, &["-- -H"], "`--receiver-address ADDRESS`"),
    (NETPERF, &["-- -L"], "`--sender-address ADDRESS`"),
    (NETPERF, &["-- -R"], "not needed: packets are routed"),
    (
        NETPERF,
        &["-- -T"],
        "`bitcost test tcp` or `bitcost test udp`",
    ),
    (
        NETPERF,
        &["-- -o", "-- -O", "-- -k"],
        "`--json`, or `--format netperf` for netperf's columns",
    ),
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
    let whole = format!("-- {option}");
    let after = AFTER_DASHES.iter().filter(|_| is_after_dashes);
    let after: Vec<&Row> = after
        .filter(|(_, names, _)| names.contains(&whole.as_str()))
        .collect();
    let alone = OPTIONS.iter().filter(|(program, names, _)| {
        names.contains(&option) && (!is_after_dashes || *program == NETPERF)
    });
    let rows: Vec<&Row> = if after.is_empty() {
        alone.collect()
    } else {
        after
    };
    let sentences: Vec<String> = rows
        .iter()
        .map(|(program, _, here)| format!("{program}'s `{option}` is {here}"))
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
        "flow_label" => Some("netperf's `-L ADDRESS` is `--sender-address ADDRESS`".to_owned())
            .filter(|_| value.contains(['.', ':'])),
        _ => None,
    };
    here.map_or_else(String::new, |here| format!("; {here}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_two_programs_has_a_sentence_for_each() {
        let text = of_option("-c", false).expect("both have it");
        assert!(text.contains("iperf3's `-c`") && text.contains("netperf's `-c`"));
        let text = of_option("-M", true).expect("netperf's");
        assert_eq!(text, "netperf's `-M` is `--receive-size BYTES`");
        assert_eq!(of_option("--nothing", false), None);
    }
}
