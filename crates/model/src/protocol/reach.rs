//! The text that is read before an agent answers: the lines of the script that starts it at another
//! host, and the output of ssh about that host.

use std::io::{self, BufRead, Read};

/// The start of each line of the script; earlier output, such as that of login scripts, is skipped.
pub const MARK: &str = "bitcost-reach ";

/// The most output before a line of the script, in bytes.
pub const NOISE_BYTES: u64 = 64 << 10;

/// The next line of the script without its mark and the white space around it; absent where the
/// output ends before it.
pub fn line(output: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut output = output.take(NOISE_BYTES);
    loop {
        let mut line = Vec::new();
        output.read_until(b'\n', &mut line)?;
        let text = String::from_utf8_lossy(&line);
        match text.strip_prefix(MARK) {
            Some(text) => return Ok(Some(crate::harmless(text.trim()))),
            None if output.limit() == 0 => {
                return Err(io::Error::other(format!(
                    "its shell prints more than {NOISE_BYTES} bytes before it runs the command; change its start-up files so that they print nothing without a terminal"
                )));
            }
            None if line.is_empty() => return Ok(None),
            None => {}
        }
    }
}

/// The first line of the script, which describes its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// The system, as `uname -s` names it.
    pub system: &'a str,
    /// The kind of machine, as `uname -m` names it.
    pub machine: &'a str,
    /// The bitcost on the path there, as it reports itself; absent where there is none.
    pub program: Option<&'a str>,
}

impl Found<'_> {
    /// Reads the line. Missing fields are empty or absent.
    pub fn of(line: &str) -> Found<'_> {
        let mut words = line.splitn(3, ' ');
        let (system, machine) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        Found {
            system,
            machine,
            program: words.next().filter(|program| !program.is_empty()),
        }
    }
}

/// The host name in what `ssh -G` prints (ssh(1), ssh_config(5)); absent where it names none.
pub fn ssh_host_name(configuration: &str) -> Option<&str> {
    configuration
        .lines()
        .find_map(|line| line.strip_prefix("hostname "))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_passed_by_and_the_line_is_read() {
        let said = "Welcome!\nbitcost-reach Linux x86_64 bitcost 0.1.0 abc 12-ef\n";
        let found = line(&mut said.as_bytes()).expect("read").expect("a line");
        let Found {
            system,
            machine,
            program,
        } = Found::of(&found);
        assert_eq!(
            (system, machine, program),
            ("Linux", "x86_64", Some("bitcost 0.1.0 abc 12-ef"))
        );
        assert_eq!(Found::of("Linux x86_64").program, None);
        assert_eq!(Found::of("").system, "");
    }

    #[test]
    fn endless_noise_and_an_end_are_told() {
        let noise = "x\n".repeat(NOISE_BYTES as usize);
        let error = line(&mut noise.as_bytes()).expect_err("endless");
        assert!(error.to_string().contains("start-up files"), "{error}");
        assert!(matches!(line(&mut "who are you?\n".as_bytes()), Ok(None)));
    }

    #[test]
    fn ssh_names_its_host() {
        assert_eq!(
            ssh_host_name("user root\nhostname 192.0.2.7\nport 22\n"),
            Some("192.0.2.7")
        );
        assert_eq!(ssh_host_name("hostnames x\n"), None);
    }
}
