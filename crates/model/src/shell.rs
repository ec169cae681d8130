//! Words as a shell reads them.

use std::borrow::Cow;

/// A word, in quotes where a shell would read it otherwise.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=:,.-_/%+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => shlex::try_quote(word).unwrap_or(word.into()),
    }
}

/// The words of a text as a shell splits it; absent where a quote is not closed.
pub fn split_words(text: &str) -> Option<Vec<String>> {
    shlex::split(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_each_word() {
        for word in ["cork=true", "0,1", "5%", "rx_usecs 10", "it's", "$(x)", ""] {
            let quoted = shell_word(word);
            assert_eq!(split_words(&quoted), Some(vec![word.to_owned()]));
        }
        assert_eq!(shell_word("cork=true"), "cork=true");
        assert_eq!(shell_word("tso on"), "'tso on'");
    }
}
