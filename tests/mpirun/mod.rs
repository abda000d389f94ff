//! Starts ranks of MPI by the launcher of the library that this program is linked with.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The variable with the launcher, if it is not the library's own `mpirun` or plain `mpirun`.
pub const MPIRUN: &str = "NECKLACE_MPIRUN";

/// Returns the command that starts this many processes; the program and its arguments are still to
/// be added.
pub fn mpirun(count: usize) -> Command {
    let mut command = Command::new(env::var(MPIRUN).unwrap_or_else(|_| known()));
    command.arg("-n").arg(count.to_string());
    // Open MPI requires these of root, and for more processes than cores.
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"] {
        command.env(name, "1");
    }
    command.env("OMPI_MCA_hwloc_base_binding_policy", "none");
    let directory = own_directory();
    for name in ["OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"] {
        command.env(name, &directory);
    }
    command
}

/// Creates a directory for the files of one launcher. In a common one, a launcher of Open MPI that
/// ends removes what another is about to use.
fn own_directory() -> PathBuf {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static TIDY: Once = Once::new();
    let all = env::temp_dir().join("necklace-mpirun");
    TIDY.call_once(|| remove_left(&all));
    let own = all.join(format!("{}.{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed)));
    fs::create_dir_all(&own).unwrap();
    own
}

/// Removes the empty directories of processes that have ended.
fn remove_left(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.split('.').next().unwrap_or_default();
        if !Path::new("/proc").join(process).exists() {
            // Not if it has files.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Debian has one of each library's.
fn known() -> String {
    let version = mpi::environment::library_version().unwrap();
    let name = if version.contains("Open MPI") { "mpirun.openmpi" } else { "mpirun.mpich" };
    let found = env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(name).exists());
    if found { name } else { "mpirun" }.to_owned()
}
