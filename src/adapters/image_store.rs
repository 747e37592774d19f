//! Images that conversations refer to: files in the data directory, each named by the hash of its content, kept once however
//! often it is read. Refuses what is no image, by its first bytes, and what model servers refuse by its size.

mod image_header;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::file_io::ensure_private_directory;
use synthdev_domain::image_reference::ImageReference;

pub use image_header::read_image_header;

/// Bytes of one image.
pub const LARGEST_IMAGE: u64 = 5 * 1024 * 1024;

/// Pixels of one side.
const LONGEST_SIDE: u32 = 8_000;

/// An image that no conversation has shown for so long is removed.
const LONGEST_KEPT: Duration = Duration::from_secs(180 * 24 * 3600);

/// One that is shown is marked as used at most this often.
const MARK_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// Cheap to clone; touches nothing before the first image.
#[derive(Clone, Debug)]
pub struct ImageStore {
    directory: PathBuf,
    cleaned: Arc<Once>,
}

impl ImageStore {
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), cleaned: Arc::new(Once::new()) }
    }

    /// Keeps an image. `path`: how it is named in the text.
    ///
    /// # Errors
    /// Why it cannot be shown to a model, without its path.
    pub fn keep_image(&self, path: &str, content: &[u8]) -> Result<ImageReference, String> {
        let (format, width, height) = read_image_header(content)
            .ok_or("it is no png, jpg, webp or gif image, whatever its name says")?;
        let bytes = content.len() as u64;
        if bytes > LARGEST_IMAGE {
            return Err(format!(
                "it is an image of {bytes} bytes and the limit is {LARGEST_IMAGE} (5 MiB); make it smaller"
            ));
        }
        if width.max(height) > LONGEST_SIDE || width == 0 || height == 0 {
            return Err(format!(
                "it is an image of {width}x{height} pixels and a side may have 1 to {LONGEST_SIDE}; make it smaller"
            ));
        }
        let digest = Sha256::digest(content);
        let hash = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let image = ImageReference { path: path.to_owned(), format, width, height, bytes, hash };
        self.write_once(&image.hash, content).map_err(|error| format!("it cannot be kept: {error}"))?;
        Ok(image)
    }

    /// The content of an image; `None`: it is not kept here any more, or never was.
    pub fn load_image(&self, image: &ImageReference) -> Option<Vec<u8>> {
        let file = self.file_of(&image.hash);
        let found = file.metadata().ok().filter(|found| found.len() <= LARGEST_IMAGE)?;
        let content = fs::read(&file).ok()?;
        let age = found.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age > MARK_INTERVAL) {
            // a mark that is not set only shortens how long it is kept
            let _ = fs::File::open(&file).and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(content)
    }

    fn file_of(&self, hash: &str) -> PathBuf {
        self.directory.join(hash)
    }

    fn write_once(&self, hash: &str, content: &[u8]) -> io::Result<()> {
        ensure_private_directory(&self.directory)?;
        self.cleaned.call_once(|| remove_unused(&self.directory));
        let file = self.file_of(hash);
        if file.metadata().is_ok_and(|found| found.len() == content.len() as u64) {
            return Ok(());
        }
        // written aside first: a reader must not find a part of it
        let aside = self.directory.join(format!("{hash}.{}", uuid::Uuid::new_v4().simple()));
        let written = write_private_bytes(&aside, content).and_then(|()| fs::rename(&aside, &file));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        written
    }
}

fn write_private_bytes(path: &Path, content: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)
}

fn remove_unused(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|found| found.modified());
        let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
        if age.is_some_and(|age| age > LONGEST_KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::image_reference::ImageFormat;

    #[test]
    fn an_image_is_kept_once() {
        let directory = tempfile::tempdir().unwrap();
        let store = ImageStore::new(directory.path().join("images"));
        let content = image_header::tests::png(640, 480);
        let image = store.keep_image("a.png", &content).unwrap();
        assert_eq!((image.format, image.width, image.height), (ImageFormat::Png, 640, 480));
        let again = store.keep_image("b.png", &content).unwrap();
        assert_eq!((again.hash.as_str(), again.path.as_str()), (image.hash.as_str(), "b.png"));
        assert_eq!(fs::read_dir(directory.path().join("images")).unwrap().count(), 1);
        assert_eq!(store.load_image(&image), Some(content));
        let unknown = ImageReference { hash: "0".repeat(64), ..image };
        assert_eq!(store.load_image(&unknown), None);
    }

    #[test]
    fn what_servers_refuse_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let store = ImageStore::new(directory.path().join("images"));
        let mut large = image_header::tests::png(1, 1);
        large.resize(5 * 1024 * 1024 + 1, 0);
        for (content, why) in [
            (b"no image".to_vec(), "it is no png, jpg, webp or gif image"),
            (large, "the limit is 5242880 (5 MiB)"),
            (image_header::tests::png(8_001, 1), "8001x1 pixels"),
            (image_header::tests::png(0, 1), "0x1 pixels"),
        ] {
            let refused = store.keep_image("a.png", &content).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(!directory.path().join("images").exists());
    }
}
