//! How ranks of MPI are started: by the launcher that belongs to the library which this program is
//! linked with.

use std::env;
use std::process::Command;

/// What starts them, where it is not the `mpirun` that goes by the library's name, or just
/// `mpirun`.
pub const MPIRUN: &str = "NECKLACE_MPIRUN";

/// What starts so many processes; the program with its arguments is still to be added.
pub fn mpirun(count: usize) -> Command {
    let mut command = Command::new(env::var(MPIRUN).unwrap_or_else(|_| known()));
    command.arg("-n").arg(count.to_string());
    // What Open MPI asks of root, and of who starts more processes than there are cores.
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
