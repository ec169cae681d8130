//! What client and service say to each other before the control protocol begins.

use bitcost_model::harmless;
use bitcost_model::protocol::PROTOCOL;
use serde::{Deserialize, Serialize};

use crate::link::LinkToken;

const VERSION_LETTERS_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// The first message of a client. Fields that this version does not know are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub version: String,
    pub token: String,
}

impl Hello {
    pub fn new(token: LinkToken) -> Hello {
        Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: token.letters(),
        }
    }

    /// Reads a client's first message: the versions first, since another version may say other
    /// things after them.
    pub fn read(text: &[u8]) -> Result<Hello, Refused> {
        let none = |error: serde_json::Error| {
            let why = clean_line(&error.to_string());
            Refused(format!(
                "the first message is not that of a bitcost client: {why}"
            ))
        };
        let theirs: Versions = serde_json::from_slice(text).map_err(none)?;
        if theirs.protocol != PROTOCOL {
            return Err(Refused(format!(
                "the client is {}, this service is {}; use the same bitcost on both hosts",
                of_version(&theirs.version, theirs.protocol),
                of_version(env!("CARGO_PKG_VERSION"), PROTOCOL)
            )));
        }
        serde_json::from_slice(text).map_err(none)
    }
}

/// The versions of a client, which are in the first message of every version.
#[derive(Debug, Deserialize)]
struct Versions {
    protocol: u32,
    version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The client has the host: the control protocol follows.
    Welcome,
    /// Another test takes place; repeated while the client waits.
    Waiting,
    Refused(Refused),
}

impl Answer {
    /// Reads an answer that is not a refusal.
    pub fn read(text: &[u8]) -> Result<Answer, Refused> {
        match serde_json::from_slice(text) {
            Ok(Answer::Refused(Refused(why))) => Err(Refused(harmless(&why))),
            Ok(answer) => Ok(answer),
            Err(error) => Err(Refused(format!(
                "its answer is not one of this version of bitcost ({error}); use the same bitcost on both hosts"
            ))),
        }
    }
}

fn of_version(version: &str, protocol: u32) -> String {
    let version: String = clean_line(version)
        .chars()
        .take(VERSION_LETTERS_MAX)
        .collect();
    format!("bitcost {version} with version {protocol} of the control protocol")
}

/// A sentence with what others said, as it is shown: one line.
pub fn clean_line(text: &str) -> String {
    harmless(text).replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_with_both_whatever_else_it_says() {
        let own = env!("CARGO_PKG_VERSION");
        let read = |protocol: u32, token: &str| {
            let text = format!(
                r#"{{"later":[1],"protocol":{protocol},"version":"9.9.9\u001b[31m","token":{token}}}"#
            );
            Hello::read(text.as_bytes())
        };
        assert_eq!(read(PROTOCOL, r#""abc""#).expect("known").token, "abc");
        for token in [r#""abc""#, r#"{"later":{"a":1}}"#] {
            let Refused(why) = read(PROTOCOL + 1, token).expect_err("another protocol");
            assert!(why.contains("bitcost 9.9.9") && why.contains(own), "{why}");
            assert!(!why.contains(char::is_control), "{why}");
        }
        assert!(read(PROTOCOL, "1").is_err());
        assert!(Answer::read(br#"{"later":{}}"#).is_err());
    }
}
