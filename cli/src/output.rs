//! Writes results, documents and errors.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use necklace::error::{BuildError, shown};
use tempfile::{Builder, NamedTempFile};

/// The reason for a nonzero exit status.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is invalid: exit status 2.
    Usage(String),
    /// A schedule is wrong, or an operation failed: exit status 1.
    Failed(String),
    /// The reader of standard output has closed it: exit status 1, without a message.
    Closed,
}

impl Failure {
    /// Returns the failure of an operation on the file or object `name`, with all sources of the
    /// error.
    pub(crate) fn of(name: &str, error: &dyn Error) -> Self {
        let mut message = format!("{}: {error}", shown(name));
        let mut source = error.source();
        while let Some(error) = source {
            message.push_str(&format!(": {error}"));
            source = error.source();
        }
        Self::Failed(message)
    }

    /// Prints the error and returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        // An error on standard error cannot be reported.
        let mut stderr = io::stderr().lock();
        match self {
            Self::Usage(message) => {
                let _ = writeln!(stderr, "error: {message}\n\nFor more information, try '--help'.");
                ExitCode::from(2)
            }
            Self::Failed(message) => {
                let _ = writeln!(stderr, "error: {message}");
                ExitCode::FAILURE
            }
            Self::Closed => ExitCode::FAILURE,
        }
    }
}

/// A schedule that cannot be built is a usage error.
impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Returns whether a path is `-`, which stands for standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Fails if two outputs name the same file, because the second document would overwrite the first.
pub(crate) fn apart(outputs: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let asked: Vec<(&str, &Path)> = outputs.iter().filter_map(|&(option, path)| Some((option, path?))).collect();
    for (at, (option, path)) in asked.iter().enumerate() {
        if let Some((other, first)) = asked[..at].iter().find(|(_, first)| place(first) == place(path)) {
            let what = if is_standard(path) { "standard output" } else { "the same file" };
            let (first, path) = (first.to_string_lossy(), path.to_string_lossy());
            let (first, path) = (shown(&first), shown(&path));
            return Err(Failure::Usage(format!(
                "{other} {first} and {option} {path} both write to {what}; name different files"
            )));
        }
    }
    Ok(())
}

/// Returns the canonical path of an output, which need not exist yet.
fn place(path: &Path) -> PathBuf {
    let there = |name| fs::canonicalize(beside(path)).map(|directory| directory.join(name)).ok();
    let found = if is_standard(path) { None } else { fs::canonicalize(path).ok() };
    found.or_else(|| path.file_name().filter(|_| !is_standard(path)).and_then(there)).unwrap_or(path.to_owned())
}

/// Returns the directory of a file.
fn beside(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Prints a result. A closed pipe is not an error, because the exit status still holds the result.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::of("standard output", &error)),
        _ => Ok(()),
    }
}

/// A document that is being written. Standard output receives it piece by piece; a file appears
/// only when complete.
pub(crate) struct Document {
    out: BufWriter<Out>,
    name: String,
}

enum Out {
    Standard(io::StdoutLock<'static>),
    /// A device or a pipe, which cannot be replaced by a file.
    Stream(File),
    Draft(Draft),
}

impl Document {
    const BUFFER: usize = 1 << 18;

    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let (out, name) = if is_standard(path) {
            (Ok(Out::Standard(io::stdout().lock())), "standard output".to_owned())
        } else {
            (Out::create(path), path.display().to_string())
        };
        let out = out.map_err(|error| Failure::of(&name, &error))?;
        Ok(Self { out: BufWriter::with_capacity(Self::BUFFER, out), name })
    }

    /// Returns the name for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes the whole document and commits it.
    pub(crate) fn fill(mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<(), Failure> {
        write(&mut self).map_err(|error| write_failure(&self.name, &error))?;
        self.keep()
    }

    /// Commits a complete document.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let Self { out, name } = self;
        let kept = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|out| match out {
            Out::Draft(draft) => draft.keep(),
            Out::Standard(_) | Out::Stream(_) => Ok(()),
        });
        kept.map_err(|error| write_failure(&name, &error))
    }
}

/// Returns the failure for a write error. A closed pipe fails without a message.
pub(crate) fn write_failure(name: &str, error: &io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe { Failure::Closed } else { Failure::of(name, error) }
}

impl Write for Document {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Out {
    fn create(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => Ok(Self::Stream(OpenOptions::new().write(true).open(path)?)),
            _ => Ok(Self::Draft(Draft::create(path)?)),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(out) => out.write(bytes),
            Self::Stream(file) => file.write(bytes),
            Self::Draft(Draft { file, .. }) => file.as_file().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(out) => out.flush(),
            Self::Stream(file) => file.flush(),
            Self::Draft(Draft { file, .. }) => file.as_file().flush(),
        }
    }
}

/// A temporary file beside the target. It replaces the target when complete, and is removed
/// otherwise.
struct Draft {
    file: NamedTempFile,
    target: PathBuf,
}

impl Draft {
    fn create(target: &Path) -> io::Result<Self> {
        // The file that a link leads to is replaced, not the link.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        if target.file_name().is_none() {
            return Err(ErrorKind::IsADirectory.into());
        }
        // `File::create_new` applies the user's umask. A file of `tempfile` would be private.
        let file = Builder::new()
            .prefix(".necklace-")
            .suffix(".tmp")
            .make_in(beside(&target), |path| File::create_new(path))?;
        Ok(Self { file, target })
    }

    fn keep(self) -> io::Result<()> {
        let Self { file, target } = self;
        if let Ok(there) = fs::metadata(&target) {
            file.as_file().set_permissions(there.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(target).map(drop).map_err(|error| error.error)
    }
}
