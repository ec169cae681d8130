//! A line of the lab's shell as words.

use bitcost_model::Invalid;

/// Characters that mean more to a shell than themselves.
const SHELL: &str = "|&;<>()$`\\\"'*?[]#~={}!";

/// The words of a command in a node: those of the line, or a shell that reads it where it has more
/// than words.
pub fn program(line: &str) -> Vec<String> {
    if line.contains(|c: char| SHELL.contains(c)) {
        return ["sh", "-c", line].map(str::to_owned).to_vec();
    }
    line.split_whitespace().map(str::to_owned).collect()
}

/// The words of a line; quotes of both kinds keep blanks together.
///
/// # Errors
/// A sentence, when a quote is not closed.
pub fn split(line: &str) -> Result<Vec<String>, Invalid> {
    let (mut words, mut word, mut is_word) = (Vec::new(), String::new(), false);
    let mut open: Option<char> = None;
    for c in line.chars() {
        match open {
            Some(quote) if c == quote => open = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => (open, is_word) = (Some(c), true),
            None if c.is_whitespace() => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            None => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if let Some(quote) = open {
        return Err(Invalid(format!("the quote {quote} is not closed: {line}")));
    }
    words.extend(is_word.then_some(word));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_blanks_together() {
        assert_eq!(
            split("s1-eth2 'queue_limit=1000 packets' rate=\"1 G\"  x").unwrap(),
            ["s1-eth2", "queue_limit=1000 packets", "rate=1 G", "x"]
        );
        assert_eq!(split("  ").unwrap(), Vec::<String>::new());
        assert!(split("it's").unwrap_err().0.contains("is not closed"));
    }

    #[test]
    fn a_line_with_more_than_words_needs_a_shell() {
        assert_eq!(program("ping -c 3 h2"), ["ping", "-c", "3", "h2"]);
        assert_eq!(program("iperf3 -s &"), ["sh", "-c", "iperf3 -s &"]);
    }
}
