//! Ends a rank whose launcher is gone.
//!
//! On every host, `necklace run` locks the key file as long as it runs there. Usually the launcher
//! or its reaper ends the ranks. If both are killed at once, the lock is released. Then each rank
//! removes the key and ends itself and its process group, even if it is about to return because
//! another rank has ended.

use std::cell::Cell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::abort;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};
#[cfg(target_os = "linux")]
use rustix::process::{parent_process_death_signal, set_parent_process_death_signal};

/// Time for the reaper, if it lives, to end the rank before this process removes the key.
const REAPER: Duration = Duration::from_millis(300);

thread_local! {
    /// Dropped when the thread that has joined the job ends or exits the process.
    static AT_EXIT: Cell<Option<AtExit>> = const { Cell::new(None) };
}

/// Clears up when dropped, if the launcher is gone by then.
struct AtExit {
    file: Arc<File>,
    key: PathBuf,
}

impl Drop for AtExit {
    fn drop(&mut self) {
        if flock(&*self.file, FlockOperation::NonBlockingLockShared).is_ok() {
            thread::sleep(REAPER);
            clear_up(&self.key);
        }
    }
}

/// The name of the rendezvous file that a program which starts itself has beside the key.
pub(super) const ROOT: &str = "root";

/// Ends this process when its launcher, which has locked that file, is gone. Does nothing if the
/// lock cannot be watched, unless the launcher `is_here`, on this host.
pub(super) fn end_with_launcher(key: &Path, is_here: bool) {
    let Ok(file) = File::open(key) else {
        // Another process, which has found that the launcher is gone, has removed the key.
        if is_here {
            clear_up(key);
        }
        return;
    };
    // Some network file systems do not show the lock. Then nothing is known about its holder.
    if flock(&file, FlockOperation::NonBlockingLockShared) != Err(Errno::WOULDBLOCK) {
        if is_here {
            clear_up(key);
        }
        return;
    }
    let file = Arc::new(file);
    AT_EXIT.set(Some(AtExit { file: Arc::clone(&file), key: key.to_owned() }));
    let key = key.to_owned();
    let watch = move || {
        loop {
            match flock(&*file, FlockOperation::LockShared) {
                Ok(()) => break,
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
        thread::sleep(REAPER);
        clear_up(&key);
    };
    // If the system killed this process when its parent ends, it could not remove the key. With
    // SIGCONT instead, it can, even if it is stopped.
    #[cfg(target_os = "linux")]
    let signal = parent_process_death_signal().ok().flatten();
    #[cfg(target_os = "linux")]
    if matches!(signal, None | Some(Signal::KILL)) {
        let _ = set_parent_process_death_signal(Some(Signal::CONT));
    }
    let watched = thread::Builder::new().name("necklace-launcher".to_owned()).stack_size(1 << 17).spawn(watch);
    #[cfg(target_os = "linux")]
    if watched.is_err() {
        let _ = set_parent_process_death_signal(signal);
    }
    #[cfg(not(target_os = "linux"))]
    drop(watched);
}

/// Removes the key and kills the process group.
fn clear_up(key: &Path) {
    let _ = fs::remove_file(key);
    if let Some(directory) = key.parent() {
        // With its drafts, whose names begin so too. The directory holds nothing else.
        let is_rendezvous =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(ROOT.as_bytes()));
        let beside = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        for file in beside.filter(is_rendezvous) {
            let _ = fs::remove_file(file);
        }
        let _ = fs::remove_dir(directory);
    }
    // This kills this process as well.
    let _ = kill_current_process_group(Signal::KILL);
    abort();
}
