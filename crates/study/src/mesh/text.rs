//! The text of a study with a mesh whose hosts and pairs are in other files: they become a part of it, so
//! that the log of an execution needs no other file.

use bitcost_model::Invalid;
use toml_edit::{Array, Document, DocumentMut, Item, value};

use crate::limits::{STUDY_BYTES, check_text};

/// The files that `[mesh]` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshFiles {
    pub hosts: Option<String>,
    pub pairs: Option<String>,
}

impl MeshFiles {
    /// The files that a study names; absent where its text has no mesh, or is no TOML.
    pub fn of(text: &str) -> Option<MeshFiles> {
        check_text(text, STUDY_BYTES).ok()?;
        let document = Document::parse(text).ok()?;
        let mesh = document.get("mesh")?;
        let file = |key: &str| Some(mesh.get(key)?.as_str()?.to_owned());
        Some(MeshFiles {
            hosts: file("file"),
            pairs: file("pairs"),
        })
    }
}

/// The lines of a file of hosts or pairs, without comments and blank lines.
fn lines(text: &str) -> Array {
    let words = text.lines().map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    words.filter(|line| !line.is_empty()).collect()
}

/// The text with the hosts and pairs of these files' texts in place of the files; hosts that are given
/// replace those that it has.
pub fn with_hosts(text: &str, hosts: Option<&str>, pairs: Option<&str>) -> Result<String, Invalid> {
    check_text(text, STUDY_BYTES)?;
    let mut document: DocumentMut = text
        .parse()
        .map_err(|_| Invalid("it is not TOML".to_owned()))?;
    let mesh = document.get_mut("mesh").and_then(Item::as_table_like_mut);
    let mesh =
        mesh.ok_or_else(|| Invalid("it has no [mesh]; hosts are for the pairs of one".to_owned()))?;
    if let Some(hosts) = hosts {
        mesh.remove("file");
        mesh.insert("hosts", value(lines(hosts)));
    }
    if let Some(pairs) = pairs {
        mesh.insert("pairs", value(lines(pairs)));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_a_part_of_the_text() {
        let text =
            "title = \"x\"\n[mesh]\nfile = \"hosts\" # all\npairs = \"p\"\n[run]\nblocks = 1\n";
        let files = MeshFiles::of(text).expect("a mesh");
        assert_eq!(
            (files.hosts.as_deref(), files.pairs.as_deref()),
            (Some("hosts"), Some("p"))
        );
        let whole =
            with_hosts(text, Some("# two\n a\n\nb # one\n"), Some("a  b\n")).expect("a mesh");
        assert!(whole.contains("hosts = [\"a\", \"b\"]"), "{whole}");
        assert!(whole.contains("pairs = [\"a b\"]") && !whole.contains("file"));
        assert_eq!(MeshFiles::of(&whole), Some(MeshFiles::default()));
        assert!(with_hosts("title = \"x\"", None, None).is_err());
        assert_eq!(MeshFiles::of("title = 1"), None);
    }
}
