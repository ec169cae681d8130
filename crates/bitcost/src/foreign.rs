//! Names of iperf3, netperf and other programs: the options that bitcost takes as its own, and those,
//! with tests and values, that are answered with how it is written here.

use bitcost_model::workload::{WORKLOADS, Workload};
use clap::{Arg, Command};

/// One row on each line; its head says what the columns are.
const TABLE: &str = include_str!("foreign.txt");

struct Row {
    program: &'static str,
    /// With a space between them.
    names: &'static str,
    /// How it is written here.
    here: &'static str,
}

impl Row {
    fn has(&self, name: &str) -> bool {
        self.names.split(' ').any(|known| known == name)
    }
}

fn rows(kind: &str) -> impl Iterator<Item = Row> {
    TABLE.lines().filter_map(move |line| {
        let mut columns = line.split(" | ");
        columns.next().filter(|first| *first == kind)?;
        Some(Row {
            program: columns.next()?,
            names: columns.next()?,
            here: columns.next()?,
        })
    })
}

/// The command line with the options of other programs that are taken as its own.
pub fn with_synonyms(command: Command) -> Command {
    command
        .mut_args(with_synonym)
        .mut_subcommands(with_synonyms)
}

fn with_synonym(argument: Arg) -> Arg {
    let own = match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(letter)) => format!("-{letter}"),
        (None, None) => return argument,
    };
    let rows = rows("alias").filter(|row| row.here == own);
    let names = rows.flat_map(|row| row.names.split(' '));
    names.fold(argument, |argument, name| match name.strip_prefix("--") {
        Some(long) => argument.alias(long),
        None => argument.short_alias(name.chars().nth(1)),
    })
}

/// How an option of another program is written here, one sentence for each program that has it.
pub fn of_option(option: &str, is_after_dashes: bool) -> Option<String> {
    let mut found: Vec<Row> = match is_after_dashes {
        true => rows("after").filter(|row| row.has(option)).collect(),
        false => Vec::new(),
    };
    if found.is_empty() {
        let may_be = |row: &Row| !is_after_dashes || row.program == "netperf";
        found.extend(rows("option").filter(|row| may_be(row) && row.has(option)));
    }
    let sentences = found.iter().map(|row| match row.program {
        "-" => format!("`{option}` is {}", row.here),
        program => format!("{program}'s `{option}` is {}", row.here),
    });
    let sentences: Vec<String> = sentences.collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// How a test of another program is written here.
pub fn of_test(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    if let Some(row) = rows("test").find(|row| row.has(&lower)) {
        return Some(row.here.to_owned());
    }
    let workload = Workload::named(name)?;
    Some(format!("`bitcost test {}`", workload.info().short_name))
}

/// How a command of Mininet's prompt is written at that of `bitcost lab shell`.
pub fn of_prompt(word: &str) -> Option<&'static str> {
    rows("prompt").find(|row| row.has(word)).map(|row| row.here)
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
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let kinds = ["alias", "option", "after", "test", "prompt"];
        assert_eq!(lines.count(), kinds.into_iter().flat_map(rows).count());
    }
}
