//! The five ways a file's bytes are written in a call or an answer: utf8, ascii, latin1, base64, hex.
//! Refuses to lose bytes: what does not fit the chosen form is an error that names a form which does.

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileEncoding {
    #[default]
    Utf8,
    Ascii,
    Base64,
    Hex,
    Latin1,
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The argument as every tool declares it.
pub(super) fn encoding_schema(what: &str) -> Value {
    json!({"type": "string", "enum": ["utf8", "ascii", "base64", "hex", "latin1"], "default": "utf8",
        "description": format!("{what} utf8 (the default) suits almost every text; base64 and hex carry any bytes.")})
}

impl FileEncoding {
    /// Whether the form is made of lines.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Utf8 | Self::Ascii | Self::Latin1)
    }

    /// A file's bytes, as text for the model.
    pub(super) fn decode_text(self, bytes: Vec<u8>) -> Result<String, String> {
        if self.is_text() && bytes.contains(&0) {
            return Err("it is a binary file; read it with encoding base64 or hex".to_owned());
        }
        match self {
            Self::Utf8 => String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                format!("it is not valid UTF-8 (byte {at}); read it with encoding latin1, base64 or hex")
            }),
            Self::Ascii => match bytes.iter().position(|byte| !byte.is_ascii()) {
                Some(at) => Err(format!("it is not ASCII (byte {at}); read it with encoding utf8 or latin1")),
                None => Ok(bytes.into_iter().map(char::from).collect()),
            },
            Self::Latin1 => Ok(bytes.into_iter().map(char::from).collect()),
            Self::Hex => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
            Self::Base64 => Ok(to_base64(&bytes)),
        }
    }

    /// Encodes a text.
    pub(super) fn bytes(self, text: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Ascii => encode_single_byte(text, 0x7f, "ASCII"),
            Self::Latin1 => encode_single_byte(text, 0xff, "latin1"),
            Self::Hex => from_hex(text).ok_or_else(|| "it is not valid hex".to_owned()),
            Self::Base64 => from_base64(text).ok_or_else(|| "it is not valid base64".to_owned()),
        }
    }
}

fn encode_single_byte(text: &str, most: u32, name: &str) -> Result<Vec<u8>, String> {
    let byte = |c: char| u8::try_from(u32::from(c)).ok().filter(|_| u32::from(c) <= most);
    text.chars().map(|c| byte(c).ok_or_else(|| format!("`{c}` does not exist in {name}"))).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place) & 0x3f) as usize;
            text.push(if place <= group.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let letters: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let padding = letters.iter().rev().take_while(|byte| **byte == b'=').count();
    let letters = &letters[..letters.len() - padding];
    if letters.len() % 4 == 1 || padding > 2 || (padding > 0 && !(letters.len() + padding).is_multiple_of(4))
    {
        return None;
    }
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    for group in letters.chunks(4) {
        let mut bits = 0u32;
        for letter in group {
            bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|known| known == letter)?).ok()?;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(to_base64(plain.as_bytes()), coded);
            assert_eq!(from_base64(coded).as_deref(), Some(plain.as_bytes()));
        }
        for bad in ["Z", "Zg=", "Zm9v=", "Zm9*", "===="] {
            assert_eq!(from_base64(bad), None, "{bad}");
        }
        assert_eq!(from_hex("0aFF"), Some(vec![10, 255]));
        assert_eq!(from_hex("0aF"), None);
        assert!(FileEncoding::Latin1.bytes("€").is_err() && FileEncoding::Ascii.bytes("é").is_err());
    }

    proptest! {
        #[test]
        fn bytes_survive(bytes: Vec<u8>) {
            for encoding in [FileEncoding::Base64, FileEncoding::Hex] {
                let text = encoding.decode_text(bytes.clone()).unwrap();
                prop_assert_eq!(encoding.bytes(&text).unwrap(), bytes.clone());
            }
        }
    }
}
