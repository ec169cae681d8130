//! netperf's human-readable tables, as rows of named values: the classic ones, whose columns have a
//! fixed order, and those of `-O`, whose column heads are stacked words.

use super::banner::{Banner, Kind};
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
    let is_transactions = banner.kind() == Kind::Transactions;
    let mut found = match &numbers[..] {
        // `-v 0` prints the rate alone.
        [only] if only.len() == 1 && is_datagrams => {
            return Some(named("local_send_throughput", only));
        }
        [only] if only.len() == 1 => return Some(named("throughput", only)),
        _ if is_datagrams => {
            let is_both = |pair: &&[Vec<&str>]| {
                [6, 8].contains(&pair[0].len()) && [4, 6].contains(&pair[1].len())
            };
            let pair = numbers.windows(2).find(is_both)?;
            [named(SENT, &pair[0]), named(RECEIVED, &pair[1])].concat()
        }
        _ if is_transactions => row(TRANSACTIONS, [6, 10])?,
        _ => row(STREAM, [5, 9])?,
    };
    let mut words = lines.iter().flat_map(|line| line.split_whitespace());
    let units = words.find(|word| word.contains('/') && mbps(1.0, word).is_some());
    if let Some(units) = units.or(is_transactions.then_some("Trans/s")) {
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

/// Lines of heads above a line of values.
const HEADS: usize = 4;

/// The most columns of a table.
const MOST_COLUMNS: usize = 1000;

/// The rows of tables with stacked heads: four lines of words, then lines of values. Columns that do
/// not fit one line follow as another table.
fn stacked(lines: &[&str]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let is_blank = |line: &&str| line.trim().is_empty();
    let mut rest = lines;
    while let Some(first) = rest.iter().position(|line| !is_blank(line)) {
        rest = &rest[first..];
        let heads = rest.iter().take(HEADS).take_while(|line| !is_value(line));
        let heads: Vec<&str> = heads.copied().collect();
        let begins = begins(&heads);
        if begins.len() > MOST_COLUMNS {
            break;
        }
        let mut titles = vec![String::new(); begins.len()];
        for line in &heads {
            let words = titles.iter_mut().zip(parts(line, &begins));
            words.for_each(|(title, word)| *title += &format!(" {word}"));
        }
        let titles: Vec<String> = titles.iter().map(|title| plain(title)).collect();
        let known = titles.iter().filter(|title| is_known(title)).count();
        rest = &rest[heads.len()..];
        let value = rest.iter().position(|line| !is_blank(line));
        let Some(value) = value.filter(|_| known * 2 >= titles.len().max(1)) else {
            break;
        };
        rest = &rest[value..];
        let more = rest[1..].iter();
        let more = more.take_while(|line| !is_blank(line) && is_value(line));
        let (values, after) = rest.split_at(1 + more.count());
        for line in values {
            let values = titles.iter().cloned().zip(parts(line, &begins));
            match rows.last_mut() {
                Some(row) if row.iter().all(|(name, _)| !titles.contains(name)) => {
                    row.extend(values);
                }
                _ => rows.push(values.collect()),
            }
        }
        rest = after;
    }
    rows
}

/// True for a line with a number: heads have no separate number.
fn is_value(line: &str) -> bool {
    line.split_whitespace().any(is_number)
}

/// The places at which columns start: before them every line has a space, or nothing. Not
/// more than one above the most.
fn begins(heads: &[&str]) -> Vec<usize> {
    let lines: Vec<Vec<char>> = heads.iter().map(|line| line.chars().collect()).collect();
    let width = lines.iter().map(Vec::len).max().unwrap_or(0);
    let blank = |place: usize| {
        let mut letters = lines.iter().filter_map(|line| line.get(place));
        letters.all(|letter| *letter == ' ')
    };
    (0..width)
        .filter(|place| !blank(*place) && (*place == 0 || blank(place - 1)))
        .take(MOST_COLUMNS + 1)
        .collect()
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
