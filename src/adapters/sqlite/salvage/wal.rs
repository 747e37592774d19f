//! The write-ahead log as bytes: which pages it holds, also behind a damaged place.
//!
//! SQLite stops at the first frame whose checksum is wrong. Here every frame is judged by itself, with the checksum
//! that the frame before it carries, so one damaged frame costs one page.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;
/// Page size of the files that this program makes.
pub(super) const USUAL_SIZE: usize = 4096;

/// What a log holds.
pub(super) struct WalFrames {
    pub(super) file: Option<File>,
    pub(super) page_size: Option<usize>,
    /// Where the newest committed form of a page begins.
    pub(super) pages: HashMap<u32, u64>,
    /// Frames that could not be read although later ones could.
    pub(super) broken_frames: usize,
    /// The first 32 bytes make no sense.
    pub(super) header_invalid: bool,
}

impl WalFrames {
    /// A missing log is an empty one.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub(super) fn read_frames(path: &Path, page_size: Option<usize>) -> io::Result<Self> {
        let mut log = Self {
            file: None,
            page_size: None,
            pages: HashMap::new(),
            broken_frames: 0,
            header_invalid: false,
        };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(log),
            Err(error) => return Err(error),
        };
        let mut header = [0; HEADER];
        if file.read_exact(&mut header).is_err() {
            return Ok(log);
        }
        let sound = is_header(&header);
        log.header_invalid = !sound;
        let told = usize::try_from(read_u32(&header, 8)).ok().filter(|size| is_page_size(*size));
        log.page_size = told.filter(|_| sound).or(page_size).or(told);
        let size = log.page_size.unwrap_or(USUAL_SIZE);
        log.walk_frames(&mut file, &header, sound, size)?;
        log.file = Some(file);
        Ok(log)
    }

    fn walk_frames(&mut self, file: &mut File, header: &[u8], sound: bool, size: usize) -> io::Result<()> {
        let big = read_u32(header, 0) == MAGIC | 1;
        let mut salts: Option<Vec<u8>> = sound.then(|| header[16..24].to_vec());
        let mut before: Vec<u8> = header[24..32].to_vec();
        let (mut open, mut skipped): (HashMap<u32, u64>, usize) = (HashMap::new(), 0);
        let mut frame = vec![0; FRAME + size];
        let mut at = HEADER as u64;
        file.seek(SeekFrom::Start(at))?;
        while file.read_exact(&mut frame).is_ok() {
            let expected = salts.get_or_insert_with(|| frame[8..16].to_vec());
            // a frame of an earlier use of the file has other salts
            let ours = frame[8..16] == expected[..];
            if ours && is_sound(&before, &frame, big) {
                self.broken_frames += std::mem::take(&mut skipped);
                open.insert(read_u32(&frame, 0), at + FRAME as u64);
                if read_u32(&frame, 4) > 0 {
                    self.pages.extend(open.drain());
                }
            } else {
                skipped += 1;
            }
            before = frame[16..24].to_vec();
            at += frame.len() as u64;
        }
        Ok(())
    }
}

/// Whether the first 32 bytes of a log are what SQLite writes.
pub(in crate::sqlite) fn is_header(header: &[u8]) -> bool {
    if header.len() < HEADER || read_u32(header, 0) & !1 != MAGIC || read_u32(header, 4) != VERSION {
        return false;
    }
    let sum = wal_checksum((0, 0), &header[..24], read_u32(header, 0) & 1 == 1);
    sum == (read_u32(header, 24), read_u32(header, 28))
}

/// Whether a frame is what was written, by the eight bytes of sums that the frame before it, or the header, ends with.
pub(in crate::sqlite) fn is_sound(before: &[u8], frame: &[u8], big: bool) -> bool {
    // stored sums are big-endian, whatever the order in which words are summed up
    let start = (read_u32(before, 0), read_u32(before, 4));
    let sum = wal_checksum(wal_checksum(start, &frame[..8], big), &frame[FRAME..], big);
    sum == (read_u32(frame, 16), read_u32(frame, 20))
}

pub(super) fn is_page_size(size: usize) -> bool {
    size.is_power_of_two() && (512..=65_536).contains(&size)
}

/// Big-endian, as everything in these files.
pub(super) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    read_word(bytes, at, true)
}

/// SQLite's own sum over pairs of words.
fn wal_checksum(start: (u32, u32), bytes: &[u8], big: bool) -> (u32, u32) {
    bytes.chunks_exact(8).fold(start, |(first, second), pair| {
        let first = first.wrapping_add(read_word(pair, 0, big)).wrapping_add(second);
        (first, second.wrapping_add(read_word(pair, 4, big)).wrapping_add(first))
    })
}

fn read_word(bytes: &[u8], at: usize, big: bool) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).unwrap_or_default();
    if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}
