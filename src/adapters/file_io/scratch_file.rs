//! A file without a name, for what is too much for memory and is wanted again soon. It is gone with its owner, however
//! that ends.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    end: u64,
}

impl ScratchFile {
    /// In a directory of the user's; `name` is taken for a moment only, and must be nobody else's.
    ///
    /// # Errors
    /// As the system says.
    pub fn create_in(directory: &Path, name: &str) -> io::Result<Self> {
        let path = directory.join(name);
        let file = super::create_private(&path)?;
        fs::remove_file(&path)?;
        Ok(Self { file, end: 0 })
    }

    /// Puts it behind all else; gives its place.
    ///
    /// # Errors
    /// As the system says: a full disk.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.end;
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(at)
    }

    /// So many bytes from a place on.
    ///
    /// # Errors
    /// There are fewer, or as the system says.
    pub fn read_bytes(&mut self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        if at.saturating_add(len as u64) > self.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; len];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
