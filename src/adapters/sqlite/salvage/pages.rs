//! A database as numbered pages: the file, and over it what its log holds. Reads only.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use super::wal::{USUAL_SIZE, WalFrames, is_page_size, read_u32};
use crate::sqlite::wal_sync;

/// How a database begins.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

/// The pages of a database that may be damaged.
pub(super) struct DatabasePages {
    file: Option<File>,
    log: WalFrames,
    pub(super) size: usize,
    /// Pages that there are.
    pub(super) count: u32,
    /// Pages that hold nothing any more: what was removed must not come back.
    free_pages: BTreeSet<u32>,
    /// What is missing of the whole, for people.
    pub(super) notes: Vec<String>,
    last_page: RefCell<(u32, Rc<Vec<u8>>)>,
}

impl DatabasePages {
    /// # Errors
    /// A file that is there cannot be opened or read.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = match File::open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let bytes = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|known| known.len()))?;
        let mut header = [0; 100];
        let sound = file.as_mut().is_some_and(|file| file.read_exact(&mut header).is_ok())
            && header.starts_with(MAGIC);
        let told = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            size => usize::from(size),
        };
        let told = Some(told).filter(|size| sound && is_page_size(*size));
        let log = WalFrames::read_frames(&wal_sync::wal_path(path), told)?;
        let size = told.or(log.page_size).unwrap_or(USUAL_SIZE);
        let in_file = u32::try_from(bytes.div_ceil(size as u64)).unwrap_or(u32::MAX);
        let in_log = log.pages.keys().copied().max().unwrap_or(0);
        let last = RefCell::new((0, Rc::default()));
        let count = in_file.max(in_log);
        let mut pages =
            Self { file, log, size, count, free_pages: BTreeSet::new(), notes: Vec::new(), last_page: last };
        pages.note_damage(bytes);
        Ok(pages)
    }

    /// `None` if it cannot be read; what the file does not hold in full is filled with zeros.
    pub(super) fn read_page(&self, number: u32) -> Option<Rc<Vec<u8>>> {
        if self.last_page.borrow().0 == number {
            return Some(Rc::clone(&self.last_page.borrow().1));
        }
        let (file, at) = match self.log.pages.get(&number) {
            Some(at) => (self.log.file.as_ref()?, *at),
            None => (self.file.as_ref()?, u64::from(number.checked_sub(1)?) * self.size as u64),
        };
        let mut bytes = Vec::with_capacity(self.size);
        let mut from: &File = file;
        from.seek(SeekFrom::Start(at)).ok()?;
        from.take(self.size as u64).read_to_end(&mut bytes).ok()?;
        bytes.resize(self.size, 0);
        let page = Rc::new(bytes);
        *self.last_page.borrow_mut() = (number, Rc::clone(&page));
        Some(page)
    }

    /// Numbers of the pages that may hold rows of ours.
    pub(super) fn with_rows(&self) -> impl Iterator<Item = u32> + '_ {
        (1..=self.count).filter(|number| !self.free_pages.contains(number))
    }

    fn note_damage(&mut self, bytes: u64) {
        let first = self.read_page(1);
        let header = first.as_ref().filter(|page| page.starts_with(MAGIC));
        if self.log.header_invalid {
            self.notes.push("the log's beginning is damaged".to_owned());
        }
        if self.log.broken_frames > 0 {
            self.notes.push(format!("{} pages of the log cannot be read", self.log.broken_frames));
        }
        let Some(header) = header else {
            self.notes.push(match bytes {
                0 => "the file is empty".to_owned(),
                _ => "the beginning of the file is damaged: runs that were removed may be back".to_owned(),
            });
            return;
        };
        let whole = read_u32(header, 28);
        if whole > self.count {
            self.notes.push(format!("the file ends at page {} of {whole}", self.count));
        }
        if !self.find_free(read_u32(header, 32)) {
            self.notes
                .push("the list of free pages is damaged: runs that were removed may be back".to_owned());
        }
    }

    /// Follows the list of free pages; `false` if it leads nowhere.
    fn find_free(&mut self, mut trunk: u32) -> bool {
        while trunk != 0 {
            let Some(page) = self.read_page(trunk).filter(|_| trunk <= self.count) else { return false };
            let held = read_u32(&page, 4) as usize;
            if held > self.size / 4 - 2 || !self.free_pages.insert(trunk) {
                return false;
            }
            self.free_pages.extend((0..held).map(|at| read_u32(&page, 8 + 4 * at)));
            trunk = read_u32(&page, 0);
        }
        true
    }
}
