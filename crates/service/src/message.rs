//! What client and service say to each other before the control protocol begins.

use bitcost_model::harmless;
use bitcost_model::protocol::PROTOCOL;
use serde::{Deserialize, Serialize};

use crate::rules::{Refused, Rule};

/// Version of these messages; it rises with every change that the other side must know of.
pub const SERVICE: u32 = 1;

/// The most letters of a client's name.
const NAME_LETTERS_MAX: usize = 64;

/// The first message of a client. Fields that this version does not know are passed over: what the
/// other side must know of raises [`SERVICE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`SERVICE`].
    pub service: u32,
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Version of the client's program.
    pub version: String,
    /// What it wants.
    pub wants: Wants,
    /// Whether the test measures no cost, so that it need not have the host for itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_cost: bool,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// That its key is stored.
    Enrol {
        /// The letters of the link's token.
        token: String,
        /// The name of its host, under which the key is listed.
        name: String,
    },
    /// To know whether the service answers and has its key.
    Check,
    /// An agent.
    Agent,
}

impl Hello {
    /// The first message of this program.
    pub fn new(wants: Wants) -> Hello {
        Hello {
            service: SERVICE,
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wants,
            no_cost: false,
        }
    }

    /// Reads a client's first message: the versions first, since another version may say other
    /// things after them.
    ///
    /// # Errors
    /// A sentence with both versions where they cannot work together, or that it is no such message.
    pub fn read(text: &[u8]) -> Result<Hello, Refused> {
        let none = |error: serde_json::Error| {
            let why = clean_line(&error.to_string());
            Rule::Message.refuses(format!(
                "the first message is not that of a bitcost client: {why}"
            ))
        };
        compatible(&serde_json::from_slice(text).map_err(none)?)?;
        serde_json::from_slice(text).map_err(none)
    }
}

/// The versions of a client, which are in the first message of every version.
#[derive(Debug, Deserialize)]
struct Versions {
    service: u32,
    protocol: u32,
    version: String,
}

/// An answer of the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is done; to a client that wants an agent, the control protocol follows.
    Welcome {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Version of the service's program.
        version: String,
    },
    /// Tests of other clients take place; repeated while the client waits.
    Waiting {
        /// The name of that client.
        behind: String,
        /// Seconds that its present run takes at least, if that is known.
        seconds: Option<u32>,
        /// The place in the queue: 1 is the next.
        place: u32,
    },
    /// It is not done.
    Refused {
        /// The rule, and the value that it forbids.
        rule: String,
    },
}

impl Answer {
    /// The answer that all is well.
    pub fn welcome() -> Answer {
        Answer::Welcome {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// The refusal by a rule.
    pub fn refused(rule: impl Into<String>) -> Answer {
        Answer::Refused { rule: rule.into() }
    }
}

/// A name that another host chose, as it is stored and shown: one line of letters.
pub fn clean_name(name: &str) -> String {
    let line: String = harmless(name)
        .chars()
        .filter(|letter| !letter.is_control() && *letter != '\u{FFFD}')
        .take(NAME_LETTERS_MAX)
        .collect();
    match line.trim() {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

/// A sentence with what others said, as it is shown: one line.
pub fn clean_line(text: &str) -> String {
    harmless(text).replace(char::is_control, " ")
}

/// Compares the versions of both sides.
fn compatible(theirs: &Versions) -> Result<(), Refused> {
    if theirs.service == SERVICE && theirs.protocol == PROTOCOL {
        return Ok(());
    }
    Err(Rule::Version.refuses(format!(
        "the client is bitcost {} with version {} of the control protocol and {} of the service's, this service is bitcost {} with {PROTOCOL} and {SERVICE}; use the same bitcost on both hosts",
        clean_name(&theirs.version),
        theirs.protocol,
        theirs.service,
        env!("CARGO_PKG_VERSION")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_with_both_whatever_else_it_says() {
        let read = |protocol: u32, wants: &str| {
            let text = format!(
                r#"{{"service":{SERVICE},"later":[1],"protocol":{protocol},"version":"9.9.9","wants":{wants}}}"#
            );
            Hello::read(text.as_bytes())
        };
        let known = read(PROTOCOL, r#""agent""#).expect("the same protocol");
        assert_eq!(
            (known.version.as_str(), known.wants),
            ("9.9.9", Wants::Agent)
        );
        for wants in [r#""agent""#, r#"{"later":{"a":1}}"#] {
            let error = read(PROTOCOL + 1, wants).expect_err("another protocol");
            assert_eq!(error.rule, Rule::Version);
            let both = ["9.9.9", env!("CARGO_PKG_VERSION")];
            let names = |version: &&str| error.sentence.contains(version);
            assert!(both.iter().all(names), "{error}");
        }
        let error = read(PROTOCOL, r#""shell""#).expect_err("unknown");
        assert_eq!(error.rule, Rule::Message);
    }

    #[test]
    fn a_name_is_one_harmless_line() {
        assert_eq!(clean_name("web\u{1b}[31m\n2"), "web[31m2");
        assert_eq!(clean_name(" \n"), "unnamed");
        assert_eq!(clean_name(&"a".repeat(500)).len(), NAME_LETTERS_MAX);
    }
}
