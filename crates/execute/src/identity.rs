//! The identity of this program, which shows whether another host has the same build: version,
//! architecture, size and hash.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::sync::OnceLock;

use bitcost_model::Unavailable;
use bitcost_sys::process::OWN_PROGRAM;

/// The file of the running program, even if it has been removed since.
pub fn program() -> Result<File, Unavailable> {
    File::open(OWN_PROGRAM)
        .map_err(|error| Unavailable(format!("cannot read {OWN_PROGRAM}, this program: {error}")))
}

/// One line, made once: `bitcost 0.1.0 x86_64 11632144-5f0c…`.
pub fn line() -> Result<&'static str, Unavailable> {
    static LINE: OnceLock<Result<String, Unavailable>> = OnceLock::new();
    let line = LINE.get_or_init(|| {
        let (version, architecture) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
        let mut bytes = Vec::new();
        let read = program()?.read_to_end(&mut bytes);
        read.map_err(|error| Unavailable(format!("cannot read the program: {error}")))?;
        // The keys are fixed; if another build of Rust computes the hash differently, the only cost
        // is a copy.
        let mut hash = DefaultHasher::new();
        hash.write(&bytes);
        let (size, hash) = (bytes.len(), hash.finish());
        Ok(format!(
            "bitcost {version} {architecture} {size}-{hash:016x}"
        ))
    });
    line.as_deref().map_err(Clone::clone)
}

/// Whether a machine with this name from `uname -m` runs programs of this one's architecture.
pub fn runs_on(machine: &str) -> bool {
    match std::env::consts::ARCH {
        "x86" => matches!(machine, "i386" | "i486" | "i586" | "i686" | "x86_64"),
        "arm" => machine.starts_with("armv") || machine == "aarch64",
        "powerpc64" => matches!(machine, "ppc64" | "ppc64le"),
        architecture => machine == architecture,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_itself_again() {
        let line = line().unwrap();
        let size = program().unwrap().metadata().unwrap().len();
        let begin = format!(
            "bitcost {} {} {size}-",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH
        );
        assert!(line.starts_with(&begin), "{line}");
    }
}
