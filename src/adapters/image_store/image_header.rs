//! Format and size of an image, by its first bytes.

use synthdev_domain::image_reference::ImageFormat;

/// Format, width and height; `None`: it is no image of these formats, or a broken one.
pub fn read_image_header(content: &[u8]) -> Option<(ImageFormat, u32, u32)> {
    if content.starts_with(b"\x89PNG\r\n\x1a\n") {
        let is_header = content.get(12..16)? == b"IHDR";
        let (width, height) = (number_be(content, 16)?, number_be(content, 20)?);
        return is_header.then_some((ImageFormat::Png, width, height));
    }
    if content.starts_with(b"GIF87a") || content.starts_with(b"GIF89a") {
        return Some((ImageFormat::Gif, short_le(content, 6)?, short_le(content, 8)?));
    }
    if content.starts_with(b"RIFF") && content.get(8..12)? == b"WEBP" {
        let (width, height) = webp_size(content)?;
        return Some((ImageFormat::Webp, width, height));
    }
    if content.starts_with(b"\xff\xd8\xff") {
        let (width, height) = jpeg_size(content)?;
        return Some((ImageFormat::Jpeg, width, height));
    }
    None
}

fn number_be(content: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(content.get(at..at + 4)?.try_into().ok()?))
}

fn short_be(content: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(content.get(at..at + 2)?.try_into().ok()?)))
}

fn short_le(content: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(content.get(at..at + 2)?.try_into().ok()?)))
}

/// Three bytes, the lowest first.
fn triple_le(content: &[u8], at: usize) -> Option<u32> {
    let bytes = content.get(at..at + 3)?;
    Some(u32::from(bytes[0]) | u32::from(bytes[1]) << 8 | u32::from(bytes[2]) << 16)
}

/// Of the first chunk: each kind of compression has a header of its own.
fn webp_size(content: &[u8]) -> Option<(u32, u32)> {
    match content.get(12..16)? {
        b"VP8X" => Some((triple_le(content, 24)? + 1, triple_le(content, 27)? + 1)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(content.get(21..25)?.try_into().ok()?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((short_le(content, 26)? & 0x3fff, short_le(content, 28)? & 0x3fff)),
        _ => None,
    }
}

/// From segment to segment until the one with the frame's size.
fn jpeg_size(content: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *content.get(at)? != 0xff {
            return None;
        }
        let kind = *content.get(at + 1)?;
        match kind {
            // padding, and markers without a length
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((short_be(content, at + 7)?, short_be(content, at + 5)?));
            }
            // the image itself begins, or ends, without a size before
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::try_from(short_be(content, at + 2)?).ok()?,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::image_store) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut content = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        content.extend(width.to_be_bytes());
        content.extend(height.to_be_bytes());
        content.extend(b"\x08\x02\0\0\0");
        content
    }

    #[test]
    fn formats_and_sizes() {
        let rows: [(&str, Vec<u8>, Option<ImageFormat>); 12] = [
            ("png", png(640, 480), Some(ImageFormat::Png)),
            ("a cut png", png(640, 480)[..20].to_vec(), None),
            ("gif", b"GIF89a\x80\x02\xe0\x01rest".to_vec(), Some(ImageFormat::Gif)),
            (
                "jpeg with another segment before",
                b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc2\x00\x0b\x08\x01\xe0\x02\x80rest".to_vec(),
                Some(ImageFormat::Jpeg),
            ),
            ("a jpeg without a frame", b"\xff\xd8\xff\xda\x00\x04ab".to_vec(), None),
            ("a cut jpeg", b"\xff\xd8\xff\xe0\x00\x40ab".to_vec(), None),
            (
                "webp, lossy",
                b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\x30\x01\0\x9d\x01\x2a\x80\x02\xe0\x01".to_vec(),
                Some(ImageFormat::Webp),
            ),
            (
                "webp, lossless",
                b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x7f\xc2\x77\x00".to_vec(),
                Some(ImageFormat::Webp),
            ),
            (
                "webp, extended",
                b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\x10\0\0\0\x7f\x02\0\xdf\x01\0".to_vec(),
                Some(ImageFormat::Webp),
            ),
            ("sound in the same container", b"RIFF\0\0\0\0WAVEfmt ".to_vec(), None),
            ("a text", b"GIF is a format".to_vec(), None),
            ("nothing", Vec::new(), None),
        ];
        for (about, content, expected) in rows {
            let expected = expected.map(|format| (format, 640, 480));
            assert_eq!(read_image_header(&content), expected, "{about}");
        }
    }
}
