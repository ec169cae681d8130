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

/// The words of a line, quoted as for a shell.
pub fn split(line: &str) -> Result<Vec<String>, Invalid> {
    shlex::split(line)
        .ok_or_else(|| Invalid(format!("a quote or backslash at the end is open: {line}")))
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
        for line in ["it's", "ends with \\"] {
            assert!(split(line).unwrap_err().0.contains("at the end is open"));
        }
        assert_eq!(split("a#b #c").unwrap(), ["a#b"]);
    }

    #[test]
    fn a_line_with_more_than_words_needs_a_shell() {
        assert_eq!(program("ping -c 3 h2"), ["ping", "-c", "3", "h2"]);
        assert_eq!(program("iperf3 -s &"), ["sh", "-c", "iperf3 -s &"]);
    }
}
