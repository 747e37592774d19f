//! Writing a bundle, line by line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::bundle_format::{
    BundleFormatLine, BundleLine, BundleRow, BundleRunHeader, BundleTrailer, FORMAT, VERSION, to_hex,
};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::{JournalRow, RunHeader, RunProgress};
use synthdev_domain::terminal_safe;
use synthdev_engine::run_spec::MACHINE_VERSION;

const NOTE: &str =
    "a run of synthdev, to be taken in with `synthdev runs import FILE`; stored files are not in it";

/// Gives the number of bytes.
pub(super) fn write_bundle(
    header: &RunHeader,
    progress: &RunProgress,
    rows: &[JournalRow],
    program: &str,
    at: Timestamp,
    out: &mut dyn Write,
) -> io::Result<u64> {
    let mut out = ChecksumWriter { writer: out, checksum: Sha256::new(), bytes: 0 };
    out.write_line(&BundleFormatLine {
        format: FORMAT.to_owned(),
        version: VERSION,
        program: program.to_owned(),
        machine_version: MACHINE_VERSION,
        exported: Some(at),
        note: NOTE.to_owned(),
    })?;
    out.write_line(&BundleLine::Head(BundleRunHeader {
        id: header.id.clone(),
        workflow: header.workflow.clone(),
        definition_hash: header.definition_hash.clone(),
        started: header.started,
        origin: header.origin.clone(),
        isolated: header.worktree.is_some(),
        spec: to_raw_json(&header.spec)?,
    }))?;
    out.write_line(&BundleLine::Progress(Box::new(progress.clone())))?;
    for row in rows {
        let JournalRow { kind, at, call, digest, .. } = *row;
        out.write_line(&BundleLine::Row(BundleRow {
            kind,
            at,
            call,
            digest,
            body: to_raw_json(&row.body)?,
        }))?;
    }
    let sha256 = to_hex(&out.checksum.clone().finalize());
    out.write_line(&BundleLine::End(BundleTrailer { rows: rows.len(), sha256 }))?;
    out.writer.flush()?;
    Ok(out.bytes)
}

/// JSON text as it is. A line of a bundle has no line breaks, so text that has some is written anew.
fn to_raw_json(text: &str) -> io::Result<Box<RawValue>> {
    if text.contains(['\n', '\r']) {
        let value: serde_json::Value = serde_json::from_str(text)?;
        return Ok(serde_json::value::to_raw_value(&value)?);
    }
    Ok(RawValue::from_string(text.to_owned())?)
}

struct ChecksumWriter<'a> {
    writer: &'a mut dyn Write,
    checksum: Sha256,
    bytes: u64,
}

impl ChecksumWriter<'_> {
    fn write_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(line)?;
        // It may be printed, and is JSON all over: its value stays what it is.
        let mut text = terminal_safe::escape_json(&text).into_owned().into_bytes();
        text.push(b'\n');
        self.checksum.update(&text);
        self.bytes += text.len() as u64;
        self.writer.write_all(&text)
    }
}
