//! `cargo xtask words`: the texts that the program can print, each with its place.

use anyhow::Result;
use proc_macro2::{Literal, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::files::{Source, below, is_tool, rooms, root};

/// Macros whose text is a path, or is shown only by a defect of the program.
const UNSEEN: [&str; 6] = [
    "assert",
    "assert_eq",
    "env",
    "include_bytes",
    "include_str",
    "unreachable",
];

/// Derives of clap: comments within these types are the text of `--help`.
const HELP: [&str; 4] = ["Args", "Parser", "Subcommand", "ValueEnum"];

/// Prints `FILE:LINE: TEXT` for each text, in the order of files and lines.
///
/// # Errors
/// When a source cannot be read.
pub fn run() -> Result<bool> {
    for room in rooms()?.iter().filter(|room| !is_tool(room)) {
        for path in below(&room.join("src")) {
            let tokens: TokenStream = Source::read(&path)?.tokens.into_iter().collect();
            let mut texts = Texts::default();
            texts.visit_file(&syn::parse2(tokens)?);
            texts.found.sort();
            for (line, text) in texts.found {
                println!("{}:{line}: {text}", path.strip_prefix(root())?.display());
            }
        }
    }
    Ok(true)
}

/// The texts of a file with their lines.
#[derive(Default)]
struct Texts {
    found: Vec<(usize, String)>,
    /// Whether comments are printed here.
    is_help: bool,
}

impl Texts {
    /// Takes a text that has a letter, as it is written.
    fn take(&mut self, literal: &Literal) {
        let text = literal.to_string();
        let is_text = text.starts_with(['"', 'r']) && text.chars().any(char::is_alphabetic);
        if is_text {
            let lines = text.lines().map(|line| line.trim().trim_end_matches('\\'));
            let text = lines.collect::<Vec<_>>().join(" ");
            self.found.push((literal.span().start().line, text));
        }
    }

    fn take_all(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Literal(literal) => self.take(&literal),
                TokenTree::Group(group) => self.take_all(group.stream()),
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// Visits what is within an item that has these attributes.
    fn within(&mut self, attributes: &[syn::Attribute], visit: impl FnOnce(&mut Texts)) {
        let derived = attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("derive"))
            .filter_map(|attribute| attribute.meta.require_list().ok())
            .flat_map(|list| list.tokens.clone());
        let is_help = derived
            .into_iter()
            .any(|name| HELP.contains(&name.to_string().as_str()));
        let before = std::mem::replace(&mut self.is_help, is_help);
        visit(self);
        self.is_help = before;
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.take(&text.token());
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let name = called
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string());
        if !UNSEEN.contains(&name.unwrap_or_default().as_str()) {
            self.take_all(called.tokens.clone());
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        if call.method != "expect" {
            call.args
                .iter()
                .for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let is_comment = self.is_help && attribute.path().is_ident("doc");
        let names = ["arg", "command", "error", "value"];
        if is_comment || names.iter().any(|name| attribute.path().is_ident(name)) {
            match &attribute.meta {
                syn::Meta::List(list) => self.take_all(list.tokens.clone()),
                syn::Meta::NameValue(pair) => visit::visit_expr(self, &pair.value),
                syn::Meta::Path(_) => {}
            }
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.within(&item.attrs, |texts| visit::visit_item_struct(texts, item));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.within(&item.attrs, |texts| visit::visit_item_enum(texts, item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_errors_and_answers_are_texts_and_other_comments_are_not() {
        let text = r#"
            #[derive(Args)]
            struct Options {
                /// The help
                #[arg(value_name = "N")]
                field: u8,
            }
            /// A comment.
            fn say(n: u8) {
                let given = option(n).expect("unseen");
                write!(given, "{}", format!("{n} runs"))
            }
        "#;
        let mut texts = Texts::default();
        texts.visit_file(&syn::parse_str(text).expect("Rust"));
        texts.found.sort();
        let found: Vec<&str> = texts.found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(found, ["\" The help\"", "\"N\"", "\"{n} runs\""]);
    }
}
