//! The kinds of damage that a failing disk, an editor, or a script can do to a log.

use super::random::Random;

/// A kind of damage.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The damaged log.
    pub apply: fn(&[u8], &mut Random) -> Vec<u8>,
}

macro_rules! kinds {
    ($($name:literal: |$log:pat_param, $random:pat_param| $damage:expr;)*) => {
        /// Every kind.
        pub const KINDS: &[Kind] = &[$(Kind { name: $name, apply: |$log, $random| $damage }),*];
    };
}

kinds! {
    "digit changed": |log, random| digit_in(log, random, 0..log.len());
    "digit of a result changed": |log, random| digit_of_a_result(log, random);
    "number made huge": |log, random| huge(log, random);
    "line removed": |log, random| of_lines(log, random, |lines, at, _| drop(lines.remove(at)));
    "lines swapped": |log, random| of_lines(log, random, |lines, at, other| lines.swap(at, other));
    "line doubled": |log, random| of_lines(log, random, |lines, at, _| lines.insert(at, lines[at].clone()));
    "line copied elsewhere": |log, random| of_lines(log, random, |lines, at, other| lines.insert(other, lines[at].clone()));
    "result renumbered": |log, random| renumbered(log, random);
    "hosts removed": |log, _| of(lines(log).into_iter().filter(|line| !line.starts_with(b"{\"event\":\"prepared\"")));
    "plan doubled": |log, random| plan_doubled(log, random);
    "format lowered": |log, _| replaced(log, b"\"format\":5", b"\"format\":3");
    "cut": |log, random| log[..random.below(log.len())].to_vec();
    "bytes missing": |log, random| {
        let at = random.below(log.len());
        [&log[..at], &log[(at + 1 + random.below(5000)).min(log.len())..]].concat()
    };
    "bit flipped": |log, random| changed(log, random, |log, at, random| log[at] ^= 1 << random.below(8));
    "tail spliced": |log, random| of_lines(log, random, |lines, at, other| lines.extend_from_within(at.min(other)..));
    "nested": |log, random| inserted(log, random, &[b'['; 200_000]);
    "UTF-8 cut": |log, random| inserted(log, random, b"\xe2\x82");
    "zeros": |log, random| changed(log, random, |log, at, _| {
        let end = (at + 512).min(log.len());
        log[at..end].fill(0);
    });
}

fn of(lines: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    lines.flatten().collect()
}

/// Changes the bytes from a chosen place on.
fn changed(
    log: &[u8],
    random: &mut Random,
    change: impl Fn(&mut [u8], usize, &mut Random),
) -> Vec<u8> {
    let mut log = log.to_vec();
    let at = random.below(log.len());
    change(&mut log, at, random);
    log
}

fn lines(log: &[u8]) -> Vec<Vec<u8>> {
    log.split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

/// Changes the lines, of which two are chosen.
fn of_lines(
    log: &[u8],
    random: &mut Random,
    change: impl Fn(&mut Vec<Vec<u8>>, usize, usize),
) -> Vec<u8> {
    let mut lines = lines(log);
    let (at, other) = (random.below(lines.len()), random.below(lines.len()));
    change(&mut lines, at, other);
    lines.concat()
}

/// Changes one of the digits in this range.
fn digit_in(log: &[u8], random: &mut Random, places: std::ops::Range<usize>) -> Vec<u8> {
    let mut log = log.to_vec();
    let digits: Vec<usize> = places.filter(|at| log[*at].is_ascii_digit()).collect();
    if let Some(at) = digits.get(random.below(digits.len())) {
        log[*at] = b'0' + (log[*at] - b'0' + 1 + random.below(9) as u8) % 10;
    }
    log
}

/// Changes a digit of the counts of a run's receiver or sender.
fn digit_of_a_result(log: &[u8], random: &mut Random) -> Vec<u8> {
    let word = b"\"measured\":{";
    let places: Vec<usize> = log
        .windows(word.len())
        .enumerate()
        .filter(|(_, at)| at == word)
        .map(|(at, _)| at)
        .collect();
    let from = places.get(random.below(places.len())).copied().unwrap_or(0);
    digit_in(log, random, from..(from + 120).min(log.len()))
}

fn huge(log: &[u8], random: &mut Random) -> Vec<u8> {
    let at = random.below(log.len());
    let Some(digit) = log[at..].iter().position(u8::is_ascii_digit) else {
        return log.to_vec();
    };
    [&log[..at + digit], b"99999999999999", &log[at + digit..]].concat()
}

/// Repeats a result under the number of another run.
fn renumbered(log: &[u8], random: &mut Random) -> Vec<u8> {
    let begin = b"{\"event\":\"run_ended\",\"run\":";
    let mut lines = lines(log);
    let results: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at].starts_with(begin))
        .collect();
    let [first, .., last] = results[..] else {
        return log.to_vec();
    };
    let from = lines[if random.below(2) == 0 { first } else { last }].clone();
    let digits = from[begin.len()..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let number = random.below(results.len()).to_string();
    lines[results[random.below(results.len())]] =
        [begin, number.as_bytes(), &from[begin.len() + digits..]].concat();
    lines.concat()
}

fn plan_doubled(log: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines = lines(log);
    let plan = lines
        .iter()
        .find(|line| line.starts_with(b"{\"event\":\"planned\""))
        .cloned();
    let at = random.below(lines.len());
    lines.splice(at..at, plan);
    lines.concat()
}

fn replaced(log: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let Some(at) = log.windows(from.len()).position(|window| window == from) else {
        return log.to_vec();
    };
    [&log[..at], to, &log[at + from.len()..]].concat()
}

fn inserted(log: &[u8], random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let at = random.below(log.len());
    [&log[..at], bytes, &log[at..]].concat()
}
