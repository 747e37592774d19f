//! Cells and records of SQLite's file format, read without trust: what does not add up is `None`.
//!
//! The format is fixed and documented (sqlite.org/fileformat2.html); nothing here is specific to our tables.

use super::pages::{DatabasePages, MAGIC};
use super::wal::read_u32;

/// A column as it is stored.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum SqliteColumnValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// Which kind of tree a page with records belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BTreeKind {
    /// Rows with a number.
    Table,
    /// Rows of a table without numbers, or of an index.
    Index,
}

/// Kind of a page that holds records, and how many; `None` for every other page.
pub(super) fn page_kind(page: &[u8]) -> Option<(BTreeKind, u16)> {
    let start = header_start(page);
    let (tree, head) = match page.get(start)? {
        0x0d => (BTreeKind::Table, 8),
        0x0a => (BTreeKind::Index, 8),
        0x02 => (BTreeKind::Index, 12),
        _ => return None,
    };
    let cells = u16::from_be_bytes([page[start + 3], page[start + 4]]);
    (start + head + 2 * usize::from(cells) <= page.len()).then_some((tree, cells))
}

/// Row number (0 where there is none) and columns of a cell.
pub(super) fn parse_cell(
    pages: &DatabasePages,
    page: &[u8],
    at: u16,
) -> Option<(i64, Vec<SqliteColumnValue>)> {
    let (tree, cells) = page_kind(page)?;
    let inner = page[0] == 0x02;
    let pointer = header_start(page) + (if inner { 12 } else { 8 }) + 2 * usize::from(at);
    if at >= cells {
        return None;
    }
    let start = usize::from(u16::from_be_bytes([page[pointer], page[pointer + 1]]));
    let mut rest = page.get(start + if inner { 4 } else { 0 }..)?;
    let length = usize::try_from(parse_varint(&mut rest)?).ok()?;
    let row = if tree == BTreeKind::Table { parse_varint(&mut rest)? } else { 0 };
    let local = local_part(tree, length, pages.size);
    let mut payload = rest.get(..local)?.to_vec();
    if local < length {
        let next = read_u32(rest.get(local..local + 4)?, 0);
        read_overflow(pages, next, length, &mut payload)?;
    }
    Some((row, parse_record(&payload)?))
}

/// In the first page the file's header comes first.
fn header_start(page: &[u8]) -> usize {
    if page.starts_with(MAGIC) { 100 } else { 0 }
}

/// Bytes of a payload that stand in the page itself.
fn local_part(tree: BTreeKind, length: usize, size: usize) -> usize {
    let most = match tree {
        BTreeKind::Table => size - 35,
        BTreeKind::Index => (size - 12) * 64 / 255 - 23,
    };
    if length <= most {
        return length;
    }
    let least = (size - 12) * 32 / 255 - 23;
    let fits = least + (length - least) % (size - 4);
    if fits <= most { fits } else { least }
}

/// The rest of a payload, from a chain of pages that ends where it must.
fn read_overflow(pages: &DatabasePages, mut next: u32, length: usize, payload: &mut Vec<u8>) -> Option<()> {
    // a damaged length would ask for more than there is
    if length / (pages.size - 4) > pages.count as usize {
        return None;
    }
    while payload.len() < length {
        if next < 2 || next > pages.count {
            return None;
        }
        let page = pages.read_page(next)?;
        let part = (length - payload.len()).min(pages.size - 4);
        payload.extend_from_slice(page.get(4..4 + part)?);
        next = read_u32(&page, 0);
    }
    (next == 0).then_some(())
}

fn parse_record(payload: &[u8]) -> Option<Vec<SqliteColumnValue>> {
    let mut rest = payload;
    let head = usize::try_from(parse_varint(&mut rest)?).ok()?;
    let mut kinds = payload.get(payload.len() - rest.len()..head)?;
    let mut body = payload.get(head..)?;
    let mut fields = Vec::new();
    while !kinds.is_empty() {
        let kind = parse_varint(&mut kinds)?;
        fields.push(parse_field(kind, &mut body)?);
    }
    body.is_empty().then_some(fields)
}

fn parse_field(kind: i64, body: &mut &[u8]) -> Option<SqliteColumnValue> {
    let length = match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        12.. => usize::try_from((kind - 12) / 2).ok()?,
        _ => return None,
    };
    let (bytes, rest) = body.split_at_checked(length)?;
    *body = rest;
    Some(match kind {
        0 => SqliteColumnValue::Null,
        8 | 9 => SqliteColumnValue::Integer(kind - 8),
        7 => SqliteColumnValue::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        1..=6 => {
            let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
            SqliteColumnValue::Integer(bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte)))
        }
        kind if kind % 2 == 0 => SqliteColumnValue::Blob(bytes.to_vec()),
        _ => SqliteColumnValue::Text(String::from_utf8(bytes.to_vec()).ok()?),
    })
}

/// Up to nine bytes, seven bits each but for the last.
fn parse_varint(rest: &mut &[u8]) -> Option<i64> {
    let mut value: u64 = 0;
    for at in 0..9 {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        if at == 8 {
            return Some((value << 8 | u64::from(*byte)).cast_signed());
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        for (bytes, value, left) in [
            (&[0x05][..], Some(5), 0),
            (&[0x81, 0x00, 0x07], Some(128), 1),
            (&[0xff; 9], Some(-1), 0),
            (&[0x80, 0x80], None, 0),
            (&[], None, 0),
        ] {
            let mut rest = bytes;
            assert_eq!(parse_varint(&mut rest), value, "{bytes:?}");
            assert_eq!(rest.len(), left, "{bytes:?}");
        }
    }

    #[test]
    fn a_record_that_does_not_add_up_is_none() {
        let sound = [4, 0, 1, 17, 0xfe, b'o', b'k'];
        let fields = vec![
            SqliteColumnValue::Null,
            SqliteColumnValue::Integer(-2),
            SqliteColumnValue::Text("ok".to_owned()),
        ];
        assert_eq!(parse_record(&sound), Some(fields));
        for broken in [&sound[..6], &[4, 0, 1, 17, 0xfe, b'o', b'k', 0], &[9, 0], &[4, 0, 10, 11], &[]] {
            assert_eq!(parse_record(broken), None, "{broken:?}");
        }
        assert_eq!(parse_record(&[2, 17, 0xff, 0xfe]), None, "no UTF-8");
    }
}
