//! Scripts that are written without spaces between words: for a search each of their characters is a word.

/// Chinese characters, kana and their half-width forms.
pub fn is_cjk_letter(c: char) -> bool {
    matches!(
        u32::from(c),
        0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF
            | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9D | 0x2_0000..=0x3_FFFD
    )
}
