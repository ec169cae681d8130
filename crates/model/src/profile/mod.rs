//! What one host's CPUs did during a run's window: stacks that a timer sampled, and how often each
//! was met. A profile comes from an agent or a log, so everything in it is bounded when it is read.

mod layer;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

pub use self::layer::Layer;

/// Samples of each CPU in a second: a prime, so that the timer does not beat with those of the
/// kernel.
pub const RATE_HZ: u32 = 997;

/// Most different stacks of a profile. The rarest ones are dropped.
pub const STACKS_MAX: usize = 4096;

/// Most frames of a stack (`sample_max_stack` of perf_event_open(2) and one for the program).
pub const FRAMES_MAX: usize = 128;

/// Longest name of a function that is kept, in bytes.
pub const FUNCTION_BYTES_MAX: usize = 120;

/// Longest name of a thread or an interface, in bytes (`TASK_COMM_LEN` with a worker's suffix).
const NAME_BYTES_MAX: usize = 64;

/// The largest count: that of years.
const COUNT_MAX: u64 = 1 << 48;

words! {
    /// What makes a sample be taken.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum ProfileEvent {
        /// The CPU's own counter of cycles: a CPU that idles is not sampled.
        Cycles = "cycles",
        /// A timer of the kernel: every CPU is sampled, whether it idles or not.
        CpuClock = "cpu-clock",
    }
}

/// The thread that a sample met.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProfiledTask {
    /// A thread of the sender's traffic.
    Sender,
    /// A thread of the receiver's traffic.
    Receiver,
    Agent,
    /// A kernel thread that takes the packets of this interface.
    Napi(#[serde(deserialize_with = "name")] String),
    /// A thread of the lab's link emulator.
    Wire,
    /// A kernel thread for soft interrupts (ksoftirqd).
    Softirq,
    Idle,
    /// A thread of another program, by its name.
    Other(#[serde(deserialize_with = "name")] String),
}

/// A stack and how often it was met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfiledStack {
    pub task: ProfiledTask,
    /// Names of functions, the outermost first, with `;` between them. All frames of a program are
    /// one, `[user]`; an address without a symbol is `[unknown]`.
    #[serde(deserialize_with = "stack")]
    pub stack: String,
    /// Samples.
    #[serde(deserialize_with = "count")]
    pub count: u64,
    /// The CPU; absent where it was idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}

/// What the CPUs of one host did during the measured window of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    pub event: ProfileEvent,
    /// Requested samples of each CPU in a second.
    pub rate_hz: u32,
    /// The time for which it was sampled, in ns.
    #[serde(deserialize_with = "count")]
    pub window_ns: u64,
    pub cpus: u32,
    /// Samples that were taken, also those whose stack is not kept because there are too many.
    #[serde(deserialize_with = "count")]
    pub samples: u64,
    /// Samples that the kernel lost, because a buffer was full or it took too long.
    #[serde(deserialize_with = "count")]
    pub lost: u64,
    /// The stacks, the most frequent first.
    #[serde(deserialize_with = "stacks")]
    pub stacks: Vec<ProfiledStack>,
}

/// Whether a text can be the name of a function in a stack.
pub fn is_function(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b';';
    (1..=FUNCTION_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Whether no interrupt is on the back of the idle task, of which this is a stack. What this task does to
/// put a thread on its CPU, or off it, is idle time, too: a clock's samples of it are those of the thread.
pub fn is_idle(stack: &str) -> bool {
    let interrupts = ["asm_sysvec_", "asm_common_interrupt", "el1_interrupt"];
    let is_interrupt = |frame: &str| interrupts.iter().any(|name| frame.starts_with(name));
    !stack.split(';').any(is_interrupt)
}

fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
    is_allowed: impl Fn(&T) -> bool,
    otherwise: &str,
) -> Result<T, D::Error> {
    let value = T::deserialize(from)?;
    let refused = || D::Error::custom(format!("not a profile of bitcost: {otherwise}"));
    is_allowed(&value).then_some(value).ok_or_else(refused)
}

fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    checked(from, |count| *count <= COUNT_MAX, "a count is too high")
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let is_allowed = |name: &String| name.len() <= NAME_BYTES_MAX && crate::harmless(name) == *name;
    checked(
        from,
        is_allowed,
        "the name of a thread is too long or not printable",
    )
}

fn stack<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let is_short = |stack: &str| stack.split(';').nth(FRAMES_MAX).is_none();
    let is_allowed = |stack: &String| is_short(stack) && stack.split(';').all(is_function);
    checked(from, is_allowed, "a stack is too long or not printable")
}

fn stacks<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ProfiledStack>, D::Error> {
    let is_allowed = |stacks: &Vec<ProfiledStack>| stacks.len() <= STACKS_MAX;
    checked(from, is_allowed, "too many stacks")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let stack = |task, stack: &str| ProfiledStack {
            task,
            stack: stack.to_owned(),
            count: 2,
            cpu: Some(1),
        };
        Profile {
            event: ProfileEvent::CpuClock,
            rate_hz: RATE_HZ,
            window_ns: 1_000_000_000,
            cpus: 2,
            samples: 4,
            lost: 0,
            stacks: vec![
                stack(ProfiledTask::Sender, "[user];do_syscall_64;tcp_sendmsg"),
                stack(ProfiledTask::Napi("eth0".to_owned()), "kthread"),
            ],
        }
    }

    fn read(text: &str) -> Result<Profile, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let text = serde_json::to_string(&profile()).expect("JSON");
        assert!(text.contains(r#""event":"cpu-clock""#) && text.contains(r#"{"napi":"eth0"}"#));
        assert_eq!(read(&text), Ok(profile()));
    }

    #[test]
    fn what_a_peer_may_not_send_is_refused() {
        let text = serde_json::to_string(&profile()).expect("JSON");
        let long = format!("\"stack\":\"{}kthread\"", "f;".repeat(FRAMES_MAX));
        for (old, new, why) in [
            ("tcp_sendmsg", "\\u001b[2J", "not printable"),
            ("tcp_sendmsg", "", "not printable"),
            ("\"stack\":\"kthread\"", long.as_str(), "too long"),
            ("eth0", "\\u0007", "the name of a thread"),
            (
                "\"samples\":4",
                "\"samples\":18446744073709551615",
                "a count",
            ),
        ] {
            let refused = read(&text.replace(old, new)).expect_err(new);
            assert!(refused.contains(why), "{refused}");
        }
        let mut many = profile();
        many.stacks = vec![many.stacks[0].clone(); STACKS_MAX + 1];
        let text = serde_json::to_string(&many).expect("JSON");
        assert!(
            read(&text)
                .expect_err("too many")
                .contains("too many stacks")
        );
    }
}
