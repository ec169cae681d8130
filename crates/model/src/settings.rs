//! The settings of a run: what a setting is, how its values are read, and the table of all. Each has one row, with its
//! name, its option, its values, whom it concerns, and what it does, under the field of [`Conditions`] that it sets.

use std::net::IpAddr;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::buffers::Buffers;
use crate::conditions::kinds::{
    Direction, Mss, OUTAGE_TIMEOUT_MAX_MS, Pacing, RateOf, ReceiveSize, TRANSACTION_MAX,
    TRANSACTION_RATE_MAX, Waiting,
};
use crate::cpu_list::parse_cpu_list;
use crate::host_settings::{
    CHANNELS, COALESCE, GRO_MAX_SIZE, GSO_MAX_SEGS, GSO_MAX_SIZE, Grammar, MTU, OFFLOADS, QDISC,
    RINGS, RPS_CPUS, STRESS, SYSCTL, SettingRequest, THREADED_NAPI,
};
use crate::modes::{self, Mode};
use crate::near::{did_you_mean, near_or_all};
use crate::path_change::PathChange;
use crate::place::{IpVersion, Places, Ports};
use crate::record::Role;
use crate::search::{Changes, Goal};
use crate::shaping::{LIMIT, MODERATION, QueueLimit, limit, moderation};
use crate::shell::shell_word;
use crate::tcp_buffers::{self, TcpBuffers};
use crate::units;
use crate::workload::{WORKLOADS, Workload};

/// One setting of a run, as a study names it.
#[derive(Debug)]
pub struct Setting {
    /// Its name in a study; the unit comes last.
    pub name: &'static str,
    /// Its option of `bitcost test`; absent: `--set` alone.
    pub flag: Option<Flag>,
    pub kind: Kind,
    /// Its effect and its default, for people.
    pub about: &'static str,
    scope: Scope,
    /// The workloads that can have another value than the default.
    pub workloads: fn(Workload) -> bool,
    /// Whether a run has another value than the default.
    pub is_set: fn(&Conditions) -> bool,
}

/// The option of a setting on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its name without the two dashes.
    pub long: &'static str,
    pub letter: Option<char>,
}

/// What a setting applies to.
#[derive(Clone, Copy, Debug)]
enum Scope {
    /// Of each workload of the run, and nothing but its traffic, its sockets and the program's own memory.
    Part,
    /// Of the whole run, so that a background workload cannot set it separately. It changes no host but by requests.
    Run,
    /// As `Run`. It changes what is named so: a setting of the hosts, or of the lab's interfaces.
    Changes(&'static str),
}

type Set = fn(&mut Conditions, &str) -> Option<()>;

type SetWord = fn(&mut Conditions);

/// The allowed values of a setting, with the function that sets each of them.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Number(&'static Number),
    Word(fn() -> Vec<&'static str>, Set),
    Text {
        /// The placeholder of a value in the help.
        value_name: &'static str,
        /// The allowed texts, in words, with an example.
        allowed: &'static str,
        set: Set,
    },
    Host(&'static Grammar),
    /// True or false.
    Switch(fn(&mut Conditions, bool)),
    /// Background workloads, which have settings themselves.
    Background,
}

/// A number, or a word in its place.
#[derive(Debug)]
pub struct Number {
    pub unit: Unit,
    least: u64,
    most: u64,
    words: &'static [(&'static str, SetWord)],
    get: fn(&Conditions) -> Option<u64>,
    set: fn(&mut Conditions, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Count,
    /// A differentiated services code point, which has a name, too.
    CodePoint,
    /// The unit at the end of the setting's name, `ns` or `us`; people may write another one.
    Named(&'static str),
    BitsPerSecond,
    /// Milliseconds, which people write in seconds or with a unit.
    Milliseconds,
}

/// A field of the conditions that holds a number.
trait Amount {
    /// Absent where it holds none, or a word.
    fn get(&self) -> Option<u64>;
    fn of(number: u64) -> Self;
}

impl Amount for u32 {
    fn get(&self) -> Option<u64> {
        Some((*self).into())
    }

    fn of(number: u64) -> u32 {
        // The bounds are narrower.
        u32::try_from(number).unwrap_or(u32::MAX)
    }
}

impl Amount for u64 {
    fn get(&self) -> Option<u64> {
        Some(*self)
    }

    fn of(number: u64) -> u64 {
        number
    }
}

impl<T: Amount> Amount for Option<T> {
    fn get(&self) -> Option<u64> {
        self.as_ref().and_then(Amount::get)
    }

    fn of(number: u64) -> Option<T> {
        Some(T::of(number))
    }
}

impl Amount for Mss {
    fn get(&self) -> Option<u64> {
        match self {
            Mss::Bytes(bytes) => bytes.get(),
            Mss::Message => None,
        }
    }

    fn of(number: u64) -> Mss {
        Mss::Bytes(u32::of(number))
    }
}

impl Amount for ReceiveSize {
    fn get(&self) -> Option<u64> {
        match self {
            ReceiveSize::Bytes(bytes) => bytes.get(),
            ReceiveSize::Auto | ReceiveSize::Message => None,
        }
    }

    fn of(number: u64) -> ReceiveSize {
        ReceiveSize::Bytes(u32::of(number))
    }
}

impl Setting {
    /// `--rate`, or `--set rate_of`.
    pub fn option(&self) -> String {
        match self.flag {
            Some(flag) => format!("--{}", flag.long),
            None => format!("--set {}", self.name),
        }
    }

    /// Whether it applies to the whole run, so that a background workload cannot set it separately.
    pub fn is_of_run(&self) -> bool {
        !matches!(self.scope, Scope::Part)
    }

    /// What the run changes by it at a host, beside what it requests of one host or both.
    pub fn changes(&self) -> Option<&'static str> {
        match self.scope {
            Scope::Changes(name) => Some(name),
            Scope::Part | Scope::Run => None,
        }
    }

    /// Sets it to a text, as a command line has it. Each further background workload is added to those before.
    pub fn set_text(&self, conditions: &mut Conditions, text: &str) -> Result<(), Invalid> {
        match self.kind {
            Kind::Host(grammar) => grammar.ask(&mut conditions.host_settings, text)?,
            Kind::Background => conditions.background.push(background(text)?),
            kind => kind.set(conditions, text).ok_or_else(|| {
                let allowed = kind.allowed_instead_of(text);
                Invalid(format!("`{text}` is not a valid value; {allowed}"))
            })?,
        }
        Ok(())
    }
}

impl Kind {
    /// The allowed values, in words.
    pub fn allowed(&self) -> String {
        match self {
            Kind::Number(number) if number.words.is_empty() => number.allowed(),
            Kind::Number(number) => format!("{}, or {}", number.allowed(), self.quoted_words()),
            Kind::Word(..) => self.quoted_words(),
            Kind::Text { allowed, .. } => (*allowed).to_owned(),
            Kind::Host(grammar) => grammar.allowed.to_owned(),
            Kind::Switch(_) => "true or false".to_owned(),
            Kind::Background => {
                "a text such as \"rr direction=reverse\", or a list of them".to_owned()
            }
        }
    }

    /// The allowed values, and those that resemble what was found.
    pub fn allowed_instead_of(&self, found: &str) -> String {
        let hint = did_you_mean(found, self.words());
        format!("allowed: {}{hint}", self.allowed())
    }

    pub fn words(&self) -> Vec<&'static str> {
        match self {
            Kind::Number(number) => number.words.iter().map(|(word, _)| *word).collect(),
            Kind::Word(words, _) => words(),
            _ => Vec::new(),
        }
    }

    fn quoted_words(&self) -> String {
        let quoted: Vec<String> = self
            .words()
            .iter()
            .map(|word| format!("\"{word}\""))
            .collect();
        quoted.join(" or ")
    }

    /// The placeholder of a value in the help of an option.
    pub fn value_name(&self) -> String {
        match self {
            Kind::Number(number) => match number.unit {
                Unit::Bytes => "BYTES",
                Unit::BitsPerSecond => "RATE",
                Unit::Count | Unit::CodePoint => "N",
                Unit::Milliseconds | Unit::Named(_) => "TIME",
            },
            Kind::Word(words, _) => return words().join("|"),
            Kind::Text { value_name, .. } => *value_name,
            Kind::Host(grammar) => grammar.value_name,
            Kind::Switch(_) => "true|false",
            Kind::Background => "\"WORKLOAD OPTION=VALUE …\"",
        }
        .to_owned()
    }

    /// Sets a text, except where it is of hosts or a background workload; `None` where it is not allowed.
    pub fn set(&self, conditions: &mut Conditions, text: &str) -> Option<()> {
        match self {
            Kind::Number(number) => match number.words.iter().find(|(word, _)| *word == text) {
                Some((_, set)) => set(conditions),
                None => (number.set)(conditions, number.read(text)?),
            },
            Kind::Word(_, set) | Kind::Text { set, .. } => set(conditions, text)?,
            Kind::Switch(set) => set(conditions, text.parse().ok()?),
            Kind::Host(_) | Kind::Background => return None,
        }
        Some(())
    }
}

impl Number {
    /// The allowed values, in words.
    pub fn allowed(&self) -> String {
        let Number { least, most, .. } = self;
        match self.unit {
            Unit::Bytes => format!("bytes from {least} to {most}, such as 8192 or \"64KiB\""),
            Unit::BitsPerSecond => {
                let most = most / 1_000_000_000_000;
                format!("bit/s from {least} to {most}T, such as \"100M\" or \"1 Gbit/s\"")
            }
            Unit::Count => format!("a whole number from {least} to {most}"),
            Unit::CodePoint => {
                format!(
                    "a whole number from {least} to {most}, or a name such as \"EF\" or \"AF41\""
                )
            }
            Unit::Named(unit) => format!(
                "a whole number of {unit} from {least} to {most}, or a time such as \"50{unit}\""
            ),
            Unit::Milliseconds => format!(
                "seconds from {} to {}, or a time such as \"5s\"",
                *least as f64 / 1000.0,
                most / 1000
            ),
        }
    }

    /// The number in a text, where it is within the bounds. What is above 0 does not become 0.
    pub fn read(&self, text: &str) -> Option<u64> {
        let number = match self.unit {
            Unit::Bytes => units::parse_bytes(text).ok()? as f64,
            Unit::BitsPerSecond => units::parse_rate(text).ok()? as f64,
            Unit::Count => text.parse::<u64>().ok()? as f64,
            Unit::CodePoint => code_point(text)? as f64,
            Unit::Named(unit) => match text.parse::<u64>() {
                Ok(number) => number as f64,
                Err(_) => milliseconds(text)? * if unit == "ns" { 1e6 } else { 1e3 },
            },
            Unit::Milliseconds => milliseconds(text)?,
        };
        let whole = number.round();
        let is_lost = number > 0.0 && whole == 0.0;
        let is_within = (self.least as f64..=self.most as f64).contains(&whole);
        (!is_lost && is_within).then_some(whole as u64)
    }
}

/// The number of a code point: `EF` (RFC 3246), `LE` (RFC 8622), `CS1` (RFC 2474), `AF41` (RFC 2597).
fn code_point(text: &str) -> Option<u64> {
    let upper = text.to_uppercase();
    let digits = |prefix: &str| {
        let digits = upper.strip_prefix(prefix)?.bytes();
        digits.map(|digit| char::from(digit).to_digit(10)).collect()
    };
    let (class, forwarding): (Option<Vec<u32>>, Option<Vec<u32>>) = (digits("CS"), digits("AF"));
    Some(match (&*upper, class.as_deref(), forwarding.as_deref()) {
        ("EF", ..) => 46,
        ("LE", ..) => 1,
        (_, Some([class @ 0..=7]), _) => u64::from(8 * class),
        (_, _, Some([class @ 1..=4, drop @ 1..=3])) => u64::from(8 * class + 2 * drop),
        _ => text.parse().ok()?,
    })
}

fn milliseconds(text: &str) -> Option<f64> {
    if matches!(text, "0" | "0s") {
        return Some(0.0);
    }
    Some(units::parse_duration(text).ok()?.as_secs_f64() * 1000.0)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}

pub fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The setting of this name.
pub fn named(name: &str) -> Result<&'static Setting, Invalid> {
    find(name).ok_or_else(|| {
        let all: Vec<&str> = names().collect();
        Invalid(format!(
            "unknown setting `{name}`{}",
            near_or_all(name, &all)
        ))
    })
}

/// Makes these changes.
pub fn apply(changes: &Changes, conditions: &mut Conditions) -> Result<(), Invalid> {
    let mut changes = changes.iter();
    changes.try_for_each(|(name, value)| change(conditions, name, value))
}

/// These changes as options of `bitcost test`, as a shell reads them.
pub fn options(changes: &Changes) -> String {
    let option = |(name, value): (&String, &String)| {
        let (option, value) = match find(name).and_then(|of| of.flag) {
            Some(flag) => (flag.long, value.clone()),
            None => ("set", format!("{name}={value}")),
        };
        format!("--{option} {}", shell_word(&value))
    };
    changes.iter().map(option).collect::<Vec<_>>().join(" ")
}

/// Sets a setting as a change of a run that has its settings already: what is set at one host alone leaves the other host
/// as it is.
pub fn change(conditions: &mut Conditions, name: &str, text: &str) -> Result<(), Invalid> {
    let before = conditions.host_settings.clone();
    named(name)?.set_text(conditions, text)?;
    let own = || {
        let all = conditions.host_settings.iter();
        all.filter(|new| new.setting.name() == name)
    };
    let Some(host) = own().next().and_then(|new| new.endpoint) else {
        return Ok(());
    };
    let is_replaced = |old: &SettingRequest| {
        old.endpoint != Some(host) && own().any(|new| new.setting.is_same(&old.setting))
    };
    let replaced = before.into_iter().filter(is_replaced);
    let kept: Vec<SettingRequest> = replaced
        .map(|old| SettingRequest {
            endpoint: Some(host.other()),
            ..old
        })
        .collect();
    conditions.host_settings.extend(kept);
    Ok(())
}

impl Conditions {
    /// Checks every number that memory, threads and times depend on, and what is requested of hosts. The default of each
    /// setting is allowed.
    pub fn check_bounds(&self) -> Result<(), Invalid> {
        for setting in SETTINGS {
            let Kind::Number(number) = setting.kind else {
                continue;
            };
            let value = (number.get)(self).filter(|value| Some(*value) != (number.get)(&USUAL));
            if let Some(value) = value.filter(|value| !(number.least..=number.most).contains(value))
            {
                return Err(Invalid(format!(
                    "{} is {value}; allowed: {}",
                    setting.name,
                    number.allowed()
                )));
            }
        }
        let mut requests = self.host_settings.iter();
        requests.try_for_each(|request| request.setting.check())?;
        self.check_buffers()
    }
}

/// Reads a workload and settings by the names of their options: `tcp_rr request-size=64
/// direction=reverse`.
fn background(text: &str) -> Result<Conditions, Invalid> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let Some(workload) = Workload::named(name) else {
        let short_names = WORKLOADS.iter().map(|row| row.short_name);
        let names: Vec<&str> = WORKLOADS
            .iter()
            .map(|row| row.name)
            .chain(short_names)
            .collect();
        let rest = near_or_all(name, &names);
        return Err(Invalid(format!(
            "`{name}` is not a workload{rest}, then options"
        )));
    };
    // Their latency is the purpose of background transactions.
    let mut part = Conditions {
        latency: workload.is_transactional(),
        ..Conditions::of(workload)
    };
    for word in words {
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        let setting = of_background(flag, workload)?;
        let value = match (setting.kind, value) {
            (Kind::Switch(_), "") => "true",
            _ => value,
        };
        setting
            .set_text(&mut part, value)
            .map_err(|reason| Invalid(format!("{flag}: {reason}")))?;
    }
    Ok(part)
}

/// The setting with this option, or with this name where it has none, which a background workload can have.
fn of_background(flag: &str, workload: Workload) -> Result<&'static Setting, Invalid> {
    let name_of = |setting: &Setting| setting.flag.map_or(setting.name, |flag| flag.long);
    let mut all = SETTINGS.iter();
    let setting = all
        .find(|setting| name_of(setting) == flag)
        .ok_or_else(|| {
            let of_parts = SETTINGS.iter().filter(|setting| !setting.is_of_run());
            let names: Vec<&str> = of_parts.map(name_of).collect();
            let rest = near_or_all(flag, &names);
            Invalid(format!(
                "unknown option `{flag}`{rest}; each as option=value"
            ))
        })?;
    if setting.is_of_run() {
        return Err(Invalid(format!(
            "`{flag}` applies to the whole run and cannot be set for a background workload"
        )));
    }
    if workload.is_transactional()
        && matches!(setting.name, "message_size_bytes" | "receive_size_bytes")
    {
        let workload = workload.name();
        return Err(Invalid(format!(
            "`{flag}` is not for {workload}, which has sizes of requests and responses"
        )));
    }
    Ok(setting)
}

const ADDRESS: &str = "an address such as \"10.0.0.1\" or \"fd00::1\"";
const PORT: &str = "a port from 1 to 65535";
const PORTS: &str = "a port from 1 to 65535, or a range such as \"40000-40100\"";
const CPUS: &str = "CPU numbers, each once, such as \"0\", \"1,2\" or \"0-3\"";
const NAME: &str = "one name of 1 to 15 letters";

const MESSAGE_MAX: u64 = 1 << 24;
const COUNT_MAX: u64 = 1 << 50;
const BUFFER_MAX: u64 = 0x3fff_ffff;
const HOUR_MS: u64 = 3_600_000;
const WEEK_MS: u64 = 7 * 24 * HOUR_MS;

/// What a setting is compared with.
static USUAL: LazyLock<Conditions> = LazyLock::new(Conditions::default);

/// Twice the 30 s in which a network finds another path: TCP doubles the time between its retransmissions.
const OUTAGE_TIMEOUT_MS: u32 = 60_000;

fn is_usual_outage(ms: &u32) -> bool {
    *ms == OUTAGE_TIMEOUT_MS
}

const ANY: fn(Workload) -> bool = |_| true;
const TRANSACTIONS: fn(Workload) -> bool = Workload::is_transactional;
const STREAMS: fn(Workload) -> bool = |of| !of.is_transactional();

const fn flag(long: &'static str) -> Option<Flag> {
    Some(Flag { long, letter: None })
}

const fn letter(long: &'static str, letter: char) -> Option<Flag> {
    Some(Flag {
        long,
        letter: Some(letter),
    })
}

/// A name that the kernel accepts, of at most 15 bytes (linux/if.h, TCP_CA_NAME_MAX of net/tcp.h).
fn name(text: &str) -> Option<String> {
    let is_one = !text.contains([',', ' ', '/']);
    (is_one && (1..16).contains(&text.len())).then(|| text.to_owned())
}

fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

fn send_mode(text: &str) -> Option<Mode> {
    Mode::of_end(Role::Sender, text)
}

fn receive_mode(text: &str) -> Option<Mode> {
    Mode::of_end(Role::Receiver, text)
}

/// All flows come to one port.
fn receiver_ports(text: &str) -> Option<Ports> {
    Ports::parse(text).filter(|ports| ports.count() == 1)
}

/// The values of a setting, which are those of a field of the conditions.
macro_rules! kind {
    (number ($unit:expr, $least:expr, $most:expr $(, $word:literal => $set:expr)*) $($field:tt)+) => {
        Kind::Number(&Number {
            unit: $unit,
            least: $least,
            most: $most,
            words: &[$(($word, $set)),*],
            get: |c| c.$($field)+.get(),
            set: |c, number| c.$($field)+ = Amount::of(number),
        })
    };
    // A count after which the run ends; the whole run is then the measured window.
    (end ($unit:expr) $($field:tt)+) => {
        Kind::Number(&Number {
            unit: $unit,
            least: 1,
            most: COUNT_MAX,
            words: &[],
            get: |c| c.$($field)+.get(),
            set: |c, number| (c.$($field)+, c.warmup_ms) = (Amount::of(number), 0),
        })
    };
    (word ($words:expr, $read:expr) $($field:tt)+) => {
        Kind::Word(|| $words.to_vec(), kind!(read $read, $($field)+))
    };
    (text ($value_name:expr, $allowed:expr, $read:expr) $($field:tt)+) => {
        Kind::Text {
            value_name: $value_name,
            allowed: $allowed,
            set: kind!(read $read, $($field)+),
        }
    };
    (read $read:expr, $($field:tt)+) => {
        |c, text| {
            c.$($field)+ = $read(text)?.into();
            Some(())
        }
    };
    (either ($no:literal, $yes:literal) $($field:tt)+) => {
        Kind::Word(|| vec![$no, $yes], |c, text| {
            c.$($field)+ = match text {
                $no => false,
                $yes => true,
                _ => return None,
            };
            Some(())
        })
    };
    (switch () $($field:tt)+) => { Kind::Switch(|c, on| c.$($field)+ = on) };
    (host ($grammar:expr) $($field:tt)+) => { Kind::Host($grammar) };
    (background () $($field:tt)+) => { Kind::Background };
    (default) => { Default::default() };
    (default $default:expr) => { $default };
}

/// A field of the conditions with its default, unless that is its type's, and rows of the settings in it: what the setting
/// is of, its name, its option, its values and where they are in the field, the workloads, and its line of help.
macro_rules! settings {
    ($(
        $(#[$attribute:meta])*
        $field:ident: $type:ty $(= $default:expr)?
        $(, $scope:ident $(($changes:literal))? $name:literal $flag:expr, $kind:ident $values:tt [$($within:tt)*], $workloads:expr, $about:tt)*
    ;)*) => {
        /// The conditions of one run. Every cell of a study has one of these. A setting that is
        /// not written has its default.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct Conditions {
            $(
                $(#[$attribute])*
                $(#[doc = $about])*
                pub $field: $type,
            )*
        }

        impl Default for Conditions {
            fn default() -> Self {
                Conditions {
                    $($field: kind!(default $($default)?),)*
                }
            }
        }

        pub const SETTINGS: &[Setting] = &[$($(
            Setting {
                name: $name,
                flag: $flag,
                kind: kind!($kind $values $field $($within)*),
                about: $about,
                scope: Scope::$scope $(($changes))?,
                workloads: $workloads,
                is_set: |c| c.$field $($within)* != USUAL.$field $($within)*,
            },
        )*)*];
    };
}

settings! {
    workload: Workload,
        Part "workload" None, word(WORKLOADS.map(|row| row.name), Workload::named) [], ANY,
            "Kind of traffic (default: tcp_stream)";
    direction: Direction,
        Part "direction" flag("direction"), word(Direction::NAMES, Direction::named) [], ANY,
            "Direction of the traffic: from the sender, towards the sender, or both at once (default: forward)";
    #[serde(skip_serializing_if = "Vec::is_empty")]
    background: Vec<Conditions>,
        Run "background" flag("background"), background() [], ANY,
            "Concurrent background workload with its own options, such as \"rr direction=reverse\" (repeatable; default: none)";
    send_mode: Mode,
        Part "send_mode" flag("send-mode"), word(modes::words(Role::Sender), send_mode) [], STREAMS,
            "How the sender hands messages to the kernel: one call each, or a fast path (default: plain)";
    receive_mode: Mode,
        Part "receive_mode" flag("receive-mode"), word(modes::words(Role::Receiver), receive_mode) [], STREAMS,
            "How the receiver takes messages from the kernel: plain calls, or a fast path (default: plain)";
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    mode_auto: bool,
        Run "mode" flag("mode"), either("honest", "auto") [], STREAMS,
            "`honest`: modes as given, else plain calls; `auto`: trials of at most 3 s choose modes, messages per call, receive buffer, low-water mark and waiting, as far as they are not given (default: honest)";
    #[serde(skip_serializing_if = "crate::is_default")]
    search_for: Goal,
        Run "search_for" flag("for"), word(Goal::NAMES, Goal::named) [], ANY,
            "What --mode auto looks for: the highest throughput, or the least CPU time of both endpoints per KiB (default: rate)";
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_per_call: Option<u32>,
        Part "messages_per_call" None, number(Unit::Count, 1, 128) [], ANY,
            "Maximum number of messages per send call, in a send mode that hands over several (default: 64, gso 128)";
    message_size_bytes: u32 = Workload::TcpStream.usual_message_bytes(),
        Part "message_size_bytes" letter("message-size", 'l'), number(Unit::Bytes, 1, MESSAGE_MAX) [], ANY,
            "Size of a message: the bytes of one send call (default: 128KiB, of a TCP test with -b at most what it sends in 5 ms; UDP: 1024, with --peer iperf3 1460, at most 65507)";
    buffers: Buffers,
        Part "payload" None, either("clean", "dirty") [.dirty], STREAMS,
            "Whether the sender writes every byte of a message before it sends it (dirty) or not (default: clean)",
        Part "send_work_ns" None, number(Unit::Named("ns"), 0, 1_000_000) [.send_work_ns], STREAMS,
            "CPU time that the sender works on each message, as an application does, in ns (default: 0)",
        Part "receive_work_ns" None, number(Unit::Named("ns"), 0, 1_000_000) [.receive_work_ns], |of| of.has_requests() || STREAMS(of),
            "CPU time that the receiver works on each message or request after it has received it, in ns (default: 0)";
    receive_size_bytes: ReceiveSize,
        Part "receive_size_bytes" None, number(Unit::Bytes, 1, MESSAGE_MAX, "auto" => |c| c.receive_size_bytes = ReceiveSize::Auto, "message" => |c| c.receive_size_bytes = ReceiveSize::Message) [], ANY,
            "Buffer size of a receive call, in bytes; `message`: one message; `auto`: at least 256KiB with TCP, and a low-water mark of what arrives in 1 ms, at most 256KiB; one message with UDP (default: message)";
    mss: Option<Mss>,
        Part "mss" letter("mss", 'M'), number(Unit::Bytes, 88, 32_767, "message" => |c| c.mss = Some(Mss::Message)) [], ANY,
            "TCP maximum segment size: user data per segment, in bytes; `message`: one message per segment (default: as the path allows)";
    #[serde(skip_serializing_if = "Vec::is_empty")]
    host_settings: Vec<SettingRequest>,
        Run "offloads" flag("offloads"), host(&OFFLOADS) [], ANY,
            "Offloads of the hosts' interfaces: `on` and `off` set tso, gso, gro and lro where offered, `tso-only` leaves tso alone on; or features by ethtool's names, such as `tso off, rx-gro on`; `sender: off` sets one host (default: unchanged)",
        Run "gso_max_segs" None, host(&GSO_MAX_SEGS) [], ANY,
            "Maximum number of segments per packet that TCP hands to the interface, whatever its offloads are (default: unchanged)",
        Run "gso_max_size" None, host(&GSO_MAX_SIZE) [], ANY,
            "Maximum size of a packet that TCP hands to the interface, in bytes, with headers (default: unchanged)",
        Run "gro_max_size" None, host(&GRO_MAX_SIZE) [], ANY,
            "Maximum size of a packet that GRO merges, in bytes (default: unchanged)",
        Run "mtu_bytes" flag("device-mtu"), host(&MTU) [], ANY,
            "MTU of the hosts' interfaces, in bytes (default: unchanged)",
        Run "qdisc" flag("qdisc"), host(&QDISC) [], ANY,
            "Root queueing discipline of the hosts' interfaces, in tc's words, such as `netem delay 20ms`; a time alone is in seconds, a rate in bit/s (default: unchanged)",
        Run "sysctl" flag("sysctl"), host(&SYSCTL) [], ANY,
            "Kernel parameters of the hosts below net., as sysctl writes them (default: unchanged)",
        Run "rings" None, host(&RINGS) [], ANY,
            "Packets for which the rings of the interfaces have room, as ethtool -G sets them, such as `rx 4096` (default: unchanged)",
        Run "channels" None, host(&CHANNELS) [], ANY,
            "Numbers of queues of the interfaces, as ethtool -L sets them, such as `combined 4` (default: unchanged)",
        Run "coalesce" None, host(&COALESCE) [], ANY,
            "Interrupt coalescing of the interfaces, as ethtool -C sets it, such as `rx_usecs 10` (default: unchanged)",
        Run "threaded_napi" None, host(&THREADED_NAPI) [], ANY,
            "Whether kernel threads, not soft interrupts, handle what the interfaces receive, where they have NAPI; a veth has it while GRO is on (default: unchanged)",
        Run "rps_cpus" None, host(&RPS_CPUS) [], ANY,
            "CPUs to which the interfaces' receive queues hand packets (RPS), such as `receiver: 1`, or `none`; root alone may set it (default: unchanged)",
        Run "stress" None, host(&STRESS) [], ANY,
            "Load on the hosts' CPUs during the run: threads (1), what they do, share of a CPU (100%), which CPUs (any) (default: none)";
    #[serde(skip_serializing_if = "Option::is_none")]
    emulator_queue_limit: Option<QueueLimit>,
        Changes("emulator_queue_limit") "emulator_queue_limit" None, text("LIMIT", LIMIT, limit) [], ANY,
            "Queue limit of the lab's link emulators (netem's limit), in place of the lab file's (default: the lab file's)";
    #[serde(skip_serializing_if = "Option::is_none")]
    moderation_us: Option<u32>,
        Changes("moderation") "moderation" None, text("TIME", MODERATION, moderation) [], ANY,
            "Interrupt moderation of the lab's interfaces that receive a stream: the time between two polls, in place of the lab's (default: the lab's)";
    #[serde(skip_serializing_if = "Option::is_none")]
    path_change: Option<PathChange>,
        Changes("path_change") "path_change" None, text("WHAT SHARE", PathChange::ALLOWED, PathChange::parse) [], ANY,
            "Rate, delay or loss of the lab's links, relative to the lab's own (default: 100%)";
    congestion_control: Option<String>,
        Part "congestion_control" letter("congestion", 'C'), text("NAME", NAME, name) [], ANY,
            "TCP congestion control of the run's sockets, such as cubic or reno (TCP_CONGESTION; default: the hosts')";
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_buffers: Option<TcpBuffers>,
        Changes("sysctl") "tcp_buffers" flag("tcp-buffers"), text("N bdp|BYTES", tcp_buffers::ALLOWED, TcpBuffers::parse) [], ANY,
            "Maximum of TCP buffer auto-tuning on both hosts (net.ipv4.tcp_rmem, tcp_wmem), in bytes or bandwidth-delay products of the lab's path (default: unchanged)";
    send_buffer_bytes: Option<u32>,
        Part "send_buffer_bytes" flag("send-buffer"), number(Unit::Bytes, 1, BUFFER_MAX, "auto" => |c| c.send_buffer_bytes = None) [], ANY,
            "Socket send buffer, in bytes (SO_SNDBUF); `auto`: the kernel's (default: auto)";
    receive_buffer_bytes: Option<u32>,
        Part "receive_buffer_bytes" flag("receive-buffer"), number(Unit::Bytes, 1, BUFFER_MAX, "auto" => |c| c.receive_buffer_bytes = None) [], ANY,
            "Socket receive buffer, in bytes (SO_RCVBUF); `auto`: the kernel's (default: auto)";
    receive_low_water_bytes: Option<u32>,
        Part "receive_low_water_bytes" None, number(Unit::Bytes, 1, BUFFER_MAX) [], STREAMS,
            "Bytes that must have arrived before a TCP receive call returns (SO_RCVLOWAT; default: 1, or with --set receive_size_bytes=auto what arrives in 1 ms)";
    #[serde(skip_serializing_if = "Option::is_none")]
    notsent_low_water_bytes: Option<u32>,
        Part "notsent_low_water_bytes" None, number(Unit::Bytes, 1, BUFFER_MAX) [], STREAMS,
            "Unsent bytes at which a TCP sender's socket accepts no more (TCP_NOTSENT_LOWAT; default: the kernel's)";
    nodelay: bool,
        Part "nodelay" letter("nodelay", 'N'), switch() [], ANY,
            "Send small segments at once, without Nagle's algorithm (TCP_NODELAY; default: false)";
    cork: bool,
        Part "cork" None, switch() [], ANY,
            "Send only full segments (TCP_CORK; default: false)";
    dscp: Option<u32>,
        Part "dscp" flag("dscp"), number(Unit::CodePoint, 0, 63) [], ANY,
            "Differentiated services code point of sent packets, such as 46, EF, AF41 or CS6 (RFC 2474; default: 0)";
    waiting: Waiting,
        Part "waiting" None, word(Waiting::NAMES, Waiting::named) [], ANY,
            "How a receiver waits for data: blocked in the call, or polling it in a loop (default: block)";
    busy_poll_us: Option<u32>,
        Part "busy_poll_us" None, number(Unit::Named("us"), 0, 1_000_000) [], ANY,
            "Time for which a receive call polls the device before it blocks; a number alone is in µs (SO_BUSY_POLL; default: the hosts')";
    receiver_delay_us: u32,
        Part "receiver_delay_us" None, number(Unit::Named("us"), 0, 1_000_000) [], ANY,
            "Time for which the receiver sleeps after each receive call; a number alone is in µs (default: 0)";
    rate_bps: Option<u64>,
        Part "rate_bps" letter("rate", 'b'), number(Unit::BitsPerSecond, 1, 10_000_000_000_000) [], STREAMS,
            "Target rate of each flow, such as 100M, 1G or 2.5 Gbit/s; a number alone is in bit/s (default: as fast as possible)";
    rate_of: RateOf,
        Part "rate_of" None, word(RateOf::NAMES, RateOf::named) [], ANY,
            "Which bytes --rate counts: user data, or also the headers of Ethernet, IP and transport, those of IP fragments included (default: user)";
    message_rate: Option<u64>,
        Part "message_rate" None, number(Unit::Count, 1, 1_000_000_000) [], STREAMS,
            "Target rate of each flow, in messages per second (default: as fast as possible)";
    burst_messages: Option<u32>,
        Part "burst_messages" flag("burst"), number(Unit::Count, 1, 1_000_000) [], ANY,
            "Messages that a paced sender sends back to back (default: those of 100 µs)";
    pacing: Pacing,
        Part "pacing" flag("pacing"), word(Pacing::NAMES, Pacing::named) [], ANY,
            "What paces the traffic: the kernel (SO_MAX_PACING_RATE), or the sender, which sleeps; `auto`: the kernel for UDP of 1000 bytes and more over fq, else the sender (default: auto)";
    flows: u32 = 1,
        Part "flows" letter("flows", 'P'), number(Unit::Count, 1, 1000) [], ANY,
            "Number of parallel flows (default: 1)";
    stop_bytes: Option<u64>,
        Run "stop_bytes" letter("bytes", 'n'), end(Unit::Bytes) [], STREAMS,
            "Bytes of user data, over all flows, after which the run ends, without warm-up (default: ends by time)";
    stop_messages: Option<u64>,
        Run "stop_messages" letter("messages", 'k'), end(Unit::Count) [], ANY,
            "Messages or transactions, over all flows, after which the run ends, without warm-up (default: ends by time)";
    request_size_bytes: u32 = 1,
        Part "request_size_bytes" flag("request-size"), number(Unit::Bytes, 1, TRANSACTION_MAX as u64) [], Workload::has_requests,
            "User data of a request, in bytes (default: 1; UDP: at most 65507)";
    response_size_bytes: u32 = 1,
        Part "response_size_bytes" flag("response-size"), number(Unit::Bytes, 1, TRANSACTION_MAX as u64) [], Workload::has_requests,
            "User data of a response, in bytes (default: 1; UDP: at most 65507)";
    places: Places,
        Part "ip_version" None, word(IpVersion::NAMES, IpVersion::named) [.ip_version], ANY,
            "Version of IP; -4 and -6 are short for it (default: that of the receiver's first address, 4 in the lab)",
        Part "sender_address" letter("sender-address", 'B'), text("ADDRESS", ADDRESS, address) [.sender.address], ANY,
            "Local address to bind the sender's sockets to (default: the kernel's choice)",
        Part "receiver_address" flag("receiver-address"), text("ADDRESS", ADDRESS, address) [.receiver.address], ANY,
            "Local address that the receiver listens on (default: its first address towards the sender)",
        Part "sender_device" flag("sender-device"), text("NAME", NAME, name) [.sender.device], ANY,
            "Interface to bind the sender's sockets to (SO_BINDTODEVICE; default: none)",
        Part "receiver_device" flag("receiver-device"), text("NAME", NAME, name) [.receiver.device], ANY,
            "Interface to bind the receiver's sockets to (SO_BINDTODEVICE; default: none)",
        Part "sender_ports" flag("source-port"), text("PORTS", PORTS, Ports::parse) [.sender.ports], ANY,
            "Local port of the sender, or a range from which each flow takes a free one (default: the kernel's choice)",
        Part "receiver_ports" letter("port", 'p'), text("PORT", PORT, receiver_ports) [.receiver.ports], ANY,
            "Port that the receiver listens on, for all flows (default: the kernel's choice; of a service its own)",
        Part "sender_cpus" flag("sender-cpus"), text("CPUS", CPUS, parse_cpu_list) [.sender.cpus], ANY,
            "CPUs to pin the sender's traffic threads to, in turn (default: one for each endpoint where there are enough)",
        Part "receiver_cpus" flag("receiver-cpus"), text("CPUS", CPUS, parse_cpu_list) [.receiver.cpus], ANY,
            "CPUs to pin the receiver's traffic threads to, in turn (default: one for each endpoint where there are enough)";
    idle_baseline_ms: Option<u32>,
        Part "idle_baseline_s" None, number(Unit::Milliseconds, 0, HOUR_MS) [], ANY,
            "Time before each block in which the idle hosts are measured; 0: not measured (default: as long as the window, at most 1 s)";
    latency: bool,
        Part "latency" flag("latency"), switch() [], TRANSACTIONS,
            "Record the time of each transaction (a clock read per transaction; default: true in `test`, else false)";
    delay_variation: bool,
        Part "delay_variation" flag("delay-variation"), switch() [], ANY,
            "Record the one-way delay variation of a UDP stream (RFC 3393, RFC 3550; a clock read and a receive timestamp per message; default: true in `test udp` with --rate, else false)";
    transaction_rate: Option<u32>,
        Part "transaction_rate" flag("transaction-rate"), number(Unit::Count, 1, TRANSACTION_RATE_MAX as u64) [], TRANSACTIONS,
            "Open loop: transactions that each flow starts per second; latency counts from the scheduled time (default: closed loop)";
    warmup_ms: u32 = 250,
        Run "warmup_s" letter("warmup", 'O'), number(Unit::Milliseconds, 0, HOUR_MS) [], ANY,
            "Time before the measured window, not counted; a number alone is in seconds (default: 0.25 s; 0 before a count and with --peer iperf3)";
    duration_ms: u32 = 2000,
        Run "duration_s" letter("time", 't'), number(Unit::Milliseconds, 20, WEEK_MS) [], ANY,
            "Length of the measured window; a number alone is in seconds (default: 10 s in `test`, at most 1 s with --against, 2 s in `improve` and studies)";
    #[serde(skip_serializing_if = "is_usual_outage")]
    outage_timeout_ms: u32 = OUTAGE_TIMEOUT_MS,
        Run "outage_timeout_s" flag("outage-timeout"), number(Unit::Milliseconds, 1000, OUTAGE_TIMEOUT_MAX_MS) [], ANY,
            "Time without any data after which the run ends and keeps what was measured. TCP may notice the end of an outage only after as much time again as it lasted (default: 60 s)";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_letters_are_there_once() {
        let mut seen: Vec<String> = names().map(str::to_owned).collect();
        for flag in SETTINGS.iter().filter_map(|setting| setting.flag) {
            seen.push(format!("--{}", flag.long));
            seen.extend(flag.letter.map(|letter| format!("-{letter}")));
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn change_at_one_host_leaves_the_other_as_it_is() {
        let mut conditions = Conditions::default();
        OFFLOADS
            .ask(&mut conditions.host_settings, "off")
            .expect("read");
        let of = |conditions: &Conditions, host: Role| {
            let own = conditions.of_host(host);
            own.map(ToString::to_string).collect::<Vec<_>>()
        };
        change(&mut conditions, "offloads", "receiver: tso on").expect("possible");
        assert_eq!(of(&conditions, Role::Sender), ["off"]);
        assert_eq!(of(&conditions, Role::Receiver), ["tso on"]);
        change(&mut conditions, "threaded_napi", "sender: on").expect("possible");
        change(&mut conditions, "threaded_napi", "receiver: off").expect("possible");
        assert_eq!(of(&conditions, Role::Sender), ["off", "on"]);
        assert_eq!(of(&conditions, Role::Receiver), ["tso on", "off"]);
    }

    #[test]
    fn what_is_typed_is_read_with_its_unit_and_range() {
        let typed = |name: &str, text: &str| {
            let mut conditions = Conditions::default();
            let setting = find(name).expect("a setting");
            setting.set_text(&mut conditions, text).map(|()| conditions)
        };
        assert_eq!(
            typed("message_size_bytes", "64KiB").map(|c| c.message_size_bytes),
            Ok(65_536)
        );
        assert_eq!(typed("duration_s", "250ms").map(|c| c.duration_ms), Ok(250));
        assert_eq!(typed("warmup_s", "0").map(|c| c.warmup_ms), Ok(0));
        for (text, ns) in [("2000", 2000), ("2us", 2000), ("300ns", 300)] {
            assert_eq!(
                typed("send_work_ns", text).map(|c| c.buffers.send_work_ns),
                Ok(ns),
                "{text}"
            );
        }
        assert_eq!(
            typed("mss", "message").map(|c| c.mss),
            Ok(Some(Mss::Message))
        );
        for (name, text) in [
            ("message_size_bytes", "0"),
            ("message_size_bytes", "-1"),
            ("dscp", "64"),
            ("duration_s", "0"),
            ("busy_poll_us", "400ns"),
            ("offloads", "onn"),
        ] {
            assert!(typed(name, text).is_err(), "{name} {text}");
        }
    }
}
