//! Names that a cluster, an allocation or a resolver told, of which none may become an option, a
//! path, or anything else than a name where it is passed to a program.

use std::fmt;

use bitcost_model::Invalid;

/// A name of letters, digits and `._-` that begins with a letter or digit. Only such a name is
/// shown, compared, or passed to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign(String);

/// Most bytes of a name: those of a domain name (RFC 1035).
const MOST: usize = 253;

impl Foreign {
    /// `what` it is to be the name of, as errors have it.
    pub fn of(text: &str, what: &str) -> Result<Foreign, Invalid> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_name = (1..=MOST).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(is_plain);
        match is_name {
            true => Ok(Foreign(text.to_owned())),
            false => Err(Invalid(format!(
                "`{}` is not a name of {what}; allowed: letters, digits and . _ -",
                text.escape_debug()
            ))),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_an_option_a_path_or_a_word_for_a_shell() {
        let named = |text: &str| Foreign::of(text, "a node").map(|name| name.to_string());
        assert_eq!(named("rack1-n07.site"), Ok("rack1-n07.site".to_owned()));
        for text in [
            "",
            "-n",
            "--all",
            "--context=prod",
            "a b",
            "n[1-4]",
            "a;b",
            "a/b",
            "..",
            "a\n",
            "a=b",
            "a\u{202e}b",
            &"a".repeat(254),
        ] {
            assert!(named(text).is_err(), "{text}");
        }
    }
}
