//! netperf's tables for people: the classic ones, whose columns have a fixed order, and those of `-O`,
//! whose column heads are stacked words.

use super::rows::{Column, Row};
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

/// Lines of heads above a line of values.
const HEADS: usize = 4;

/// The table that is being read: the last lines of its heads and, once it has values, its known
/// columns, with where they begin and end, or the units that the heads of a classic one say.
#[derive(Default)]
pub(super) struct Table<'a> {
    heads: Vec<&'a str>,
    has_values: bool,
    columns: Vec<(usize, usize, Column)>,
    pub units: Option<&'a str>,
}

impl<'a> Table<'a> {
    /// The values of a line below a banner; none of a head, which has no separate number. `before` is
    /// what the run has already.
    pub(super) fn values(
        &mut self,
        line: &'a str,
        banner: &Row,
        before: &Row,
    ) -> Vec<(Column, &'a str)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !words.iter().any(is_number) {
            if self.has_values {
                *self = Table::default();
            }
            self.heads.extend((!words.is_empty()).then_some(line));
            let extra = self.heads.len().saturating_sub(HEADS);
            self.heads.drain(..extra);
            return Vec::new();
        }
        if !self.has_values {
            self.has_values = true;
            self.columns = stacked(&self.heads);
            self.units = units(&self.heads, banner).filter(|_| self.columns.is_empty());
        }
        if self.columns.is_empty() {
            let names = classic(&words, banner, before).split_whitespace();
            let values = names
                .zip(words)
                .map(|(name, value)| (Column::of(name), value));
            let known = values.filter_map(|(column, value)| Some((column?, value)));
            return known.collect();
        }
        let columns = self.columns.iter();
        let columns = columns.take_while(|(begin, ..)| *begin < line.len());
        let values = columns.map(|(begin, end, column)| (*column, cell(line, *begin, *end)));
        values.collect()
    }
}

/// The columns of a classic line of values, by their count.
fn classic(words: &[&str], banner: &Row, before: &Row) -> &'static str {
    let is_datagrams = banner.test().contains("udp_stream");
    let is_transactions = banner.is_transactions() == Some(true);
    match words.len() {
        _ if !words.iter().all(is_number) => "",
        // `-v 0` prints the rate alone.
        1 if is_datagrams => "local_send_throughput",
        1 => "throughput",
        4 | 6 if is_datagrams && before.get("elapsed_time").is_some() => RECEIVED,
        6 | 8 if is_datagrams => SENT,
        6 | 10 if is_transactions => TRANSACTIONS,
        5 | 9 if !is_datagrams && !is_transactions => STREAM,
        _ => "",
    }
}

/// The units of the rates of a classic table; absent without heads.
fn units<'a>(heads: &[&'a str], banner: &Row) -> Option<&'a str> {
    let mut words = heads.iter().flat_map(|head| head.split_whitespace());
    let units = words.find(|word| word.contains('/') && mbps(1.0, word).is_some());
    let is_transactions = banner.is_transactions() == Some(true) && !heads.is_empty();
    units.or(is_transactions.then_some("Trans/s"))
}

fn is_number(word: &&str) -> bool {
    word.parse::<f64>().is_ok()
}

/// The known columns below stacked heads; none where less than half of them are known. Before a column
/// every line has a space, or nothing.
fn stacked(heads: &[&str]) -> Vec<(usize, usize, Column)> {
    let is_space = |line: &&str, at: usize| line.as_bytes().get(at).is_none_or(|one| *one == b' ');
    let is_between = |at: usize| heads.iter().all(|line| is_space(line, at));
    let width = heads.iter().map(|line| line.len()).max().unwrap_or(0);
    let begins = (0..width).filter(|at| !is_between(*at) && (*at == 0 || is_between(at - 1)));
    let begins: Vec<usize> = begins.collect();
    let ends = begins.iter().skip(1).copied().chain([usize::MAX]);
    let column = |(begin, end): (&usize, usize)| {
        let title = heads.iter().map(|head| cell(head, *begin, end));
        let title: Vec<&str> = title.collect();
        Some((*begin, end, Column::of(&title.join(" "))?))
    };
    let mut known: Vec<_> = begins.iter().zip(ends).filter_map(column).collect();
    if known.len() * 2 < begins.len() {
        known.clear();
    }
    known
}

/// What a line has in a column.
fn cell(line: &str, begin: usize, end: usize) -> &str {
    line.get(begin..end.min(line.len())).unwrap_or_default()
}
