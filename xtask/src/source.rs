//! The sources of each room, and which of their items are tests.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::programs::root;

/// The folders of the rooms: the crates, xtask and fuzz, in order.
pub fn rooms() -> Result<Vec<PathBuf>> {
    let crates = std::fs::read_dir(root().join("crates"))?;
    let mut rooms: Vec<PathBuf> = crates.map(|room| Ok(room?.path())).collect::<Result<_>>()?;
    rooms.sort();
    rooms.extend(["xtask", "fuzz"].map(|room| root().join(room)));
    Ok(rooms)
}

/// The files below a folder that end in `.rs`, in order; none where there is no such folder.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(below(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A file of the product, with the lines of its tests.
pub struct Source {
    pub text: String,
    /// The lines of each item that is compiled for tests alone.
    pub tests: Vec<RangeInclusive<usize>>,
    /// The names of modules in files of their own that are compiled for tests alone.
    pub test_modules: Vec<String>,
}

impl Source {
    pub fn read(path: &Path) -> Result<Source> {
        let place = || path.display().to_string();
        Source::parse(std::fs::read_to_string(path).with_context(place)?).with_context(place)
    }

    /// Reads a text. Tests within a block, such as a method, are taken for the product.
    fn parse(text: String) -> Result<Source> {
        let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{error}"))?;
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut source = Source {
            text,
            tests: Vec::new(),
            test_modules: Vec::new(),
        };
        let mut rest = &tokens[..];
        while let [_, after @ ..] = rest {
            if is_test(rest) {
                let item = item(rest);
                source.take_test(item);
                rest = &rest[item.len()..];
            } else {
                rest = after;
            }
        }
        Ok(source)
    }

    fn take_test(&mut self, item: &[TokenTree]) {
        let (first, last) = (&item[0], &item[item.len() - 1]);
        self.tests
            .push(first.span().start().line..=last.span().end().line);
        if let [
            ..,
            TokenTree::Ident(word),
            TokenTree::Ident(name),
            TokenTree::Punct(_),
        ] = item
            && word == "mod"
        {
            self.test_modules.push(name.to_string());
        }
    }
}

/// Whether an item begins here that is compiled for tests alone.
fn is_test(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(sign), TokenTree::Group(group), ..]
        if sign.as_char() == '#' && group.stream().to_string().replace(' ', "") == "cfg(test)")
}

/// The item that begins here: to its block or its semicolon.
fn item(tokens: &[TokenTree]) -> &[TokenTree] {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(sign) => sign.as_char() == ';',
        _ => false,
    };
    let end = tokens.iter().position(is_end);
    &tokens[..end.map_or(tokens.len(), |end| end + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_apart_from_the_product() {
        let text = "fn a() {}\n#[cfg(test)]\nmod far;\n#[cfg(test)]\nmod near {\n}\nfn b() {}\n";
        let source = Source::parse(text.to_owned()).expect("Rust");
        assert_eq!(source.tests, [2..=3, 4..=6]);
        assert_eq!(source.test_modules, ["far"]);
    }
}
