//! netperf's tables for people, as rows of named values: the classic ones, whose columns have a fixed
//! order, and those of `-O`, whose column heads are stacked words.

use super::banner::Banner;
use super::columns::{Row, is_known, plain};
use crate::run::mbps;

/// The classic columns of a stream; the last four with `-c` or `-C`.
const STREAM: &str = "receiver_recv_socket sender_send_socket sender_send_size elapsed_time \
    throughput local_cpu_util remote_cpu_util local_sd remote_sd";
const TRANSACTIONS: &str = "lss_size_end lsr_size_end request_size response_size elapsed_time \
    throughput local_cpu_util remote_cpu_util local_sd remote_sd";

/// The classic columns of a stream of datagrams: the row of the sender, and that of the receiver.
const SENT: &str = "sender_send_socket sender_send_size elapsed_time messages_sent errors \
    local_send_throughput local_cpu_util local_sd";
const RECEIVED: &str = "receiver_recv_socket remote_elapsed_time messages_received \
    remote_recv_throughput remote_cpu_util remote_sd";

/// Lines of heads above a line of values, and the most columns of a table.
const HEADS: usize = 4;
const MOST_COLUMNS: usize = 1000;

/// The rows of the tables below a banner; an empty one where they have another form.
pub(super) fn rows(banner: &Banner, lines: &[&str]) -> Vec<Row> {
    match stacked(lines) {
        rows if rows.is_empty() => vec![classic(banner, lines).unwrap_or_default()],
        rows => rows,
    }
}

/// Lines that are all numbers are rows; their number of columns says what they are.
fn classic(banner: &Banner, lines: &[&str]) -> Option<Row> {
    let lists = lines.iter().map(|line| line.split_whitespace().collect());
    let is_row = |words: &Vec<&str>| !words.is_empty() && words.iter().all(|one| is_number(one));
    let numbers: Vec<Vec<&str>> = lists.filter(is_row).collect();
    let row = |names: &str, counts: [usize; 2]| {
        let values = numbers.iter().find(|row| counts.contains(&row.len()))?;
        Some(named(names, values))
    };
    let is_datagrams = banner.test.contains("udp_stream");
    let mut found = match &numbers[..] {
        // `-v 0` prints the rate alone.
        [only] if only.len() == 1 => {
            let names = ["throughput", "local_send_throughput"];
            return Some(named(names[usize::from(is_datagrams)], only));
        }
        _ if is_datagrams => {
            let is_both = |pair: &&[Vec<&str>]| {
                [6, 8].contains(&pair[0].len()) && [4, 6].contains(&pair[1].len())
            };
            let pair = numbers.windows(2).find(is_both)?;
            [named(SENT, &pair[0]), named(RECEIVED, &pair[1])].concat()
        }
        _ if banner.is_transactions() => row(TRANSACTIONS, [6, 10])?,
        _ => row(STREAM, [5, 9])?,
    };
    let mut words = lines.iter().flat_map(|line| line.split_whitespace());
    let units = words.find(|word| word.contains('/') && mbps(1.0, word).is_some());
    if let Some(units) = units.or(banner.is_transactions().then_some("Trans/s")) {
        found.push(("throughput_units".to_owned(), units.to_owned()));
    }
    Some(found)
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

fn named(names: &str, values: &[&str]) -> Row {
    let values = values.iter().map(|value| (*value).to_owned());
    let names = names.split_whitespace().map(str::to_owned);
    names.zip(values).collect()
}

/// The rows of tables with stacked heads: four lines of words, then lines of values. Columns that do
/// not fit one line follow as another table.
fn stacked(lines: &[&str]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let is_blank = |line: &&str| line.trim().is_empty();
    // Heads have no separate number.
    let is_value = |line: &&str| line.split_whitespace().any(is_number);
    let mut rest = lines;
    while let Some(first) = rest.iter().position(|line| !is_blank(line)) {
        let heads = rest[first..].iter().take(HEADS);
        let (heads, below) =
            rest[first..].split_at(heads.take_while(|line| !is_value(line)).count());
        let begins = begins(heads);
        let words: Vec<Vec<String>> = heads.iter().map(|line| parts(line, &begins)).collect();
        let title = |at: usize| {
            let words = words.iter().map(|line: &Vec<String>| line[at].as_str());
            plain(&words.collect::<Vec<_>>().join(" "))
        };
        let titles: Vec<String> = (0..begins.len()).map(title).collect();
        let known = titles.iter().filter(|title| is_known(title)).count();
        let value = below.iter().position(|line| !is_blank(line));
        let is_table = begins.len() <= MOST_COLUMNS && known * 2 >= titles.len().max(1);
        let Some(value) = value.filter(|_| is_table) else {
            break;
        };
        let more = below[value + 1..].iter();
        let more = more.take_while(|line| !is_blank(line) && is_value(line));
        let end = value + 1 + more.count();
        for line in &below[value..end] {
            let values = titles.iter().cloned().zip(parts(line, &begins));
            match rows.last_mut() {
                Some(row) if row.iter().all(|(name, _)| !titles.contains(name)) => {
                    row.extend(values);
                }
                _ => rows.push(values.collect()),
            }
        }
        rest = &below[end..];
    }
    rows
}

/// The places at which columns start: before them every line has a space, or nothing. Not
/// more than one above the most.
fn begins(heads: &[&str]) -> Vec<usize> {
    let mut has_letter = vec![false];
    for line in heads {
        for (at, letter) in (1..).zip(line.chars()) {
            has_letter.resize(has_letter.len().max(at + 1), false);
            has_letter[at] |= letter != ' ';
        }
    }
    let places = (0..).zip(has_letter.windows(2));
    let begins = places.filter(|(_, pair)| *pair == [false, true]);
    begins.map(|(at, _)| at).take(MOST_COLUMNS + 1).collect()
}

/// What a line has in each column.
fn parts(line: &str, begins: &[usize]) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    let ends = begins.iter().skip(1).copied().chain([letters.len()]);
    let part = |(begin, end): (&usize, usize)| {
        let part = letters.get(*begin..end.min(letters.len()));
        let part: String = part.unwrap_or_default().iter().collect();
        part.trim().to_owned()
    };
    begins.iter().zip(ends).map(part).collect()
}
