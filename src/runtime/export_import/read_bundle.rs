//! Reading a bundle: bounded in size, and every mistake is named with its line.

use std::io::{BufRead, Read as _};

use sha2::{Digest, Sha256};

use super::bundle_format::{
    BundleFormatLine, BundleLine, BundleRow, BundleRunHeader, BundleTrailer, FORMAT, VERSION, to_hex,
};
use super::error::BundleError;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind, RunProgress};
use synthdev_engine::run_spec::MACHINE_VERSION;

/// Bytes that a bundle may have.
pub const LARGEST: u64 = 512 << 20;
/// Of its first line, so that any other large file is known at once.
const LONGEST_FIRST: u64 = 4096;
/// Characters of an id.
const ID: std::ops::RangeInclusive<usize> = 8..=64;
/// 9999-12-31: later times cannot be shown.
const LATEST: i64 = 253_402_300_799_999;

pub(super) struct RunBundle {
    pub(super) header: BundleRunHeader,
    pub(super) progress: RunProgress,
    pub(super) rows: Vec<JournalRow>,
}

/// # Errors
/// What is wrong with it, or it cannot be read.
pub(super) fn read_bundle(from: &mut dyn BufRead) -> Result<RunBundle, BundleError> {
    let mut lines =
        BundleLineReader { source: from, checksum: Sha256::new(), bytes: 0, number: 0, text: Vec::new() };
    read_format_line(&mut lines)?;
    let BundleLine::Head(head) = lines.next_line()? else {
        return Err(lines.unexpected_line_error("the head of a run"));
    };
    check_head(&head)?;
    let BundleLine::Progress(progress) = lines.next_line()? else {
        return Err(lines.unexpected_line_error("the progress of the run"));
    };
    check_time(progress.updated)?;
    let mut rows = Vec::new();
    loop {
        let before = lines.checksum.clone();
        match lines.next_line()? {
            BundleLine::Row(row) => rows.push(lines.parse_row(row)?),
            BundleLine::End(end) => {
                check_end(&end, rows.len(), &to_hex(&before.finalize()))?;
                break;
            }
            BundleLine::Head(_) | BundleLine::Progress(_) => {
                return Err(lines.unexpected_line_error("a row of the journal"));
            }
        }
    }
    if lines.read_line(1)? > 0 {
        return Err(refused_error("something follows after its end"));
    }
    Ok(RunBundle { header: head, progress: *progress, rows })
}

fn read_format_line(lines: &mut BundleLineReader<'_>) -> Result<(), BundleError> {
    const NO_BUNDLE: &str = "it is no exported run: its first line does not say so";
    lines.read_line(LONGEST_FIRST)?;
    let first: BundleFormatLine =
        serde_json::from_slice(&lines.text).map_err(|_| refused_error(NO_BUNDLE))?;
    if first.format != FORMAT {
        return Err(refused_error(NO_BUNDLE));
    }
    if first.version != VERSION || first.machine_version > MACHINE_VERSION {
        return Err(refused_error(format!(
            "it was written by {} version of the program ({}, format {})",
            if first.version < VERSION { "an older" } else { "a newer" },
            if first.program.is_empty() { "unknown" } else { &first.program },
            first.version
        )));
    }
    Ok(())
}

fn check_head(head: &BundleRunHeader) -> Result<(), BundleError> {
    let plain = |id: &RunId| {
        ID.contains(&id.0.len())
            && id.0.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    for id in std::iter::once(&head.id).chain(head.origin.iter().map(|origin| &origin.run)) {
        if !plain(id) {
            return Err(refused_error(format!("`{}` is no id of a run", shorten_text(&id.0))));
        }
    }
    if head.definition_hash.len() > 128
        || !head.definition_hash.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return Err(refused_error("the hash of its definition is no hash"));
    }
    check_time(head.started)
}

fn check_time(at: Timestamp) -> Result<(), BundleError> {
    if (0..=LATEST).contains(&at.0) { Ok(()) } else { Err(refused_error(format!("{} is no time", at.0))) }
}

fn check_end(end: &BundleTrailer, rows: usize, sum: &str) -> Result<(), BundleError> {
    if end.rows != rows {
        return Err(refused_error(format!("it should have {} rows and has {rows}", end.rows)));
    }
    if end.sha256 != sum {
        return Err(refused_error("its checksum is wrong: it was damaged or changed"));
    }
    Ok(())
}

struct BundleLineReader<'a> {
    source: &'a mut dyn BufRead,
    checksum: Sha256,
    bytes: u64,
    number: usize,
    text: Vec<u8>,
}

impl BundleLineReader<'_> {
    /// Reads the next line, at most so many bytes of it; gives its length.
    fn read_line(&mut self, most: u64) -> Result<usize, BundleError> {
        self.text.clear();
        self.number += 1;
        let most = most.min(LARGEST + 1 - self.bytes);
        let read = (&mut *self.source).take(most).read_until(b'\n', &mut self.text)?;
        self.bytes += read as u64;
        if self.bytes > LARGEST {
            return Err(refused_error(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        self.checksum.update(&self.text);
        Ok(read)
    }

    fn next_line(&mut self) -> Result<BundleLine, BundleError> {
        if self.read_line(LARGEST + 1)? == 0 {
            return Err(refused_error(format!("it ends before its end, behind line {}", self.number - 1)));
        }
        if self.text.last() != Some(&b'\n') {
            return Err(refused_error(format!("it ends in the middle of line {}", self.number)));
        }
        serde_json::from_slice(&self.text)
            .map_err(|error| refused_error(format!("its line {} cannot be read: {error}", self.number)))
    }

    fn parse_row(&self, row: BundleRow) -> Result<JournalRow, BundleError> {
        let BundleRow { kind, at, call, digest, body } = row;
        check_time(at)?;
        if kind != JournalRowKind::Input && call.is_none() {
            return Err(refused_error(format!("its line {} names no call", self.number)));
        }
        Ok(JournalRow { digest, ..JournalRow::new(kind, at, call, body.get()) })
    }

    fn unexpected_line_error(&self, wanted: &str) -> BundleError {
        refused_error(format!("its line {} should be {wanted}", self.number))
    }
}

fn shorten_text(text: &str) -> String {
    text.chars().take(64).collect()
}

fn refused_error(reason: impl Into<String>) -> BundleError {
    BundleError::Refused(reason.into())
}
