//! A file without a name, for data that is too large for memory and needed again soon. It disappears with its owner,
//! however that ends.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    end: u64,
}

impl ScratchFile {
    /// In a directory of the user's; `name` exists for a moment only, and must be unique to this caller.
    ///
    /// # Errors
    /// The system's error.
    pub fn create_in(directory: &Path, name: &str) -> io::Result<Self> {
        let path = directory.join(name);
        let file = super::create_private(&path)?;
        fs::remove_file(&path)?;
        Ok(Self { file, end: 0 })
    }

    /// Appends bytes; returns their offset.
    ///
    /// # Errors
    /// The system's error: a full disk.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.end;
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(at)
    }

    /// `len` bytes from an offset on.
    ///
    /// # Errors
    /// There are fewer, or the system's error.
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
