//! The names of the kernel's functions, from /proc/kallsyms.

use bitcost_model::profile::{self, FUNCTION_BYTES_MAX};

use super::allowed::{lacks, setting};
use crate::refusal::Refusal;

pub const UNKNOWN: &str = "[unknown]";

/// The longest function: an address farther from the nearest name is of something without a name.
const LONGEST_BYTES: u64 = 1 << 20;

/// The kernel's functions by their addresses.
#[derive(Debug, Default)]
pub struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Reads the names of the running kernel and its modules.
    pub fn read() -> Result<Symbols, Refusal> {
        let path = "/proc/kallsyms";
        let read = std::fs::read_to_string(path);
        let symbols = Symbols::of(&read.map_err(|error| lacks(format!("{path}: {error}")))?);
        if symbols.0.is_empty() {
            let value = setting("kptr_restrict").map_or("unknown".to_owned(), |v| v.to_string());
            return Err(lacks(format!(
                "{path} hides the addresses of the kernel's functions (kernel.kptr_restrict is {value}); run bitcost as root, with: sysctl kernel.kptr_restrict=0"
            )));
        }
        Ok(symbols)
    }

    /// The functions of such a text. Lines that name none are skipped.
    pub fn of(text: &str) -> Symbols {
        let mut functions: Vec<_> = text.lines().filter_map(function).collect();
        functions.sort_unstable();
        functions.dedup_by_key(|(address, ..)| *address);
        let functions = functions.into_iter();
        Symbols(
            functions
                .map(|(at, _, name)| (at, name.to_owned()))
                .collect(),
        )
    }

    /// The name of the function at an address.
    pub fn name(&self, address: u64) -> &str {
        let after = self.0.partition_point(|(at, _)| *at <= address);
        match self.0[..after].last() {
            Some((at, name)) if address - at < LONGEST_BYTES => name,
            _ => UNKNOWN,
        }
    }
}

/// Address, rank and name of the function in a line `ADDRESS TYPE NAME [MODULE]`.
fn function(line: &str) -> Option<(u64, (bool, usize), &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_function = matches!(words.next()?, "t" | "T" | "w" | "W");
    let name = words.next()?;
    let name = name.get(..FUNCTION_BYTES_MAX).unwrap_or(name);
    // Room for patches before a function (CONFIG_PREFIX_SYMBOLS).
    let is_frame = is_function && !name.starts_with("__pfx_") && profile::is_function(name);
    (address != 0 && is_frame).then_some((address, rank(name), name))
}

/// Which of several names of an address is kept: one without underscores and marks of the linker.
fn rank(name: &str) -> (bool, usize) {
    let underscores = name.len() - name.trim_start_matches('_').len();
    let is_mark = ["_text", "_stext", "_start", "_end"]
        .iter()
        .any(|end| name.ends_with(end));
    (is_mark, underscores)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000000 t first
ffffffff81000100 t tcp_ack.part.0
ffffffff81000200 t __pfx_udp_sendmsg
ffffffff81000210 T udp_sendmsg
ffffffff81000300 D not_a_function
not a line
ffffffff81000400 T
ffffffffc0000000 t veth_xmit.constprop.0.isra.3\t[veth]
";

    #[test]
    fn an_address_has_the_name_of_the_function_that_it_is_in() {
        let symbols = Symbols::of(TEXT);
        for (address, name) in [
            (0x10, UNKNOWN),
            (0xffff_ffff_8100_0000, "first"),
            (0xffff_ffff_8100_01ff, "tcp_ack.part.0"),
            (0xffff_ffff_8100_0208, "tcp_ack.part.0"),
            (0xffff_ffff_8100_0400, "udp_sendmsg"),
            (0xffff_ffff_8900_0000, UNKNOWN),
            (0xffff_ffff_c000_0010, "veth_xmit.constprop.0.isra.3"),
        ] {
            assert_eq!(symbols.name(address), name, "{address:x}");
        }
    }

    #[test]
    fn hidden_addresses_are_no_functions() {
        let hidden = "0000000000000000 T tcp_sendmsg\n0000000000000000 T udp_sendmsg\n";
        assert!(Symbols::of(hidden).0.is_empty());
        assert_eq!(Symbols::default().name(1), UNKNOWN);
    }
}
