//! The key of a job.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::error::JoinError;
use super::system;

/// Length of the shortest key in bytes: too long to be found by trying.
const SHORTEST: usize = 16;
/// Length of the longest key, so that a wrong path is not read whole into memory.
const LONGEST: usize = 4096;

/// The key of a job: 16 to 4096 bytes, drawn at random for the job, that only its ranks know.
///
/// Both sides of a connection prove to each other that they hold it. It is never sent.
#[derive(Clone)]
pub struct Key(Arc<[u8]>);

impl Key {
    /// Returns a key of these bytes.
    ///
    /// # Errors
    ///
    /// [`JoinError::Key`] for fewer than 16 bytes or more than 4096.
    pub fn new(bytes: &[u8]) -> Result<Self, JoinError> {
        if (SHORTEST..=LONGEST).contains(&bytes.len()) {
            return Ok(Self(bytes.into()));
        }
        let found = bytes.len();
        Err(JoinError::Key { problem: format!("it has {found} bytes, it must have {SHORTEST} to {LONGEST}") })
    }

    /// Draws a key: 32 bytes from the system's random source.
    ///
    /// # Errors
    ///
    /// [`JoinError::Os`] where the system has none.
    pub fn fresh() -> Result<Self, JoinError> {
        let mut bytes = [0; 32];
        random(&mut bytes)?;
        Ok(Self(bytes.into()))
    }

    /// Reads a key from a file: all of its bytes, including a line break at the end.
    ///
    /// # Errors
    ///
    /// [`JoinError::KeyFile`] for a file that cannot be read, that other users may read or write
    /// (on Unix), or that is too short or too long.
    pub fn read(path: &Path) -> Result<Self, JoinError> {
        let wrong = |problem: String| JoinError::KeyFile { path: path.to_owned(), problem };
        let file = system::open_file(path).map_err(|error| wrong(format!("it cannot be opened: {error}")))?;
        let about = file.metadata().map_err(|error| wrong(format!("its metadata cannot be read: {error}")))?;
        private(&about).map_err(wrong)?;
        let mut bytes = Vec::new();
        let bound = LONGEST as u64 + 1;
        file.take(bound).read_to_end(&mut bytes).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        Self::new(&bytes).map_err(|_| {
            let longer = if bytes.len() > LONGEST { "more than " } else { "" };
            let found = bytes.len().min(LONGEST);
            wrong(format!("it holds {longer}{found} bytes, a key has {SHORTEST} to {LONGEST}"))
        })
    }

    /// Returns the bytes, for a launcher that passes the key on.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the key of a job without a key, which every process holds.
    pub(super) fn none() -> Self {
        Self(Arc::new([]))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Fails if any user but its owner may read or write the file.
#[cfg(unix)]
fn private(about: &std::fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(format!("other users may read or write it (its mode is {mode:03o}, expected 600 or 400)"))
}

#[cfg(not(unix))]
fn private(_: &std::fs::Metadata) -> Result<(), String> {
    Ok(())
}

/// Fills the bytes from the system's random source.
pub(super) fn random(bytes: &mut [u8]) -> Result<(), JoinError> {
    getrandom::fill(bytes).map_err(|error| JoinError::Os {
        what: "the system provides no random numbers".to_owned(),
        why: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_length_is_bounded_and_its_bytes_are_not_shown() {
        for length in [0, 15, 4097] {
            let error = Key::new(&vec![7; length]).unwrap_err();
            assert!(error.to_string().contains(&length.to_string()), "{error}");
        }
        let key = Key::new(&[7; 16]).unwrap();
        assert_eq!(format!("{key:?}"), "Key(..)");
        assert_ne!(Key::fresh().unwrap().bytes(), Key::fresh().unwrap().bytes());
    }

    #[cfg(unix)]
    #[test]
    fn key_file_that_others_may_access_is_refused() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("necklace-key-{}", std::process::id()));
        let with = |bytes: &[u8], mode| {
            let _ = fs::remove_file(&path);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Key::read(&path)
        };
        assert_eq!(with(&[3; 32], 0o600).unwrap().bytes(), [3; 32]);
        assert_eq!(with(b"0123456789abcdef\n", 0o400).unwrap().bytes(), b"0123456789abcdef\n");
        for mode in [0o640, 0o604, 0o620, 0o602] {
            let message = with(&[3; 32], mode).unwrap_err().to_string();
            assert!(message.contains(&format!("{mode:03o}")) && message.contains("necklace-key-"), "{message}");
        }
        assert!(with(&[3; 15], 0o600).unwrap_err().to_string().contains("15 bytes"));
        assert!(with(&[3; 5000], 0o600).unwrap_err().to_string().contains("more than 4096"));
        fs::remove_file(&path).unwrap();
        assert!(Key::read(&path).unwrap_err().to_string().contains("cannot be opened"));
        assert!(Key::read(&std::env::temp_dir()).unwrap_err().to_string().contains("not a regular file"));
    }
}
