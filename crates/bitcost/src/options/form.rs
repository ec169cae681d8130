//! The options of verbs that print text, Markdown or JSON.

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Tables for people
    Text,
    /// Markdown, for pull requests
    Md,
    /// JSON
    Json,
}

#[derive(clap::Args)]
pub struct Printed {
    /// Print one JSON document; same as --format json
    #[arg(short = 'J', long, conflicts_with = "format")]
    json: bool,
    /// Output format
    #[arg(long, value_name = "FORM", value_enum, default_value = "text")]
    format: Form,
}

impl Printed {
    pub fn form(&self) -> Form {
        match self.json {
            true => Form::Json,
            false => self.format,
        }
    }
}
