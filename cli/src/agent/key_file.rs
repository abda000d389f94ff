//! Keeps the job's key in a file that only this user can read.
//!
//! The agent locks the file until it ends. The lock tells the ranks that their agent runs. Later
//! agents remove unlocked files, which belong to jobs whose cleanup was killed.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{self, Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

/// Name of the file.
pub(super) const KEY: &str = "key";

/// Start of a directory's name; sixteen hexadecimal digits follow.
const NAME: &str = "necklace-job-";

/// Minimum age of a directory that may be removed. A younger one may not be locked yet.
const YOUNG: Duration = Duration::from_secs(10);

/// The directory of the job's key, in the user's `XDG_RUNTIME_DIR` or else in the directory for
/// temporary files. Its name is chosen before it exists, because the reaper, which removes it,
/// starts first.
pub(super) struct KeyDirectory {
    directory: PathBuf,
}

/// A file with a key.
pub(super) struct KeyFile {
    pub(super) path: PathBuf,
    /// Whether the file is locked until this process ends.
    pub(super) is_locked: bool,
}

impl KeyDirectory {
    /// Chooses a random name.
    pub(super) fn place() -> io::Result<Self> {
        let mut drawn = [0; 8];
        getrandom::fill(&mut drawn).map_err(io::Error::other)?;
        let name = format!("{NAME}{:016x}", u64::from_le_bytes(drawn));
        let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| is_own(path));
        // Ranks with other working directories use this path, so it must be absolute.
        let temporary = Some(env::temp_dir()).filter(|path| !path.as_os_str().is_empty());
        let directory = own.or(temporary).unwrap_or_else(|| "/tmp".into());
        let directory = path::absolute(directory.join(name))?;
        Ok(Self { directory })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes the key. Fails if anything exists at its path, such as a link of another user.
    pub(super) fn keep(&self, key: &[u8]) -> io::Result<KeyFile> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.directory.display()));
        DirBuilder::new().mode(0o700).create(&self.directory).map_err(named)?;
        let path = self.directory.join(KEY);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = file.map_err(named)?;
        // Some file systems have no locks.
        let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        file.write_all(key).map_err(named)?;
        // The end of this process closes the file, which releases the lock.
        mem::forget(file);
        Ok(KeyFile { path, is_locked })
    }

    /// Removes the directories of agents that were killed together with their reapers and ranks.
    pub(super) fn remove_others(&self) {
        let entries = self.directory.parent().and_then(|beside| fs::read_dir(beside).ok());
        for entry in entries.into_iter().flatten().flatten() {
            if entry.path() != self.directory && is_name(&entry.file_name()) {
                remove_left(&entry.path());
            }
        }
    }
}

/// Removes a directory if it belongs to this user and not to a running agent.
fn remove_left(directory: &Path) {
    let is_old = |about: &fs::Metadata| about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > YOUNG));
    let about = fs::symlink_metadata(directory);
    if !about.is_ok_and(|about| about.is_dir() && about.uid() == user() && is_old(&about)) {
        return;
    }
    let key = directory.join(KEY);
    match File::open(&key) {
        Ok(file) if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() => {
            let _ = fs::remove_file(&key);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        _ => return,
    }
    let _ = fs::remove_dir(directory);
}

fn is_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(NAME));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Returns whether a path is an absolute path of a directory of this user.
fn is_own(path: &Path) -> bool {
    path.is_absolute() && fs::metadata(path).is_ok_and(|there| there.is_dir() && there.uid() == user())
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
