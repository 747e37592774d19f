//! The lines of a ledger as bytes: a run of a hundred thousand calls has as many lines, and both its machine and every
//! front-end that shows it keep them in memory.
//!
//! Numbers are variable-length, seven bits a byte; a time is the difference to the previous one. Old lines are compressed
//! in chunks, which a copy shares and a stored state takes as they are.

use std::slice;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::token_usage::TokenUsage;
use crate::ids::Timestamp;

/// An entry with the places of its names: agent, role, state, model.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct LedgerLine {
    pub(super) names: [u32; 4],
    pub(super) usage: TokenUsage,
    pub(super) cost_usd: Option<f64>,
    pub(super) at: Timestamp,
    pub(super) estimated: bool,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct EncodedLedger {
    /// The lines before `bytes`.
    chunks: Vec<Arc<LedgerChunk>>,
    #[serde(with = "crate::base64_text")]
    bytes: Vec<u8>,
    /// Of all lines.
    count: usize,
    /// Of the lines in chunks.
    compressed_count: usize,
    /// Of the last line.
    at: Timestamp,
}

/// Whole lines, compressed.
#[derive(PartialEq, Debug, Serialize, Deserialize)]
struct LedgerChunk {
    #[serde(with = "crate::base64_text")]
    bytes: Vec<u8>,
    count: usize,
    /// Of the last line.
    at: Timestamp,
}

/// Bytes of lines that become a chunk: about a thousand lines, which take half a millisecond.
const CHUNK_BYTES: usize = 32 << 10;
/// The quickest.
const LEVEL: u8 = 1;

const ESTIMATED: u8 = 1;
const PRICED: u8 = 2;

impl EncodedLedger {
    pub(super) fn push(&mut self, line: &LedgerLine) {
        let flags =
            if line.estimated { ESTIMATED } else { 0 } | if line.cost_usd.is_some() { PRICED } else { 0 };
        self.bytes.push(flags);
        let TokenUsage { prompt, completion, cached, reasoning, written } = line.usage;
        let passed = line.at.0.wrapping_sub(self.at.0);
        // small numbers of either sign stay small
        let passed = (passed.cast_unsigned() << 1) ^ (passed >> 63).cast_unsigned();
        let numbers = [prompt, completion, cached, reasoning, written, passed];
        for number in line.names.map(u64::from).into_iter().chain(numbers) {
            self.push_number(number);
        }
        if let Some(cost_usd) = line.cost_usd {
            self.bytes.extend(cost_usd.to_le_bytes());
        }
        self.count += 1;
        self.at = line.at;
        if self.bytes.len() >= CHUNK_BYTES {
            self.compress_lines();
        }
    }

    fn compress_lines(&mut self) {
        let mut bytes = miniz_oxide::deflate::compress_to_vec(&self.bytes, LEVEL);
        bytes.shrink_to_fit();
        let count = self.count - self.compressed_count;
        self.chunks.push(Arc::new(LedgerChunk { bytes, count, at: self.at }));
        self.compressed_count = self.count;
        self.bytes.clear();
    }

    fn push_number(&mut self, mut number: u64) {
        while number > 0x7f {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn iter(&self) -> EncodedLedgerIter<'_> {
        EncodedLedgerIter {
            chunks: self.chunks.iter(),
            last_lines: &self.bytes,
            bytes: Vec::new(),
            position: 0,
            chunk_remaining: 0,
            remaining: self.count,
            at: Timestamp::default(),
            chunk_end: Timestamp::default(),
        }
    }
}

/// Line by line; one chunk at a time is decompressed.
#[derive(Clone, Debug)]
pub(super) struct EncodedLedgerIter<'a> {
    chunks: slice::Iter<'a, Arc<LedgerChunk>>,
    /// Taken after the last chunk.
    last_lines: &'a [u8],
    bytes: Vec<u8>,
    /// In `bytes`.
    position: usize,
    /// Lines in `bytes`.
    chunk_remaining: usize,
    remaining: usize,
    at: Timestamp,
    /// The time of the last line in `bytes`.
    chunk_end: Timestamp,
}

impl EncodedLedgerIter<'_> {
    /// At the end of a chunk, takes the next one.
    fn next_chunk(&mut self) {
        self.position = 0;
        self.at = self.chunk_end;
        let Some(chunk) = self.chunks.next() else {
            self.bytes = std::mem::take(&mut self.last_lines).to_vec();
            self.chunk_remaining = usize::MAX;
            return;
        };
        // the lines of a damaged chunk are zeros
        self.bytes = miniz_oxide::inflate::decompress_to_vec(&chunk.bytes).unwrap_or_default();
        (self.chunk_remaining, self.chunk_end) = (chunk.count, chunk.at);
    }

    fn next_byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.position).copied().unwrap_or_default();
        self.position += 1;
        byte
    }

    fn next_number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.next_byte();
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 63 {
                return number;
            }
        }
    }

    fn next_name(&mut self) -> u32 {
        u32::try_from(self.next_number()).unwrap_or(u32::MAX)
    }
}

impl Iterator for EncodedLedgerIter<'_> {
    type Item = LedgerLine;

    fn next(&mut self) -> Option<LedgerLine> {
        self.remaining = self.remaining.checked_sub(1)?;
        if self.chunk_remaining == 0 {
            self.next_chunk();
        }
        self.chunk_remaining -= 1;
        let flags = self.next_byte();
        let names = [self.next_name(), self.next_name(), self.next_name(), self.next_name()];
        let usage = TokenUsage {
            prompt: self.next_number(),
            completion: self.next_number(),
            cached: self.next_number(),
            reasoning: self.next_number(),
            written: self.next_number(),
        };
        let passed = self.next_number();
        let passed = (passed >> 1).cast_signed() ^ -(passed & 1).cast_signed();
        self.at = Timestamp(self.at.0.wrapping_add(passed));
        let cost_usd =
            (flags & PRICED != 0).then(|| f64::from_le_bytes(std::array::from_fn(|_| self.next_byte())));
        Some(LedgerLine { names, usage, cost_usd, at: self.at, estimated: flags & ESTIMATED != 0 })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for EncodedLedgerIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let most = TokenUsage {
            prompt: u64::MAX,
            completion: 1 << 63,
            cached: 127,
            reasoning: 128,
            written: 16_384,
        };
        let rows = [
            LedgerLine::default(),
            LedgerLine { names: [0, 1, 127, 128], at: Timestamp(1_700_000_000_000), ..LedgerLine::default() },
            LedgerLine {
                names: [u32::MAX; 4],
                usage: most,
                cost_usd: Some(0.1 + 0.2),
                ..LedgerLine::default()
            },
            LedgerLine { at: Timestamp(i64::MAX), estimated: true, ..LedgerLine::default() },
            LedgerLine { at: Timestamp(i64::MIN), cost_usd: Some(-0.0), ..LedgerLine::default() },
            LedgerLine {
                at: Timestamp(-1),
                cost_usd: Some(f64::MAX),
                estimated: true,
                ..LedgerLine::default()
            },
        ];
        let mut lines = EncodedLedger::default();
        for line in &rows {
            lines.push(line);
        }
        assert_eq!((lines.len(), lines.iter().len()), (rows.len(), rows.len()));
        assert_eq!(lines.iter().collect::<Vec<_>>(), rows);
        assert_eq!(lines.iter().skip(4).collect::<Vec<_>>(), rows[4..]);
    }

    /// A call that differs from the one before it in every number.
    fn call(number: u32) -> LedgerLine {
        let prompt = 12_000 + u64::from(number.wrapping_mul(2_654_435_761) % 4_000);
        let completion = 600 + u64::from(number.wrapping_mul(40_503) % 300);
        LedgerLine {
            names: [1, 0, 2, 3],
            usage: TokenUsage { prompt, completion, cached: prompt - 1_000, ..TokenUsage::default() },
            cost_usd: Some(prompt as f64 * 0.000_002 + completion as f64 * 0.000_01),
            at: Timestamp(1_700_000_000_000 + i64::from(number) * 5_000),
            estimated: false,
        }
    }

    #[test]
    fn a_call_takes_few_bytes() {
        let mut lines = EncodedLedger::default();
        (0..1_000).for_each(|number| lines.push(&call(number)));
        assert!(lines.bytes.len() <= 26 * 1_000, "{}", lines.bytes.len());
    }

    #[test]
    fn old_lines_are_compressed_and_come_back() {
        let rows: Vec<LedgerLine> = (0..10_000).map(call).collect();
        let mut lines = EncodedLedger::default();
        let mut early = EncodedLedger::default();
        for (number, line) in rows.iter().enumerate() {
            if number == 3_000 {
                early = lines.clone();
            }
            lines.push(line);
        }
        assert!(lines.chunks.len() > 5 && lines.bytes.len() < CHUNK_BYTES);
        let stored = serde_json::to_string(&lines).unwrap();
        assert!(stored.len() < 22 * rows.len(), "{}", stored.len());
        let read: EncodedLedger = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, lines);
        assert_eq!(read.iter().collect::<Vec<_>>(), rows);
        assert_eq!(lines.iter().skip(9_000).collect::<Vec<_>>(), rows[9_000..]);
        assert_eq!(early.iter().collect::<Vec<_>>(), rows[..3_000]);
    }

    #[test]
    fn a_damaged_chunk_costs_its_own_lines_alone() {
        let rows: Vec<LedgerLine> = (0..3_000).map(call).collect();
        let mut lines = EncodedLedger::default();
        rows.iter().for_each(|line| lines.push(line));
        let LedgerChunk { count, at, .. } = *lines.chunks[0];
        lines.chunks[0] = Arc::new(LedgerChunk { bytes: vec![0xff; 9], count, at });
        let read: Vec<LedgerLine> = lines.iter().collect();
        assert!(count > 1_000 && read[..count].iter().all(|line| line.usage == TokenUsage::default()));
        assert_eq!(read[count..], rows[count..]);
    }
}
