//! Starts ranks of MPI by the launcher of the library that this program is linked with.

use std::env;
use std::process::Command;

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
    command
}

/// Debian has one of each library's.
fn known() -> String {
    let version = mpi::environment::library_version().unwrap();
    let name = if version.contains("Open MPI") { "mpirun.openmpi" } else { "mpirun.mpich" };
    let found = env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(name).exists());
    if found { name } else { "mpirun" }.to_owned()
}
