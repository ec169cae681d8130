//! Checks the repository's structure: circles of modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// The files of Rust below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A path in a source file: its names as written, and whether a public `use` makes it.
#[derive(Clone)]
struct Reference {
    names: Vec<String>,
    is_exported: bool,
}

/// The imports, paths and definitions of one source file, which is a module.
#[derive(Default)]
struct Module {
    /// Names that it takes into its scope by `use`, with their paths.
    imported: BTreeMap<String, Reference>,
    /// Paths outside of `use`.
    paths: Vec<Vec<String>>,
    /// Single words outside of `use`.
    words: BTreeSet<String>,
    defined: BTreeSet<String>,
}

impl Module {
    fn read(text: &str) -> Module {
        let mut module = Module::default();
        module.take(text.parse().expect("Rust"));
        module
    }

    /// Reads the tokens of a block; a module in the same file is a part of the file's.
    fn take(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match word(&tokens, at).as_deref() {
                _ if is_test(&tokens, at) => after_item(&tokens, at),
                // What follows `use <` are lifetimes.
                Some("use") if !is_sign(&tokens, at + 1, '<') => self.take_use(&tokens, at),
                Some(_) => self.take_path(&tokens, at),
                None => {
                    if let TokenTree::Group(group) = &tokens[at] {
                        self.take(group.stream());
                    }
                    at + 1
                }
            };
        }
    }

    /// Reads `use …;` and gives the place after it.
    fn take_use(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let end = (at..tokens.len()).find(|&end| is_sign(tokens, end, ';'));
        let end = end.unwrap_or(tokens.len());
        let is_visible = |at: usize| word(tokens, at).as_deref() == Some("pub");
        let is_exported = (at > 0 && is_visible(at - 1))
            || (at > 1 && is_visible(at - 2) && is_group(tokens, at - 1, Delimiter::Parenthesis));
        self.take_tree(&tokens[at + 1..end], &[], is_exported);
        end + 1
    }

    /// Reads the tree of a `use`, below the names before it.
    fn take_tree(&mut self, tokens: &[TokenTree], before: &[String], is_exported: bool) {
        for branch in
            tokens.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','))
        {
            let mut names = before.to_vec();
            let mut alias = None;
            for (at, token) in branch.iter().enumerate() {
                match token {
                    TokenTree::Ident(name)
                        if word(branch, at.wrapping_sub(1)).as_deref() == Some("as") =>
                    {
                        alias = Some(name.to_string());
                    }
                    TokenTree::Ident(name) if name != "as" => names.push(name.to_string()),
                    TokenTree::Group(group) => {
                        let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.take_tree(&inside, &names, is_exported);
                        names.clear();
                    }
                    TokenTree::Punct(sign) if sign.as_char() == '*' => {
                        panic!("`use {}::*`: name what is used", names.join("::"));
                    }
                    _ => {}
                }
            }
            if names.last().is_some_and(|last| last == "self") && names.len() > 1 {
                names.pop();
            }
            if let Some(name) = alias.or(names.last().cloned()) {
                self.imported.insert(name, Reference { names, is_exported });
            }
        }
    }

    /// Reads a name, or several with `::` between them, and gives the place after them.
    fn take_path(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let mut names = vec![word(tokens, at).unwrap()];
        let mut at = at + 1;
        while is_sign(tokens, at, ':') && is_sign(tokens, at + 1, ':') {
            let Some(name) = word(tokens, at + 2) else {
                break;
            };
            names.push(name);
            at += 3;
        }
        const ITEMS: [&str; 8] = [
            "fn", "struct", "enum", "trait", "type", "const", "static", "mod",
        ];
        if ITEMS.contains(&names[0].as_str()) {
            self.defined.extend(word(tokens, at));
        } else if names.len() > 1 {
            self.words.insert(names[0].clone());
            self.paths.push(names);
        } else {
            self.words.insert(names.remove(0));
        }
        at
    }
}

fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at)? {
        TokenTree::Ident(name) => Some(name.to_string()),
        _ => None,
    }
}

fn is_sign(tokens: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(found)) if found.as_char() == sign)
}

fn is_group(tokens: &[TokenTree], at: usize, delimiter: Delimiter) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

fn is_block(tokens: &[TokenTree], at: usize) -> bool {
    is_group(tokens, at, Delimiter::Brace)
}

fn inner(token: &TokenTree) -> TokenStream {
    match token {
        TokenTree::Group(group) => group.stream(),
        _ => TokenStream::new(),
    }
}

/// Whether `#[cfg(test)]` begins here.
fn is_test(tokens: &[TokenTree], at: usize) -> bool {
    is_sign(tokens, at, '#')
        && tokens
            .get(at + 1)
            .is_some_and(|token| inner(token).to_string().replace(' ', "") == "cfg(test)")
}

/// The place after the item that begins here: after its block or its semicolon.
fn after_item(tokens: &[TokenTree], at: usize) -> usize {
    let end = (at..tokens.len()).find(|&end| is_block(tokens, end) || is_sign(tokens, end, ';'));
    end.map_or(tokens.len(), |end| end + 1)
}

/// The modules of one crate by their paths; each is a file.
struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
}

impl Crate {
    fn read(source: &Path) -> Crate {
        let mut modules = BTreeMap::new();
        for path in files(source) {
            let inside = path.strip_prefix(source).unwrap().with_extension("");
            let mut name: Vec<String> = inside
                .iter()
                .map(|name| name.to_str().unwrap().to_owned())
                .collect();
            if name.last().is_some_and(|last| last == "mod") || name == ["lib"] {
                name.pop();
            }
            if name == ["main"] && !source.join("lib.rs").exists() {
                name.pop();
            }
            modules.insert(name, Module::read(&fs::read_to_string(&path).unwrap()));
        }
        Crate { modules }
    }

    /// The module that defines what a path in a module leads to. Absent if that is another crate.
    fn target(&self, from: &[String], names: &[String], steps: usize) -> Option<Vec<String>> {
        let mut here = from.to_vec();
        for (index, name) in names.iter().enumerate() {
            match name.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => drop(here.pop()),
                _ => {
                    let child = [&here[..], std::slice::from_ref(name)].concat();
                    if !self.modules.contains_key(&child) {
                        return self.definer(&here, name, index == 0, steps);
                    }
                    here = child;
                }
            }
        }
        Some(here)
    }

    /// The module that defines a name that a module knows. `is_first`: an unknown name is that of
    /// another crate.
    fn definer(
        &self,
        here: &[String],
        name: &str,
        is_first: bool,
        steps: usize,
    ) -> Option<Vec<String>> {
        let module = self.modules.get(here)?;
        if steps == 0 || module.defined.contains(name) {
            return Some(here.to_vec());
        }
        match module.imported.get(name) {
            // Another crate, by its name alone.
            Some(import) if import.names.len() == 1 => None,
            Some(import) => self.target(here, &import.names, steps - 1),
            None => (!is_first).then(|| here.to_vec()),
        }
    }

    /// The modules that a module refers to. A name that a parent only re-exports from its children
    /// is left out.
    fn used(&self, from: &[String]) -> BTreeSet<Vec<String>> {
        let module = &self.modules[from];
        let is_used = |(name, import): &(&String, &Reference)| {
            let target = self.target(from, &import.names, 8);
            let is_handed_on = import.is_exported
                && !module.words.contains(*name)
                && target.is_some_and(|target| target.starts_with(from));
            !is_handed_on
        };
        let imports = module
            .imported
            .iter()
            .filter(is_used)
            .map(|(_, import)| &import.names);
        let all = imports.chain(&module.paths);
        let targets = all.filter_map(|names| self.target(from, names, 8));
        targets.filter(|target| target != from).collect()
    }

    /// The modules that are in a circle, each with those of its circle that it refers to.
    fn circles(&self) -> Vec<String> {
        let names = self.modules.keys();
        let used: BTreeMap<_, _> = names.map(|name| (name, self.used(name))).collect();
        let names = self.modules.keys();
        let far: BTreeMap<_, _> = names.map(|name| (name, reached(&used, name))).collect();
        let mut circles = Vec::new();
        for (name, arrows) in &used {
            let back = arrows.iter().filter(|other| far[other].contains(*name));
            let back: Vec<String> = back.map(|other| shown(other)).collect();
            if !back.is_empty() {
                circles.push(format!("{} uses {}", shown(name), back.join(", ")));
            }
        }
        circles
    }
}

/// A module as a path of its crate.
fn shown(module: &[String]) -> String {
    let names = module.iter().map(String::as_str);
    let all: Vec<&str> = std::iter::once("crate").chain(names).collect();
    all.join("::")
}

/// All modules that a module leads to, over any number of others.
fn reached(
    used: &BTreeMap<&Vec<String>, BTreeSet<Vec<String>>>,
    from: &[String],
) -> BTreeSet<Vec<String>> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(name) = next.pop() {
        let more = used[&name].iter().filter(|other| !found.contains(*other));
        let more: Vec<Vec<String>> = more.cloned().collect();
        found.extend(more.iter().cloned());
        next.extend(more);
    }
    found
}

/// The folders with the sources of each crate of the workspace.
fn sources() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let mut sources: Vec<PathBuf> = crates
        .map(|entry| entry.unwrap().path().join("src"))
        .collect();
    sources.push(root().join("xtask/src"));
    sources.sort();
    sources
}

#[test]
fn modules_make_no_circle() {
    let mut circles = Vec::new();
    for source in sources() {
        let modules = Crate::read(&source).circles().into_iter();
        circles.extend(modules.map(|uses| format!("{}: {uses}", source.display())));
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}
