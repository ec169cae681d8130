//! What is wrong with a command line, in a sentence: in the words of other programs where it has theirs, otherwise in clap's.

use bitcost_model::settings::names;
use bitcost_model::workload::{WORKLOADS, Workload};
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command};

use crate::foreign;
use crate::output::shell_word;
use crate::studies;

pub struct Mistake<'a> {
    /// The words after the program's name.
    pub words: &'a [String],
    pub error: &'a clap::Error,
}

impl Mistake<'_> {
    /// What is wrong; `program` is the whole command line.
    pub fn sentence(&self, program: &Command) -> String {
        let (path, verb) = self.verb(program);
        let name = path.join(" ");
        let known = self
            .after_dashes(&path)
            .or_else(|| match self.error.kind() {
                ErrorKind::UnknownArgument => self.unknown(&path, verb),
                ErrorKind::InvalidSubcommand => self.no_command(&name),
                ErrorKind::MissingRequiredArgument => self.missing(&name),
                ErrorKind::InvalidValue => self.no_test(),
                ErrorKind::ValueValidation => self.refused_value(),
                _ => None,
            });
        known.unwrap_or_else(|| format!("{}; see `{name} --help`", self.as_clap_says()))
    }

    /// The lines of clap's error and its tips as one.
    fn as_clap_says(&self) -> String {
        let text = self.error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let is_help = |line: &str| line.starts_with("Usage:") || line.starts_with("For more");
        let lines = text
            .lines()
            .take_while(|line| !is_help(line))
            .map(str::trim);
        let lines = lines.filter(|line| !line.is_empty());
        let lines = lines.map(|line| match line.strip_prefix("[possible values: ") {
            Some(values) => format!("allowed: {}", values.trim_end_matches(']')),
            None => line.trim_start_matches("tip: ").to_owned(),
        });
        lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ")
    }

    /// How netperf's first option after `--` is written here.
    fn after_dashes(&self, path: &[&str]) -> Option<String> {
        let of_test = matches!(path, [_, "test"]);
        let dashes = self.words.iter().position(|word| word == "--")?;
        let first = self.words.get(dashes + 1)?;
        foreign::of_option(first, true).filter(|_| of_test && first.starts_with('-'))
    }

    fn text(&self, kind: ContextKind) -> String {
        let value = self.error.get(kind);
        value.map(ToString::to_string).unwrap_or_default()
    }

    /// The names of the command and its verbs that the words name, and the last of them.
    fn verb<'a>(&self, program: &'a Command) -> (Vec<&'a str>, &'a Command) {
        let (mut path, mut verb) = (vec![program.get_name()], program);
        for word in self.words {
            let Some(next) = verb.find_subcommand(word) else {
                break;
            };
            path.push(next.get_name());
            verb = next;
        }
        (path, verb)
    }

    fn unknown(&self, path: &[&str], verb: &Command) -> Option<String> {
        let found = self.text(ContextKind::InvalidArg);
        let name = path.join(" ");
        let dashes = self.words.iter().position(|word| word == "--");
        let is_after_dashes = dashes.is_some_and(|at| self.words[at..].contains(&found));
        let of_test = matches!(path, [_] | [_, "test" | "improve"]);
        let netperf = self.netperf_test();
        if netperf.is_some() && path.len() == 1 {
            return netperf;
        }
        if let Some(here) = foreign::of_option(&found, is_after_dashes).filter(|_| of_test) {
            return Some(match netperf {
                Some(test) => format!("{test}; {here}"),
                None => here,
            });
        }
        let test = verb.find_subcommand("test");
        if test.is_some_and(|test| has_option(test, &found)) {
            return Some(format!(
                "`{found}` is an option of `{name} test`: `{name} test tcp {found}`"
            ));
        }
        let instead = of_setting(&found, verb)?;
        Some(format!("`{name}` has no option `{found}`; write {instead}"))
    }

    fn no_command(&self, name: &str) -> Option<String> {
        let found = self.text(ContextKind::InvalidSubcommand);
        let here = foreign::of_test(&found)?;
        let rest = self.words.iter().skip_while(|word| **word != found).skip(1);
        let rest: String = rest
            .map(|word| format!(" {}", shell_word(word.as_ref())))
            .collect();
        Some(match Workload::named(&found) {
            Some(workload) => format!(
                "`{found}` is a test: write `{name} test {}{rest}`",
                workload.info().short_name
            ),
            None => format!("`{found}` is {here}"),
        })
    }

    fn missing(&self, name: &str) -> Option<String> {
        let (what, names) = match self.text(ContextKind::InvalidArg).as_str() {
            "<TEST>" => (
                format!("the name of a test, such as `{name} tcp`; allowed: "),
                WORKLOADS.map(|row| row.short_name).to_vec(),
            ),
            "<STUDY>" => (
                "<STUDY>: the path of a study file, or the name of an embedded one: ".to_owned(),
                studies::EMBEDDED.iter().map(|(name, _)| *name).collect(),
            ),
            _ => return None,
        };
        let needs = || format!("`{name}` needs {what}{}", names.join(", "));
        Some(self.netperf_test().unwrap_or_else(needs))
    }

    /// `-t TCP_RR` of netperf.
    fn netperf_test(&self) -> Option<String> {
        let mut pairs = self.words.windows(2);
        let [_, test] = pairs.find(|pair| pair[0] == "-t")? else {
            return None;
        };
        let here = foreign::of_test(test)?;
        Some(format!("netperf's `-t {test}` is {here}"))
    }

    /// How a test of another program is named here.
    fn no_test(&self) -> Option<String> {
        let found = self.text(ContextKind::InvalidValue);
        let is_test = self.text(ContextKind::InvalidArg) == "<TEST>";
        let here = foreign::of_test(&found).filter(|_| is_test)?;
        Some(format!("`{found}` is {here}"))
    }

    /// A value that the function for its option refused, with a sentence that mostly names the value.
    fn refused_value(&self) -> Option<String> {
        let argument = self.text(ContextKind::InvalidArg);
        // An option without its value.
        let end = argument
            .find([' ', '=', '['])
            .filter(|_| argument.starts_with('-'));
        let argument = &argument[..end.unwrap_or(argument.len())];
        let found = format!("`{}`", self.text(ContextKind::InvalidValue));
        let why = std::error::Error::source(self.error)?.to_string();
        Some(match why.contains(&found) {
            true => format!("{argument}: {why}"),
            false => format!("{argument}: {found}: {why}"),
        })
    }
}

/// How the setting is given that an option would have by its name, which may leave the unit out: by
/// its own option, whose id is the setting's name, else by `--set`.
fn of_setting(option: &str, verb: &Command) -> Option<String> {
    let requested = option.strip_prefix("--")?.replace('-', "_");
    let is_unit = |unit: &str| unit.is_empty() || unit.rfind('_') == Some(0);
    let setting = names().find(|name| name.strip_prefix(&*requested).is_some_and(is_unit))?;
    let own = verb.get_arguments().find(|own| own.get_id() == setting);
    match own.and_then(Arg::get_long) {
        Some(own) => Some(format!("`--{own}`")),
        None => has_option(verb, "--set").then(|| format!("`--set {setting}=VALUE`")),
    }
}

fn has_option(verb: &Command, name: &str) -> bool {
    verb.get_arguments().any(|argument| {
        let long = argument.get_long().map(|long| format!("--{long}"));
        let letter = argument.get_short().map(|letter| format!("-{letter}"));
        [long, letter].into_iter().flatten().any(|own| own == name)
    })
}
