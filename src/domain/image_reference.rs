//! Images in texts: one line stands for an image that is kept elsewhere, by the hash of its content. So a text with an image
//! is stored, trimmed, copied and shown as any other, and the image itself is kept once.

use super::terminal_safe::escape_name;

/// An image of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageReference {
    /// As the user or the model named it, for display.
    pub path: String,
    pub format: ImageFormat,
    pub width: u32,
    pub height: u32,
    pub bytes: u64,
    /// SHA-256 of the content, in lower-case hex.
    pub hash: String,
}

/// The formats that model servers read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageFormat {
    Png,
    Jpeg,
    Webp,
    Gif,
}

impl ImageFormat {
    const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Webp, Self::Gif];

    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
            Self::Gif => "gif",
        }
    }

    /// As it is named on the wire.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
        }
    }
}

/// Endings of names of images, in small letters.
const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "webp", "gif"];

/// Whether a file is named like an image.
pub fn is_image_name(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

const BEGIN: &str = "[image: ";
const SEPARATOR: &str = " · ";
const HASH: &str = "sha256:";
const HASH_LENGTH: usize = 64;
/// Characters of the path that are shown.
const LONGEST_PATH: usize = 200;

/// Servers scale an image down until its longer side has so many pixels.
const LONGEST_SIDE: u64 = 1_568;
/// Pixels of a token, as servers count them.
const PIXELS_A_TOKEN: u64 = 750;
/// What each image takes besides.
const LEAST_TOKENS: u64 = 85;

impl ImageReference {
    /// The line that stands for it.
    pub fn to_text(&self) -> String {
        let path: String = escape_name(&self.path).chars().take(LONGEST_PATH).collect();
        let size = format!("{}x{}", self.width, self.height);
        let (format, bytes) = (self.format.name(), format!("{} bytes", self.bytes));
        let parts = [path.as_str(), format, &size, &bytes];
        format!("{BEGIN}{}{SEPARATOR}{HASH}{}]", parts.join(SEPARATOR), self.hash)
    }

    /// Tokens of a prompt that it takes, rather too many than too few.
    pub fn tokens(&self) -> u64 {
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        let longest = width.max(height).max(1);
        let scaled = if longest > LONGEST_SIDE {
            let other = width.min(height) * LONGEST_SIDE / longest;
            LONGEST_SIDE * other.max(1)
        } else {
            width * height
        };
        LEAST_TOKENS + scaled.div_ceil(PIXELS_A_TOKEN)
    }

    /// What stands between the brackets.
    fn parse(inner: &str) -> Option<Self> {
        let (about, hash) = inner.rsplit_once(HASH)?;
        let about = about.strip_suffix(SEPARATOR)?;
        let is_hash = hash.len() == HASH_LENGTH
            && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let (about, bytes) = about.rsplit_once(SEPARATOR).filter(|_| is_hash)?;
        let (about, size) = about.rsplit_once(SEPARATOR)?;
        let (path, format) = about.rsplit_once(SEPARATOR)?;
        let (width, height) = size.split_once('x')?;
        Some(Self {
            path: path.to_owned(),
            format: ImageFormat::ALL.into_iter().find(|known| known.name() == format)?,
            width: width.parse().ok()?,
            height: height.parse().ok()?,
            bytes: bytes.strip_suffix(" bytes")?.parse().ok()?,
            hash: hash.to_owned(),
        })
    }
}

/// The images of a text, each with where its line ends.
pub fn find_images(text: &str) -> Vec<(usize, ImageReference)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(BEGIN) {
        let start = from + at + BEGIN.len();
        let line = &text[start..start + text[start..].find('\n').unwrap_or(text.len() - start)];
        // a path may hold brackets: the hash is what ends it
        let end = line.find(HASH).map(|hash| hash + HASH.len() + HASH_LENGTH);
        let inner = end.filter(|end| line.get(*end..).is_some_and(|rest| rest.starts_with(']')));
        match inner.and_then(|end| Some((end, ImageReference::parse(line.get(..end)?)?))) {
            Some((end, image)) => {
                from = start + end + 1;
                found.push((from, image));
            }
            None => from = start,
        }
    }
    found
}

/// Tokens of the images of a text.
pub fn image_tokens(text: &str) -> u64 {
    if !text.contains(BEGIN) {
        return 0;
    }
    find_images(text).iter().map(|(_, image)| image.tokens()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(path: &str, width: u32, height: u32) -> ImageReference {
        let (format, bytes, hash) = (ImageFormat::Png, 1_234, "0123456789abcdef".repeat(4));
        ImageReference { path: path.to_owned(), format, width, height, bytes, hash }
    }

    #[test]
    fn an_image_is_found_again_in_any_text() {
        for path in ["a.png", "with space.png", "a] b · [c.png", "[image: x.png", "sub/ü.png"] {
            let one = image(path, 640, 480);
            let text = format!("look at\n{} and {}\nwell", one.to_text(), image("b.png", 1, 2).to_text());
            let found = find_images(&text);
            let images: Vec<&ImageReference> = found.iter().map(|(_, image)| image).collect();
            assert_eq!(images, [&one, &image("b.png", 1, 2)], "{text}");
            assert!(text[..found[0].0].ends_with(&one.to_text()), "{text}");
        }
        let line = image("a.png", 640, 480).to_text();
        for broken in [
            line.replace("0123", "012"),
            line.replace("0123", "012G"),
            line.replace("png ·", "bmp ·"),
            line.replace("640x480", "640"),
            line.replace(']', ""),
            line[..line.len() - 9].to_owned(),
            line.replace("a.png", "a\nb.png"),
        ] {
            assert_eq!(find_images(&broken), [], "{broken}");
            assert_eq!(image_tokens(&broken), 0);
        }
    }

    #[test]
    fn what_an_image_takes_has_bounds() {
        for (width, height, expected) in [
            (1, 1, 86),
            (750, 100, 185),
            (1_568, 1_568, 85 + 3_279),
            (8_000, 8_000, 85 + 3_279),
            (8_000, 1, 85 + 3),
            (0, 0, 85),
        ] {
            assert_eq!(image("a.png", width, height).tokens(), expected, "{width}x{height}");
        }
    }

    #[test]
    fn names() {
        for (name, expected) in [
            ("a.png", true),
            ("b/C.JPG", true),
            ("x.webp", true),
            ("png", false),
            ("a.svg", false),
            ("a.png.txt", false),
        ] {
            assert_eq!(is_image_name(name), expected, "{name}");
        }
    }
}
