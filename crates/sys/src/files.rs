//! Files in places where others may write: only regular files are opened, and files are replaced atomically.

use std::fs::{File, FileType, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::ptr::NonNull;

/// Opens the regular file at `path`; its last component is not followed where it is a symbolic link.
///
/// Opening never blocks, not even on a FIFO (open(2): `O_NOFOLLOW`, `O_NONBLOCK`), and the descriptor
/// is closed on exec. `options` must not ask to truncate, which would come before the check.
///
/// # Errors
/// `InvalidInput` with a sentence where the file is not a regular one; otherwise the error of open(2).
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // Opening a device may have effects: what is known to be one is not opened.
    match std::fs::symlink_metadata(path) {
        Ok(facts) => check(facts.file_type())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = options
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a regular file for reading; symbolic links on the way to it are followed, as for a path that the user typed.
///
/// # Errors
/// As [`open_regular`].
pub fn open_regular_target(path: &Path) -> io::Result<File> {
    // An anonymous pipe of a shell has no path.
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
    Err(io::Error::new(
        ErrorKind::InvalidInput,
        format!("it is {}, not a regular file", name_of(kind)),
    ))
}

fn name_of(kind: FileType) -> &'static str {
    let names = [
        (kind.is_symlink(), "a symbolic link"),
        (kind.is_dir(), "a folder"),
        (kind.is_fifo(), "a FIFO or a pipe"),
        (kind.is_socket(), "a socket"),
        (kind.is_block_device() || kind.is_char_device(), "a device"),
    ];
    names
        .into_iter()
        .find(|(is_it, _)| *is_it)
        .map_or("something else", |(_, name)| name)
}

/// Replaces the file at `path` atomically: the content is written to a new file in the same folder, which is then renamed.
/// An existing file is kept until then, and nothing is written through a symbolic link. `mode` is that of open(2).
///
/// # Errors
/// `InvalidInput` with a sentence where `path` is not a regular file; otherwise the error of the system call. No temporary
/// file is left.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(facts) => check(facts.file_type())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Memory that programs can still take without swapping, in bytes (`MemAvailable`, kernel doc: proc,
/// 1.4); absent where the kernel does not report it.
pub fn available_memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The first bytes of a file in memory that is shared with the kernel (mmap(2)), until this is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone. Who has it reads what the kernel writes only through `&mut`.
unsafe impl Send for Mapping {}

impl Mapping {
    pub fn of(file: &OwnedFd, bytes: usize) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (null, fd) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: a new shared mapping at an address that the kernel chooses.
        let memory = unsafe { libc::mmap(null, bytes, protection, libc::MAP_SHARED, fd, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the memory that mmap(2) gave, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
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
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .expect("a FIFO");
    }

    #[test]
    fn open_regular_refuses_other_files() {
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
        assert_eq!(
            reading(&at("none")).expect_err("nothing there").kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn replace_is_atomic_and_follows_no_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        replace(&at("new"), b"first", 0o600).expect("written");
        replace(&at("new"), b"second", 0o666).expect("written");
        assert_eq!(fs::read(at("new")).expect("read"), b"second");
        fs::write(at("precious"), "precious").expect("written");
        symlink(at("precious"), at("link")).expect("linked");
        let said = replace(&at("link"), b"x", 0o666)
            .expect_err("refused")
            .to_string();
        assert!(said.contains("a symbolic link"), "{said}");
        assert_eq!(fs::read(at("precious")).expect("read"), b"precious");
        fifo(&at("fifo"));
        assert!(
            replace(&at("fifo"), b"x", 0o666).is_err()
                && replace(Path::new("/dev/null"), b"x", 0o666).is_err()
        );
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .expect("listed")
            .map(|e| e.expect("one").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["fifo", "link", "new", "precious"]);
    }
}
