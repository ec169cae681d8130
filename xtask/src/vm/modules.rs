//! The modules of the machine, and the names by which its kernel asks for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// The modules that labs, traffic, knobs and the devices of a machine need; a module that is built into a kernel has no file.
const WANTED: &[&str] = &[
    "veth",
    "bridge",
    "ifb",
    "macvlan",
    "tun",
    "sch_netem",
    "sch_fq",
    "sch_tbf",
    "sch_htb",
    "sch_ingress",
    "cls_matchall",
    "act_mirred",
    "tcp_bbr",
    "8021q",
    "virtio_pci",
    "virtio_net",
];

/// One module, as the machine's `modprobe` finds it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Module {
    /// The modules that must be loaded before it.
    pub needs: Vec<String>,
    /// Other names that the kernel asks for it by, such as `rtnl-link-veth`.
    pub aliases: Vec<String>,
}

/// Modules by their names.
pub type Table = BTreeMap<String, Module>;

/// The wanted modules of `folder` and what they need, each with its content.
///
/// # Errors
/// When a file cannot be read, or a needed module does not exist.
pub fn choose(folder: &Path) -> Result<Vec<(String, Module, Vec<u8>)>> {
    let mut files = BTreeMap::new();
    collect(folder, &mut files)?;
    let mut chosen: Vec<(String, Module, Vec<u8>)> = Vec::new();
    let mut open: Vec<String> = WANTED
        .iter()
        .filter(|name| files.contains_key(**name))
        .map(ToString::to_string)
        .collect();
    while let Some(name) = open.pop() {
        if chosen.iter().any(|(known, _, _)| *known == name) {
            continue;
        }
        let content = read(
            files
                .get(&name)
                .with_context(|| format!("the module {name} is not in the package"))?,
        )?;
        let module = describe(&content);
        open.extend(module.needs.iter().cloned());
        chosen.push((name, module, content));
    }
    Ok(chosen)
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if let Some((name, "ko" | "ko.xz" | "ko.zst")) = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.split_once('.'))
        {
            files.insert(plain(name), path);
        }
    }
    Ok(())
}

/// The name as the kernel shows it: `-` and `_` are equal.
pub fn plain(name: &str) -> String {
    name.replace('-', "_")
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let tool = match path.extension().and_then(|ending| ending.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return fs::read(path).with_context(|| path.display().to_string()),
    };
    let output = Command::new(tool)
        .arg("-dc")
        .arg(path)
        .output()
        .with_context(|| tool.to_owned())?;
    if !output.status.success() {
        bail!("{tool} cannot read {}", path.display());
    }
    Ok(output.stdout)
}

/// The description of a module in its file: words such as `depends=llc,stp`, each ended by a zero
/// (modinfo(8)).
fn describe(content: &[u8]) -> Module {
    let mut module = Module::default();
    for text in content
        .split(|byte| *byte == 0)
        .filter_map(|bytes| std::str::from_utf8(bytes).ok())
    {
        if let Some(needs) = text.strip_prefix("depends=") {
            module.needs = needs
                .split(',')
                .filter(|name| !name.is_empty())
                .map(plain)
                .collect();
        } else if let Some(alias) = text.strip_prefix("alias=") {
            module.aliases.push(plain(alias));
        }
    }
    module
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_says_what_it_needs_and_how_it_is_asked_for() {
        let module =
            describe(b"\x7fELF\0alias=rtnl-link-bridge\0depends=stp,llc\0\xff\xfe\0name=bridge\0");
        assert_eq!(module.needs, ["stp", "llc"]);
        assert_eq!(module.aliases, ["rtnl_link_bridge"]);
        assert!(describe(b"depends=\0").needs.is_empty());
    }
}
