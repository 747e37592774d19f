//! A directory of this process for what commands write to `/tmp`, and for what the layers read. Removed with it: when its last
//! user goes, or when the process ends, as a thread that still uses it is not waited for.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

/// Those of this process that are there.
static PRESENT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// How often one that cannot be removed is tried again, as what is just ending may still write to it, and how long after.
const MOST_TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

pub struct PrivateDirectory {
    path: PathBuf,
    temporary: PathBuf,
}

impl PrivateDirectory {
    /// Below the data directory, or the system's temporary one where there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create_below(data: &Path) -> io::Result<Self> {
        let base = if data.as_os_str().is_empty() { std::env::temp_dir() } else { data.join("sandbox") };
        if !base.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(&base)?;
        }
        let base = base.canonicalize()?;
        remove_leftovers(&base);
        let path = base.join(format!("{PREFIX}{}-{}", std::process::id(), Uuid::new_v4().simple()));
        let private = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        private(&path)?;
        present().insert(path.clone());
        let created = Self { temporary: path.join("tmp"), path };
        private(&created.temporary)?;
        private(&created.path.join("var-tmp"))?;
        private(&created.path.join("layer"))?;
        std::fs::write(created.path.join("layer/empty"), "")?;
        std::fs::write(created.path.join("layer/empty.json"), "{}\n")?;
        Ok(created)
    }

    /// At the end of the process.
    pub fn remove_all() {
        let mut present = present();
        std::mem::take(&mut *present).iter().for_each(|path| remove(path));
    }

    /// What outlives this process is kept here.
    pub fn base(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    pub fn temporary_path(&self) -> &Path {
        &self.temporary
    }

    pub fn second_temporary(&self) -> PathBuf {
        self.path.join("var-tmp")
    }

    /// For files that layers read and write; commands do not see it.
    pub fn layer_directory(&self) -> PathBuf {
        self.path.join("layer")
    }

    /// A file for a layer, made at its first use; commands do not see it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn layer_file(&self, name: &str, bytes: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<PathBuf> {
        let path = self.path.join("layer").join(name);
        if !path.exists() {
            let bytes = bytes()?;
            // written aside first: two commands may begin at once
            let aside = self.path.join("layer").join(format!("{name}.{}", Uuid::new_v4().simple()));
            std::fs::write(&aside, bytes)?;
            std::fs::rename(&aside, &path)?;
        }
        Ok(path)
    }

    /// An empty file to mount over files that programs read whenever they start. A device would not work: mounts have
    /// none.
    pub fn empty_file(&self, over: &Path) -> PathBuf {
        // an empty text is no JSON: a program that reads it ends
        let is_json = over.extension().is_some_and(|extension| extension == "json");
        self.path.join(if is_json { "layer/empty.json" } else { "layer/empty" })
    }

    /// A file without permissions, to mount over hidden ones.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn unreadable_file(&self) -> io::Result<PathBuf> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let path = self.layer_file("unreadable", || Ok(Vec::new()))?;
        if path.metadata()?.mode() & 0o777 != 0 {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000))?;
        }
        Ok(path)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // held until it is gone: the process must not end meanwhile
        let mut present = present();
        if present.remove(&self.path) {
            remove(&self.path);
        }
    }
}

fn present() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PRESENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A sandbox that is being made for the next command writes files here: it must not find the directory any more, and what it
/// has just written must go, too.
fn remove(path: &Path) {
    let gone = path.with_extension("gone");
    let path = if std::fs::rename(path, &gone).is_ok() { &gone } else { path };
    for _ in 0..MOST_TRIES {
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(PAUSE),
            _ => return,
        }
    }
    tracing::warn!("{} cannot be removed: the next start removes it", path.display());
}

const PREFIX: &str = "synthdev-sandbox-";

/// Of processes that were killed.
fn remove_leftovers(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        let Some((pid, _)) = pid.filter(|(pid, _)| pid.parse::<u32>().is_ok()) else { continue };
        if Path::new("/proc/self").exists() && !Path::new("/proc").join(pid).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn nothing_stays_behind_while_something_still_writes() {
        let data = tempfile::tempdir().unwrap();
        let private = PrivateDirectory::create_below(data.path()).unwrap();
        let base = private.base().to_owned();
        let layer = private.layer_directory();
        let (writes, written) = mpsc::channel();
        let writer = std::thread::spawn(move || {
            let mut count = 0;
            while std::fs::write(layer.join(count.to_string()), "x").is_ok() {
                count += 1;
                let _ = writes.send(());
            }
        });
        written.iter().take(20).for_each(drop);
        drop(private);
        assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
        writer.join().unwrap();
    }
}
