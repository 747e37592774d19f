//! The lines of a ledger as bytes: a run of a hundred thousand calls has as many lines, and both its machine and every
//! front-end that shows it keep them in memory.
//!
//! Numbers are variable-length, seven bits a byte; a time is the difference to the previous one.

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
    #[serde(with = "crate::base64_text")]
    bytes: Vec<u8>,
    count: usize,
    /// Of the last line.
    at: Timestamp,
}

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
        EncodedLedgerIter { bytes: &self.bytes, remaining: self.count, at: Timestamp::default() }
    }
}

/// Line by line.
#[derive(Clone, Debug)]
pub(super) struct EncodedLedgerIter<'a> {
    bytes: &'a [u8],
    remaining: usize,
    at: Timestamp,
}

impl EncodedLedgerIter<'_> {
    fn next_byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
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

    #[test]
    fn a_call_takes_few_bytes() {
        let mut lines = EncodedLedger::default();
        for number in 0..1_000 {
            let usage =
                TokenUsage { prompt: 12_000, completion: 600, cached: 11_000, ..TokenUsage::default() };
            let at = Timestamp(1_700_000_000_000 + number * 5_000);
            lines.push(&LedgerLine {
                names: [1, 0, 2, 3],
                usage,
                cost_usd: Some(0.031_25),
                at,
                estimated: false,
            });
        }
        assert!(lines.bytes.len() <= 26 * 1_000, "{}", lines.bytes.len());
    }
}
