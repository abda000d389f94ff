//! What leaves the program: text, documents, failures.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use necklace::error::{BuildError, shown};
use tempfile::{Builder, NamedTempFile};

/// Why the program does not end with 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for something that cannot be.
    Usage(String),
    /// A schedule is wrong, or something failed.
    Failed(String),
    /// Whoever reads standard output wants no more of it.
    Closed,
}

impl Failure {
    /// Something failed with that file, or with what stands in its place.
    pub(crate) fn of(name: &str, error: &dyn Error) -> Self {
        let mut message = format!("{}: {error}", shown(name));
        let mut source = error.source();
        while let Some(error) = source {
            message.push_str(&format!(": {error}"));
            source = error.source();
        }
        Self::Failed(message)
    }

    /// Tells standard error.
    pub(crate) fn report(&self) -> ExitCode {
        // Nobody can be told that standard error does not work.
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

/// What cannot be built was asked for wrongly.
impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Whether a file's name stands for standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses two outputs to one place, where the first document would be lost.
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

/// What a file's name leads to, whether there is a file yet or not.
fn place(path: &Path) -> PathBuf {
    let there = |name| fs::canonicalize(beside(path)).map(|directory| directory.join(name)).ok();
    let found = if is_standard(path) { None } else { fs::canonicalize(path).ok() };
    found.or_else(|| path.file_name().filter(|_| !is_standard(path)).and_then(there)).unwrap_or(path.to_owned())
}

/// The directory of a file.
fn beside(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Prints a result. If nobody reads it, that is no failure: the verdict stands.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::of("standard output", &error)),
        _ => Ok(()),
    }
}

/// A document under way: to standard output as it comes, to a file all of it or nothing.
pub(crate) struct Document {
    out: BufWriter<Out>,
    name: String,
}

enum Out {
    Standard(io::StdoutLock<'static>),
    /// A device or a pipe, which nothing can be put in place of.
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

    /// How it is called in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes all of it, and lets it appear.
    pub(crate) fn fill(mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<(), Failure> {
        write(&mut self).map_err(|error| write_failure(&self.name, &error))?;
        self.keep()
    }

    /// The document is complete: lets it appear.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let Self { out, name } = self;
        let kept = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|out| match out {
            Out::Draft(draft) => draft.keep(),
            Out::Standard(_) | Out::Stream(_) => Ok(()),
        });
        kept.map_err(|error| write_failure(&name, &error))
    }
}

/// Writing a document failed. An incomplete one is a failure, but a reader who left knows.
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

/// A file beside the one that is meant, which takes its place once it is complete and is removed otherwise.
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
        // Made as any file, so that others may read it as far as the user lets them.
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
