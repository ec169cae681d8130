//! What is wrong with a command line, in a sentence: what was asked, what is allowed, what
//! resembles it.

use std::net::AddrParseError;
use std::num::ParseIntError;

use bitcost_model::near::did_you_mean;
use bitcost_model::settings::names;
use bitcost_model::workload::{WORKLOADS, Workload};
use clap::error::{ContextKind, ContextValue, ErrorKind};
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
        if let Some(here) = self.after_dashes(&path) {
            return here;
        }
        match self.error.kind() {
            ErrorKind::UnknownArgument => self.unknown(&path, verb),
            ErrorKind::InvalidSubcommand => self.no_command(&name, verb),
            ErrorKind::MissingRequiredArgument => self.missing(&path, verb),
            ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => format!(
                "`{name}` needs {}; {}",
                self.text(ContextKind::InvalidArg),
                self.usage(&name)
            ),
            ErrorKind::InvalidValue => self.no_value(),
            ErrorKind::ValueValidation => self.refused_value(),
            ErrorKind::ArgumentConflict => format!(
                "{} cannot be used with {}; `{name} --help` describes both",
                self.typed(ContextKind::InvalidArg, verb),
                self.typed(ContextKind::PriorArg, verb)
            ),
            _ => {
                let text = self.error.to_string();
                let text = text.strip_prefix("error: ").unwrap_or(&text);
                text.lines().next().unwrap_or_default().to_owned()
            }
        }
    }

    /// How netperf's first option after `--` is written here.
    fn after_dashes(&self, path: &[&str]) -> Option<String> {
        let of_test = matches!(path, [_, "test"]);
        let dashes = self.words.iter().position(|word| word == "--")?;
        let first = self.words.get(dashes + 1)?;
        foreign::of_option(first, true).filter(|_| of_test && first.starts_with('-'))
    }

    fn text(&self, kind: ContextKind) -> String {
        match self.error.get(kind) {
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }

    /// The name of an option of the verb, with its other name where that was typed.
    fn typed(&self, kind: ContextKind, verb: &Command) -> String {
        let name = option(&self.text(kind));
        let is_it = |argument: &&Arg| {
            let long = argument.get_long();
            long.is_some_and(|long| name.strip_prefix("--") == Some(long))
        };
        let argument = verb.get_arguments().find(is_it);
        let aliases = argument.and_then(Arg::get_all_aliases).unwrap_or_default();
        let mut others = aliases.iter().map(|alias| format!("--{alias}"));
        match others.find(|other| self.words.contains(other)) {
            Some(other) => format!("{name} ({other})"),
            None => name,
        }
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

    fn unknown(&self, path: &[&str], verb: &Command) -> String {
        let found = self.text(ContextKind::InvalidArg);
        let name = path.join(" ");
        let dashes = self.words.iter().position(|word| word == "--");
        let is_after_dashes = dashes.is_some_and(|at| self.words[at..].contains(&found));
        let of_test = matches!(path, [_] | [_, "test" | "improve"]);
        if let Some(tests) = self.netperf_test().filter(|_| path.len() == 1) {
            return tests;
        }
        if let Some(here) = foreign::of_option(&found, is_after_dashes).filter(|_| of_test) {
            return match self.netperf_test() {
                Some(test) => format!("{test}; {here}"),
                None => here,
            };
        }
        if !found.starts_with('-') {
            return format!("unexpected argument `{found}`; {}", self.usage(&name));
        }
        let test = verb.find_subcommand("test");
        if test.is_some_and(|test| has_option(test, &found)) {
            return format!("`{found}` is an option of `{name} test`: `{name} test tcp {found}`");
        }
        let options = options(verb);
        let near = of_setting(&found, verb)
            .unwrap_or_else(|| did_you_mean(&found, options.iter().map(String::as_str)));
        format!("`{name}` has no option `{found}`{near}; `{name} --help` lists its options")
    }

    fn no_command(&self, name: &str, verb: &Command) -> String {
        let found = self.text(ContextKind::InvalidSubcommand);
        if let Some(here) = foreign::of_test(&found) {
            let rest = self.words.iter().skip_while(|word| **word != found).skip(1);
            let rest: String = rest
                .map(|word| format!(" {}", shell_word(word.as_ref())))
                .collect();
            return match Workload::named(&found) {
                Some(workload) => format!(
                    "`{found}` is a test: write `{name} test {}{rest}`",
                    workload.info().short_name
                ),
                None => format!("`{found}` is {here}"),
            };
        }
        let visible = verb.get_subcommands().filter(|verb| !verb.is_hide_set());
        let names: Vec<&str> = visible.map(Command::get_name).collect();
        let near = did_you_mean(&found, names.iter().copied());
        format!(
            "`{name}` has no command `{found}`{near}; allowed: {}",
            names.join(", ")
        )
    }

    fn missing(&self, path: &[&str], verb: &Command) -> String {
        let name = path.join(" ");
        let missing = self.text(ContextKind::InvalidArg);
        if missing == "<TEST>" {
            let tests: Vec<&str> = WORKLOADS.iter().map(|row| row.short_name).collect();
            return self.netperf_test().unwrap_or_else(|| {
                format!(
                    "`{name}` needs the name of a test, such as `{name} tcp`; allowed: {}",
                    tests.join(", ")
                )
            });
        }
        if missing == "<STUDY>" {
            let names: Vec<&str> = studies::EMBEDDED.iter().map(|(name, _)| *name).collect();
            return format!(
                "`{name}` needs {missing}: the path of a study file, or the name of an embedded one: {}",
                names.join(", ")
            );
        }
        let what: Vec<String> = verb
            .get_positionals()
            .filter(|argument| missing.contains(&argument.to_string()))
            .filter_map(|argument| Some(argument.get_help()?.to_string()))
            .collect();
        let what = match what.first() {
            Some(about) => format!(" ({about})"),
            None => String::new(),
        };
        format!("`{name}` needs {missing}{what}; {}", self.usage(&name))
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

    /// A value that is none of the names of a list.
    fn no_value(&self) -> String {
        let argument = option(&self.text(ContextKind::InvalidArg));
        let found = self.text(ContextKind::InvalidValue);
        if found.is_empty() {
            return format!("{argument} needs a value");
        }
        let allowed = match self.error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(names)) => names.clone(),
            _ => Vec::new(),
        };
        if let Some(here) = foreign::of_test(&found).filter(|_| argument == "<TEST>") {
            return format!("`{found}` is {here}");
        }
        let near = did_you_mean(&found, allowed.iter().map(String::as_str));
        let allowed = allowed.join(", ");
        if argument == "<TEST>" {
            return format!("`{found}` is not a test{near}; allowed: {allowed}");
        }
        let argument = match argument.strip_prefix('<') {
            Some(_) => String::new(),
            None => format!("{argument}: "),
        };
        format!("{argument}`{found}` is not a valid value{near}; allowed: {allowed}")
    }

    /// A value that the function for its option refused, by the kind of the function's error: our
    /// own functions return a sentence, which names the value.
    fn refused_value(&self) -> String {
        let argument = option(&self.text(ContextKind::InvalidArg));
        let found = self.text(ContextKind::InvalidValue);
        let source = std::error::Error::source(self.error);
        if source.is_some_and(|why| why.is::<ParseIntError>()) {
            return format!("{argument}: `{found}` is not a valid value; allowed: a whole number");
        }
        if source.is_some_and(|why| why.is::<AddrParseError>()) {
            return format!(
                "{argument}: `{found}` is not a valid value; allowed: an IPv4 or IPv6 address"
            );
        }
        let why = source.map(ToString::to_string).unwrap_or_default();
        match why.contains(&format!("`{found}`")) {
            true => format!("{argument}: {why}"),
            false => format!("{argument}: `{found}`: {why}"),
        }
    }

    fn usage(&self, name: &str) -> String {
        let usage = self.text(ContextKind::Usage);
        match usage.split_once("Usage: ") {
            Some((_, usage)) => format!("write `{}`", usage.trim()),
            None => format!("see `{name} --help`"),
        }
    }
}

/// The name of an option without its value.
fn option(shown: &str) -> String {
    let end = shown.find([' ', '=', '[']).unwrap_or(shown.len());
    match shown.starts_with('-') {
        true => shown[..end].to_owned(),
        false => shown.to_owned(),
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
        Some(own) => Some(format!("; write `--{own}`")),
        None => has_option(verb, "--set").then(|| format!("; write `--set {setting}=VALUE`")),
    }
}

/// Every option of a verb, by each of its names.
fn options(verb: &Command) -> Vec<String> {
    let names = verb.get_arguments().flat_map(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        let long = argument.get_long().into_iter().chain(aliases);
        let letter = argument.get_short().map(|letter| format!("-{letter}"));
        long.map(|name| format!("--{name}")).chain(letter)
    });
    names.collect()
}

fn has_option(verb: &Command, name: &str) -> bool {
    options(verb).iter().any(|option| option == name)
}
