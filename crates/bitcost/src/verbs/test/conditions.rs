//! The settings of a test: those that the user gave, and defaults that differ from those of a
//! study.

use std::time::Duration;

use bitcost_execute::check_without_lab;
use bitcost_iperf3::client::request;
use bitcost_model::Invalid;
use bitcost_model::conditions::{Conditions, Workload, size_tcp_buffers};
use bitcost_model::settings::{Kind, Setting, find};
use bitcost_model::study::LabSpec;

use super::arguments::Arguments;
use crate::failure::Failure;
use crate::foreign;
use crate::options::run::setting;
use crate::options::settings::ENDS;
use crate::options::slow::refuse_slow;
use crate::output;

const USUAL_DURATION: &str = "10s";

/// Of each of many runs that are interleaved: what changes from one second to the next is then the same for both sides. The
/// second is for a budget that is too short for five of each side.
const INTERLEAVED_DURATIONS: [&str; 2] = ["1s", "300ms"];
const SHORT_BUDGET: Duration = Duration::from_secs(18);

/// The message of a UDP test with an iperf3 server, which fits into a packet of Ethernet.
const ETHERNET_DATAGRAM_BYTES: u32 = 1460;

/// The least messages per second of a TCP stream that keeps a rate, so that one of them is at most 0.1 % of 5 s; and their
/// least size.
const PACED_PER_SECOND: u64 = 200;
const PACED_LEAST_BYTES: u64 = 1024;

/// Settings, each with its value as it is typed.
pub type Pairs = Vec<(&'static Setting, String)>;

/// What was typed, after the defaults of a test, and what it gives, which is possible in the lab.
pub fn typed(
    arguments: &Arguments,
    lab: Option<&LabSpec>,
    device_mtu: Option<u32>,
) -> Result<(Pairs, Conditions), Failure> {
    let workload = arguments.test;
    // The limits of the interfaces of named hosts are known only when the hosts are reached.
    let mtu_bytes = lab.map_or(u32::from(u16::MAX), |lab| lab.mtu_bytes);
    let mut settings = defaults(arguments, device_mtu.unwrap_or(mtu_bytes));
    settings.extend(device_mtu.and_then(|mtu| setting("mtu_bytes", &mtu.to_string())));
    let mut given = arguments.run.all();
    refuse_contradictions(&given)?;
    // A count that comes later would drop it without a word.
    given.sort_by_key(|(setting, _)| setting.name == "warmup_s");
    settings.extend(given);
    let mut conditions = Conditions::of(workload);
    for (setting, value) in &settings {
        setting
            .set_text(&mut conditions, value)
            .map_err(|why| refused(setting, value, &why))?;
    }
    refuse_sizes(arguments, workload)?;
    foreign::netperf_length(&output::command_line()[1..])
        .map_or(Ok(()), |why| Err(Failure::Usage(why)))?;
    conditions.check(mtu_bytes).map_err(impossible)?;
    match arguments.is_with_iperf3() {
        true => request::check(&conditions)?,
        false => stamp(&mut settings, &mut conditions, mtu_bytes),
    }
    refuse_slow(&conditions, lab.map(|lab| lab.mtu_bytes), "--rate")?;
    match lab {
        Some(lab) => {
            let path = lab.path();
            let bdp_bytes = path.as_ref().and_then(|path| path.bdp_bytes());
            size_tcp_buffers(&mut conditions.clone(), bdp_bytes)?;
            conditions.check_in_lab(mtu_bytes)?;
        }
        None => check_without_lab(&conditions)?,
    }
    Ok((settings, conditions))
}

/// Refuses values of which one would not count: between --set and other options clap sees no conflict.
fn refuse_contradictions(given: &[(&'static Setting, String)]) -> Result<(), Failure> {
    let read = |setting: &Setting, value: &str| {
        let mut alone = Conditions::default();
        setting.set_text(&mut alone, value).map(|()| alone).ok()
    };
    for (place, (setting, value)) in given.iter().enumerate() {
        let contradicts = |(earlier, other): &&(&'static Setting, String)| match setting.kind {
            Kind::Host(_) | Kind::Background => false,
            _ if earlier.name == setting.name => read(earlier, other) != read(setting, value),
            _ => ENDS.contains(&earlier.name) && ENDS.contains(&setting.name),
        };
        if let Some((earlier, other)) = given[..place].iter().find(contradicts) {
            return Err(Failure::Usage(format!(
                "{}={value} contradicts {}={other}; leave one of them out",
                setting.name, earlier.name
            )));
        }
    }
    Ok(())
}

/// The defaults of a test.
fn defaults(arguments: &Arguments, mtu_bytes: u32) -> Pairs {
    let workload = arguments.test;
    let conditions = Conditions::of(workload);
    let mut message = conditions.message_size_bytes;
    if workload.numbers_datagrams() {
        message = message.min(conditions.framing(mtu_bytes).full_payload_bytes());
    }
    if arguments.is_with_iperf3() && workload.numbers_datagrams() {
        message = ETHERNET_DATAGRAM_BYTES;
    }
    let mut asked = Conditions::of(workload);
    for (setting, value) in arguments.run.all() {
        let _ = setting.set_text(&mut asked, &value);
    }
    if let Some(rate_bps) = asked.rate_bps.filter(|_| workload == Workload::TcpStream) {
        let bytes = (rate_bps / 8 / PACED_PER_SECOND).clamp(PACED_LEAST_BYTES, message.into());
        message = 1 << bytes.ilog2();
    }
    let message = message.to_string();
    let is_short = arguments.budget.is_some_and(|budget| budget < SHORT_BUDGET);
    let usual = match arguments.against.is_given() {
        true => INTERLEAVED_DURATIONS[usize::from(is_short)],
        false => USUAL_DURATION,
    };
    let latency = workload.is_transactional().then_some("true");
    let given = [
        ("message_size_bytes", Some(&*message)),
        ("duration_s", Some(usual)),
        ("latency", latency),
        // An iperf3 server counts from the first byte on.
        ("warmup_s", arguments.is_with_iperf3().then_some("0")),
    ];
    let given = given.into_iter();
    given
        .filter_map(|(name, value)| setting(name, value?))
        .collect()
}

/// Requests the jitter of a stream of datagrams that keeps a rate, where nobody asked otherwise and its other settings
/// allow it.
fn stamp(settings: &mut Pairs, conditions: &mut Conditions, mtu_bytes: u32) {
    let is_given = settings
        .iter()
        .any(|(setting, _)| setting.name == "delay_variation");
    let stamped = Conditions {
        delay_variation: true,
        ..conditions.clone()
    };
    if !is_given && conditions.rate_bps.is_some() && stamped.check(mtu_bytes).is_ok() {
        settings.extend(setting("delay_variation", "true"));
        *conditions = stamped;
    }
}

fn refused(setting: &Setting, value: &str, why: &Invalid) -> Failure {
    let here = foreign::of_value(setting.name, value);
    Failure::Usage(format!("{}: {why}{here}", option(setting)))
}

/// `--rate (-b)`: an option by both of its names.
fn option(setting: &Setting) -> String {
    let letter = setting.flag.and_then(|flag| flag.letter);
    let letter = letter.map_or(String::new(), |letter| format!(" (-{letter})"));
    setting.option() + &letter
}

/// Why conditions are not possible; a sentence that begins with a setting, with its option instead.
fn impossible(Invalid(why): Invalid) -> Failure {
    let named = why
        .split_once(' ')
        .and_then(|(name, rest)| Some((find(name)?, rest)));
    Failure::Usage(named.map_or_else(
        || why.clone(),
        |(setting, rest)| format!("{} {rest}", option(setting)),
    ))
}

/// Refuses a message size for requests and responses, which have separate sizes.
fn refuse_sizes(arguments: &Arguments, workload: Workload) -> Result<(), Failure> {
    let is_size = |name: &str| ["message_size_bytes", "receive_size_bytes"].contains(&name);
    let mut given = arguments.run.settings.0.iter();
    match given.find(|(setting, _)| is_size(setting.name)) {
        Some((setting, _)) if workload.is_transactional() => Err(Failure::Usage(format!(
            "{} is not for {}; use --request-size and --response-size (netperf's -l SECONDS is --time SECONDS)",
            option(setting),
            workload.info().short_name
        ))),
        _ => Ok(()),
    }
}
