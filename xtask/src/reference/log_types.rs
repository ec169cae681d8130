//! Types of the source as rustfmt writes them: names, fields, variants and their comments.
//!
//! This reads the plain structs and enums of the log alone; it is no parser of Rust.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

/// A struct or an enum.
#[derive(Clone, Debug, Default)]
pub struct Type {
    /// Its comment.
    pub doc: String,
    /// The fields of a struct.
    pub fields: Vec<Field>,
    /// The variants of an enum.
    pub variants: Vec<Variant>,
    /// Whether JSON has what a variant holds without the variant's name.
    pub is_untagged: bool,
    /// Whether JSON has a text in its place.
    pub is_text: bool,
}

/// A variant of an enum, by its name in JSON.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its comment.
    pub doc: String,
    /// Its fields with names.
    pub fields: Vec<Field>,
    /// The type that it holds without a name.
    pub holds: Option<String>,
}

/// A field, by its name in JSON.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name; empty where the fields of its type take its place.
    pub name: String,
    /// Its type as in the source.
    pub kind: String,
    /// Its comment.
    pub doc: String,
}

/// The types of all files below a folder, by name.
pub fn read(folder: &Path) -> Result<BTreeMap<String, Type>> {
    let mut types = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            types.extend(read(&path)?);
        } else {
            let text = std::fs::read_to_string(&path)?;
            Reader::default().read(&text, &mut types);
        }
    }
    Ok(types)
}

/// What was read since the last item.
#[derive(Default)]
struct Reader {
    doc: Vec<String>,
    attributes: String,
    /// The type that is open, its name, and how its variants are renamed.
    open: Option<(String, Type, String)>,
}

impl Reader {
    fn read(&mut self, text: &str, types: &mut BTreeMap<String, Type>) {
        for line in text.lines() {
            let code = line.trim();
            if let Some(doc) = code.strip_prefix("///") {
                self.doc.push(doc.trim().to_owned());
            } else if code.starts_with("#[") {
                self.attributes += code;
            } else if line == "}" {
                if let Some((name, read, _)) = self.open.take() {
                    types.entry(name).or_insert(read);
                }
            } else if self.open.is_some() {
                self.member(line);
            } else {
                self.item(line);
            }
        }
    }

    /// The comment so far, which belongs to what follows.
    fn take_doc(&mut self) -> String {
        std::mem::take(&mut self.doc).join(" ")
    }

    /// The value of a key of serde's attributes.
    fn attribute(&self, key: &str) -> Option<String> {
        let (_, rest) = self.attributes.split_once(&format!("{key} = \""))?;
        rest.split('"').next().map(str::to_owned)
    }

    /// The first line of a struct or an enum, or something else.
    fn item(&mut self, line: &str) {
        let words = line
            .strip_prefix("pub struct ")
            .or(line.strip_prefix("pub enum "));
        if line == "tcp_info! {" {
            // Its macro makes each field optional.
            let read = Type {
                doc: "What the kernel reports of a TCP connection (`TCP_INFO`, linux/tcp.h)."
                    .to_owned(),
                ..Type::default()
            };
            self.open = Some(("TcpInfo".to_owned(), read, String::new()));
        } else if let Some(name) = words.and_then(|words| words.strip_suffix(" {")) {
            let renamed = self.attribute("rename_all").unwrap_or_default();
            let read = Type {
                is_untagged: self.attributes.contains("untagged"),
                is_text: self.attribute("into").is_some(),
                doc: self.take_doc(),
                ..Type::default()
            };
            self.open = Some((name.to_owned(), read, renamed));
        }
        self.doc.clear();
        self.attributes.clear();
    }

    /// A line inside of a struct or an enum: a field, a variant, or the end of a variant.
    fn member(&mut self, line: &str) {
        let code = line.trim();
        let doc = self.take_doc();
        let renamed = self.attribute("rename");
        let is_flat = self.attributes.contains("flatten");
        self.attributes.clear();
        let Some((type_name, read, rename_all)) = &mut self.open else {
            return;
        };
        let field = code.trim_end_matches(',').split_once(": ");
        if let Some((name, kind)) = field.filter(|_| !code.ends_with('{')) {
            let name = name.trim_start_matches("pub ").to_owned();
            let name = if is_flat {
                String::new()
            } else {
                renamed.unwrap_or(name)
            };
            let kind = match type_name.as_str() {
                "TcpInfo" => format!("Option<{kind}>"),
                _ => kind.to_owned(),
            };
            let fields = match read.variants.last_mut() {
                Some(variant) => &mut variant.fields,
                None => &mut read.fields,
            };
            fields.push(Field { name, kind, doc });
        } else if code.starts_with(char::is_uppercase) {
            let name: String = code.chars().take_while(|c| c.is_alphanumeric()).collect();
            let holds = code.split_once('(');
            let holds = holds.map(|(_, rest)| rest.trim_end_matches("),").to_owned());
            read.variants.push(Variant {
                name: renamed.unwrap_or_else(|| in_json(&name, rename_all)),
                doc,
                fields: Vec::new(),
                holds,
            });
        }
    }
}

/// A variant's name as serde renames it.
fn in_json(name: &str, rename_all: &str) -> String {
    let between = match rename_all {
        "snake_case" => "_",
        "kebab-case" => "-",
        "lowercase" => return name.to_lowercase(),
        _ => return name.to_owned(),
    };
    let mut written = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !written.is_empty() {
            written += between;
        }
        written.extend(letter.to_lowercase());
    }
    written
}
