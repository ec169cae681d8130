//! Files that strangers may have put somewhere: opened only where they are regular ones, and replaced as a whole.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Temporary names that are tried beside a target.
const NAMES_TRIED: u32 = 100;

/// Opens a regular file that is at `path` itself: the last component is not followed where it is a symbolic link.
///
/// Opening never waits, also not for the other side of a FIFO (open(2): `O_NOFOLLOW`, `O_NONBLOCK`), and the descriptor
/// is closed on exec. `options` must not ask to truncate, which would come before the check.
///
/// # Errors
/// `InvalidInput` with a sentence where something else than a regular file is there; else what open(2) says.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // A device may do something when it is opened: what is known to be one is not opened at all.
    match std::fs::symlink_metadata(path) {
        Ok(facts) => check(facts.file_type())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a regular file for reading; symbolic links on the way to it are followed, as for a path that the user typed.
///
/// # Errors
/// As [`open_regular`].
pub fn open_regular_target(path: &Path) -> io::Result<File> {
    // A pipe that a shell made has no path of its own.
    let target = path.canonicalize().or_else(|error| match path.metadata() {
        Ok(facts) => check(facts.file_type()).and(Err(error)),
        Err(_) => Err(error),
    })?;
    open_regular(&target, OpenOptions::new().read(true))
}

fn check(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {}, not a regular file", name_of(kind))))
}

fn name_of(kind: FileType) -> &'static str {
    let names = [
        (kind.is_symlink(), "a symbolic link"),
        (kind.is_dir(), "a folder"),
        (kind.is_fifo(), "a FIFO or a pipe"),
        (kind.is_socket(), "a socket"),
        (kind.is_block_device() || kind.is_char_device(), "a device"),
    ];
    names.into_iter().find(|(is_it, _)| *is_it).map_or("something else", |(_, name)| name)
}

/// Makes `path` a file with this content, whole or not at all: the content is written to a new file beside it, which is then
/// renamed. A file that was there is kept until then, and nothing is written through a symbolic link.
///
/// # Errors
/// `InvalidInput` with a sentence where something else than a regular file is at `path`; else what the kernel says. No
/// temporary file is left then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(facts) => check(facts.file_type())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let (mut file, beside) = create_beside(path)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    written.and_then(|()| std::fs::rename(&beside, path)).inspect_err(|_| {
        // The error that is returned says more than one of removing could.
        let _ = std::fs::remove_file(&beside);
    })
}

/// A new, empty file in the folder of `path`, under a name that nothing had (open(2): `O_EXCL`).
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it names no file"))?;
    let pid = std::process::id();
    for number in 0..NAMES_TRIED {
        // A name may have 255 bytes; this one stays far below whatever the target's is.
        let start: String = name.to_string_lossy().chars().take(32).collect();
        let beside = path.with_file_name(format!(".{start}.{pid}-{number}.tmp"));
        let created = OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(&beside);
        match created {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (file, beside)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn reading(path: &Path) -> io::Result<File> {
        open_regular(path, OpenOptions::new().read(true))
    }

    fn fifo(path: &Path) {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "content").expect("written");
        symlink(at("file"), at("link")).expect("linked");
        fifo(&at("fifo"));
        let _socket = UnixListener::bind(at("socket")).expect("bound");
        assert!(reading(&at("file")).is_ok() && open_regular_target(&at("link")).is_ok());
        for (path, what) in [
            (at("link"), "a symbolic link"),
            (at("fifo"), "a FIFO"),
            (at("socket"), "a socket"),
            (folder.path().to_owned(), "a folder"),
            ("/dev/null".into(), "a device"),
        ] {
            let said = reading(&path).expect_err("refused").to_string();
            assert!(said.contains(what), "{path:?}: {said}");
        }
        assert!(open_regular_target(&at("fifo")).is_err());
        assert_eq!(reading(&at("none")).expect_err("nothing there").kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_never_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        replace(&at("new"), b"first").expect("written");
        replace(&at("new"), b"second").expect("written");
        assert_eq!(fs::read(at("new")).expect("read"), b"second");
        fs::write(at("precious"), "precious").expect("written");
        symlink(at("precious"), at("link")).expect("linked");
        let said = replace(&at("link"), b"x").expect_err("refused").to_string();
        assert!(said.contains("a symbolic link"), "{said}");
        assert_eq!(fs::read(at("precious")).expect("read"), b"precious");
        fifo(&at("fifo"));
        assert!(replace(&at("fifo"), b"x").is_err() && replace(Path::new("/dev/null"), b"x").is_err());
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).expect("listed").map(|e| e.expect("one").file_name()).collect();
        names.sort();
        assert_eq!(names, ["fifo", "link", "new", "precious"]);
    }
}
