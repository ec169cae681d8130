//! `bitcost help settings`: the table of settings.

use bitcost_model::settings::SETTINGS;

use crate::failure::Failure;
use crate::output;

/// Prints each setting with its option, its values, its default and what it does.
pub fn print() -> Result<(), Failure> {
    let mut text = String::from(
        "Settings, as studies and `--set NAME=VALUE` name them, with the option of `bitcost test`.\n",
    );
    for setting in SETTINGS {
        let option = match setting.flag {
            Some(flag) => match flag.letter {
                Some(letter) => format!("-{letter}, --{}", flag.long),
                None => format!("--{}", flag.long),
            },
            None => String::new(),
        };
        text += &format!("\n{:<28}{option}\n", setting.name);
        text += &format!("    {}\n", setting.about);
        text += &format!("    allowed: {}\n", setting.kind.allowed());
    }
    output::print(&text)
}
