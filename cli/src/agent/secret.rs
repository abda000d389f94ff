//! The job's key, in a file that nobody else on the machine can read.

use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{self, Path, PathBuf};

/// The file's name.
pub(super) const KEY: &str = "key";

/// A directory of the job's own, in the user's `XDG_RUNTIME_DIR` or else in that for temporary files. It is the guard's to
/// remove, so its name is there before it is.
pub(super) struct Secret {
    directory: PathBuf,
}

impl Secret {
    /// Thinks of a name.
    pub(super) fn place() -> io::Result<Self> {
        let mut drawn = [0; 8];
        getrandom::fill(&mut drawn).map_err(io::Error::other)?;
        let name = format!("necklace-{:016x}", u64::from_le_bytes(drawn));
        let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| is_own(path));
        // Who is told of it works in other directories.
        let temporary = Some(env::temp_dir()).filter(|path| !path.as_os_str().is_empty());
        let directory = own.or(temporary).unwrap_or_else(|| "/tmp".into());
        let directory = path::absolute(directory.join(name))?;
        Ok(Self { directory })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes the key, and returns where it is. What is there already, somebody else's link perhaps, is an error.
    pub(super) fn keep(&self, key: &[u8]) -> io::Result<PathBuf> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.directory.display()));
        DirBuilder::new().mode(0o700).create(&self.directory).map_err(named)?;
        let path = self.directory.join(KEY);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(key)).map_err(named)?;
        Ok(path)
    }
}

/// Whether that is a directory of this user's.
fn is_own(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    path.is_absolute() && fs::metadata(path).is_ok_and(|there| there.is_dir() && there.uid() == user)
}
