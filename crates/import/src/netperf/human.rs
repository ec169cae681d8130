//! netperf's tables for people, as rows: the classic ones, whose columns have a fixed order, and
//! those of `-O`, whose column heads are stacked words.

use super::columns::{Column, Row};
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

/// The rows of the tables below what a banner says; an empty one where they have another form.
pub(super) fn rows(banner: &Row, lines: &[&str]) -> Vec<Row> {
    match stacked(lines) {
        rows if rows.is_empty() => vec![classic(banner, lines).unwrap_or_default()],
        rows => rows,
    }
}

/// Lines that are all numbers are rows; their number of columns says what they are.
fn classic(banner: &Row, lines: &[&str]) -> Option<Row> {
    let lists = lines.iter().map(|line| line.split_whitespace().collect());
    let is_row = |words: &Vec<&str>| !words.is_empty() && words.iter().all(|one| is_number(one));
    let numbers: Vec<Vec<&str>> = lists.filter(is_row).collect();
    let (is_datagrams, is_transactions) = (
        banner.test().contains("udp_stream"),
        banner.is_transactions() == Some(true),
    );
    let mut row = Row::default();
    let mut take = |names: &str, values: &[&str]| {
        let pairs = names.split_whitespace().zip(values);
        pairs.for_each(|(name, value)| row.put_named(name, value));
    };
    let of = |counts: [usize; 2]| numbers.iter().find(|row| counts.contains(&row.len()));
    match &numbers[..] {
        // `-v 0` prints the rate alone.
        [only] if only.len() == 1 => {
            let names = ["throughput", "local_send_throughput"];
            take(names[usize::from(is_datagrams)], only);
            return Some(row);
        }
        _ if is_datagrams => {
            let is_both = |pair: &&[Vec<&str>]| {
                [6, 8].contains(&pair[0].len()) && [4, 6].contains(&pair[1].len())
            };
            let pair = numbers.windows(2).find(is_both)?;
            take(SENT, &pair[0]);
            take(RECEIVED, &pair[1]);
        }
        _ if is_transactions => take(TRANSACTIONS, of([6, 10])?),
        _ => take(STREAM, of([5, 9])?),
    }
    let mut words = lines.iter().flat_map(|line| line.split_whitespace());
    let units = words.find(|word| word.contains('/') && mbps(1.0, word).is_some());
    if let Some(units) = units.or(is_transactions.then_some("Trans/s")) {
        row.put_named("throughput_units", units);
    }
    Some(row)
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
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
        let words: Vec<Vec<&str>> = heads.iter().map(|line| cells(line, &begins)).collect();
        let title = |at: usize| words.iter().map(move |line| line[at]).collect::<Vec<_>>();
        let columns: Vec<Option<Column>> = (0..begins.len())
            .map(|at| Column::of(&title(at).join(" ")))
            .collect();
        let known: Vec<&Column> = columns.iter().flatten().collect();
        let is_table = begins.len() <= MOST_COLUMNS && known.len() * 2 >= columns.len().max(1);
        let value = below.iter().position(|line| !is_blank(line));
        let Some(value) = value.filter(|_| is_table) else {
            break;
        };
        let more = below[value + 1..].iter();
        let more = more.take_while(|line| !is_blank(line) && is_value(line));
        let end = value + 1 + more.count();
        for line in &below[value..end] {
            if rows
                .last()
                .is_none_or(|row| known.iter().any(|column| row.has(column)))
            {
                rows.push(Row::default());
            }
            let row = rows.last_mut().into_iter();
            row.for_each(|row| row.put_all(&columns, cells(line, &begins)));
        }
        rest = &below[end..];
    }
    rows
}

/// The places at which columns start: before them every line has a space, or nothing. Not
/// more than one above the most.
fn begins(heads: &[&str]) -> Vec<usize> {
    let is_space = |line: &&str, at: usize| line.as_bytes().get(at).is_none_or(|one| *one == b' ');
    let is_between = |at: usize| heads.iter().all(|line| is_space(line, at));
    let width = heads.iter().map(|line| line.len()).max().unwrap_or(0);
    let begins = (0..width).filter(|at| !is_between(*at) && (*at == 0 || is_between(at - 1)));
    begins.take(MOST_COLUMNS + 1).collect()
}

/// What a line has in each column.
fn cells<'a>(line: &'a str, begins: &[usize]) -> Vec<&'a str> {
    let ends = begins.iter().skip(1).copied().chain([line.len()]);
    let spans = begins.iter().zip(ends);
    let cells = spans.map(|(begin, end)| line.get(*begin..end.min(line.len())));
    cells.map(Option::unwrap_or_default).collect()
}
