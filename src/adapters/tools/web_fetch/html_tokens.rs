//! Splits HTML into tags and texts, as lenient as browsers and in one pass: the time for a page grows with its length
//! only, whatever it holds. Knows no tree; unknown entities stay as they are.
//!
//! Own code, because parsers of the standard cost a megabyte of the program, and small ones take minutes for a page
//! that is made to stop them.

use std::borrow::Cow;

pub(super) enum HtmlToken<'a> {
    Start(StartTag<'a>),
    End(String),
    /// With entities replaced.
    Text(Cow<'a, str>),
}

pub(super) struct StartTag<'a> {
    /// In lower case.
    pub(super) name: String,
    pub(super) self_closing: bool,
    attributes: &'a str,
}

/// Elements whose content is text up to their end tag, and whether entities count in it.
const RAW_TEXT: [(&str, bool); 8] = [
    ("script", false),
    ("style", false),
    ("xmp", false),
    ("iframe", false),
    ("noembed", false),
    ("noframes", false),
    ("title", true),
    ("textarea", true),
];

pub(super) struct HtmlTokens<'a> {
    rest: &'a str,
    /// The element that was opened last, if its content is text.
    raw_element: Option<(&'static str, bool)>,
}

impl<'a> HtmlTokens<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { rest: html, raw_element: None }
    }

    /// Takes so many bytes.
    fn take_bytes(&mut self, count: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    /// Up to the end tag of the element; without one, the rest of the page.
    fn take_raw_text(&mut self, name: &str, has_entities: bool) -> HtmlToken<'a> {
        let is_end = |at: &usize| {
            let after = &self.rest.as_bytes()[at + 2..];
            after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
                && after
                    .get(name.len())
                    .is_none_or(|next| next.is_ascii_whitespace() || matches!(next, b'>' | b'/'))
        };
        let end = self.rest.match_indices("</").map(|(at, _)| at).find(is_end);
        let text = self.take_bytes(end.unwrap_or(self.rest.len()));
        HtmlToken::Text(if has_entities { replace_entities(text) } else { text.into() })
    }

    /// A tag, if one begins here; what is no tag for browsers is text.
    fn take_tag(&mut self) -> Option<HtmlToken<'a>> {
        let is_end = self.rest.starts_with("</");
        let begin = if is_end { 2 } else { 1 };
        if !self.rest.as_bytes().get(begin).is_some_and(u8::is_ascii_alphabetic) {
            return None;
        }
        let name_length =
            self.rest[begin..].find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/'))?;
        let name = self.rest[begin..begin + name_length].to_ascii_lowercase();
        let inside = &self.rest[begin + name_length..];
        let length = attributes_length(inside)?;
        self.take_bytes(begin + name_length + length + 1);
        if is_end {
            return Some(HtmlToken::End(name));
        }
        let attributes = &inside[..length];
        self.raw_element = RAW_TEXT.into_iter().find(|(raw, _)| *raw == name);
        let self_closing = attributes.ends_with('/');
        Some(HtmlToken::Start(StartTag { name, self_closing, attributes }))
    }

    /// Comments, declarations and processing instructions; `false`: none begins here.
    fn skip_markup(&mut self) -> bool {
        let end = if self.rest.starts_with("<!-->") {
            Some(5)
        } else if self.rest.starts_with("<!--") {
            self.rest.find("-->").map(|at| at + 3)
        } else if self.rest.starts_with("<!") || self.rest.starts_with("<?") {
            self.rest.find('>').map(|at| at + 1)
        } else if self.rest.starts_with("</")
            && self.rest[2..].starts_with(|c: char| !c.is_ascii_alphabetic())
        {
            self.rest.find('>').map(|at| at + 1)
        } else {
            return false;
        };
        self.take_bytes(end.unwrap_or(self.rest.len()));
        true
    }
}

impl<'a> Iterator for HtmlTokens<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        if let Some((name, has_entities)) = self.raw_element.take() {
            return Some(self.take_raw_text(name, has_entities));
        }
        while self.rest.starts_with('<') {
            let before = self.rest.len();
            if let Some(tag) = self.take_tag() {
                return Some(tag);
            }
            if !self.skip_markup() && self.rest.len() == before {
                let is_open_tag =
                    self.rest.as_bytes().get(1).is_some_and(|c| c.is_ascii_alphabetic() || *c == b'/');
                // a tag without its end takes the rest of the page with it; any other `<` is text
                let length = if is_open_tag { self.rest.len() } else { 1 };
                let text = self.take_bytes(length);
                return (!is_open_tag).then_some(HtmlToken::Text(text.into()));
            }
        }
        if self.rest.is_empty() {
            return None;
        }
        let text = self.take_bytes(self.rest.find('<').unwrap_or(self.rest.len()));
        Some(HtmlToken::Text(replace_entities(text)))
    }
}

/// Up to the `>` of the tag, which may stand in a quoted value before. `None`: the tag has no end.
fn attributes_length(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut is_after_equals = false;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') if is_after_equals => quote = Some(byte),
            (None, _) => {}
        }
        if !byte.is_ascii_whitespace() {
            is_after_equals = quote.is_none() && byte == b'=';
        }
    }
    None
}

impl StartTag<'_> {
    /// The value of an attribute, with entities replaced; the first of that name counts.
    pub(super) fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if rest.is_empty() {
                return None;
            }
            // a name may begin with `=`
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/');
            let name_length = rest[first..].find(is_end).map_or(rest.len(), |at| at + first);
            let (name, after) = rest.split_at(name_length);
            let after_name = after.trim_ascii_start();
            let (value, left) = match after_name.strip_prefix('=') {
                Some(value) => split_value(value.trim_ascii_start()),
                None => ("", after_name),
            };
            if name.eq_ignore_ascii_case(wanted) {
                return Some(replace_entities(value).into_owned());
            }
            rest = left;
        }
    }
}

/// A value with or without quotes, and what follows it.
fn split_value(text: &str) -> (&str, &str) {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split_once(quote).unwrap_or((&text[1..], "")),
        _ => text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len())),
    }
}

/// Longest name of an entity that is looked up.
const ENTITY_NAME: usize = 10;

fn replace_entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut pieces = text.split('&');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match read_entity(piece) {
            Some((character, length)) => {
                out.push(character);
                out.push_str(&piece[length..]);
            }
            None => {
                out.push('&');
                out.push_str(piece);
            }
        }
    }
    out.into()
}

/// The character that a text behind a `&` begins with, and how many bytes name it.
fn read_entity(text: &str) -> Option<(char, usize)> {
    if let Some(number) = text.strip_prefix('#') {
        let (digits, radix, before) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16, 2),
            None => (number, 10, 1),
        };
        let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let code = u32::from_str_radix(&digits[..length], radix).ok()?;
        let end = before + length + usize::from(digits[length..].starts_with(';'));
        return Some((numbered_character(code), end));
    }
    let length = text.bytes().take(ENTITY_NAME + 1).take_while(u8::is_ascii_alphanumeric).count();
    let (name, after) = text.split_at(length);
    // the oldest five count without a semicolon, too
    let is_closed = after.starts_with(';');
    let (_, character) = ENTITIES.into_iter().find(|(known, _)| *known == name)?;
    (is_closed || matches!(name, "amp" | "lt" | "gt" | "quot" | "nbsp"))
        .then_some((character, length + usize::from(is_closed)))
}

/// As browsers read it: what is no character is the mark for that, and numbers of the old Windows set mean its letters.
fn numbered_character(code: u32) -> char {
    let old = encoding_rs::WINDOWS_1252;
    match u8::try_from(code) {
        Ok(byte @ 0x80..=0x9f) => {
            old.decode_without_bom_handling(&[byte]).0.chars().next().unwrap_or('\u{fffd}')
        }
        _ => char::from_u32(code).filter(|c| *c != '\0').unwrap_or('\u{fffd}'),
    }
}

const ENTITIES: [(&str, char); 87] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("hellip", '…'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("bdquo", '„'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("lsaquo", '‹'),
    ("rsaquo", '›'),
    ("bull", '•'),
    ("middot", '·'),
    ("para", '¶'),
    ("sect", '§'),
    ("deg", '°'),
    ("plusmn", '±'),
    ("times", '×'),
    ("divide", '÷'),
    ("frac12", '½'),
    ("frac14", '¼'),
    ("frac34", '¾'),
    ("sup1", '¹'),
    ("sup2", '²'),
    ("sup3", '³'),
    ("micro", 'µ'),
    ("euro", '€'),
    ("pound", '£'),
    ("yen", '¥'),
    ("cent", '¢'),
    ("larr", '←'),
    ("rarr", '→'),
    ("uarr", '↑'),
    ("darr", '↓'),
    ("harr", '↔'),
    ("rArr", '⇒'),
    ("le", '≤'),
    ("ge", '≥'),
    ("ne", '≠'),
    ("minus", '−'),
    ("infin", '∞'),
    ("shy", '\u{ad}'),
    ("ensp", '\u{2002}'),
    ("emsp", '\u{2003}'),
    ("thinsp", '\u{2009}'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
    ("lbrace", '{'),
    ("rbrace", '}'),
    ("lbrack", '['),
    ("rbrack", ']'),
    ("lpar", '('),
    ("rpar", ')'),
    ("num", '#'),
    ("colon", ':'),
    ("comma", ','),
    ("excl", '!'),
    ("quest", '?'),
    ("ast", '*'),
    ("lowbar", '_'),
    ("grave", '`'),
    ("vert", '|'),
    ("bsol", '\\'),
    ("sol", '/'),
    ("percnt", '%'),
    ("dollar", '$'),
    ("auml", 'ä'),
    ("ouml", 'ö'),
    ("uuml", 'ü'),
    ("Auml", 'Ä'),
    ("Ouml", 'Ö'),
    ("Uuml", 'Ü'),
    ("szlig", 'ß'),
    ("eacute", 'é'),
    ("egrave", 'è'),
    ("ccedil", 'ç'),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(html: &str) -> String {
        let tokens = HtmlTokens::new(html).map(|token| match token {
            HtmlToken::Start(tag) => {
                let href = tag.attribute("href").map(|href| format!(" {href}")).unwrap_or_default();
                format!("<{}{}{href}>", tag.name, if tag.self_closing { "/" } else { "" })
            }
            HtmlToken::End(name) => format!("</{name}>"),
            HtmlToken::Text(text) => text.into_owned(),
        });
        tokens.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn tags_texts_and_what_only_looks_like_them() {
        for (html, expected) in [
            ("a<B>c</b >d", "a|<b>|c|</b>|d"),
            ("<a class=x HREF = '/y?a&amp;b>' data-x>t", "<a /y?a&b>>|t"),
            ("<a href=x/y>t</a>", "<a x/y>|t|</a>"),
            ("<a title=\"a href='no'\" href=yes href=late>", "<a yes>"),
            ("<br/><img />", "<br/>|<img/>"),
            ("1 < 2 <3> a<b", "1 |<| 2 |<|3> a"),
            ("<script>a<b</p></SCRIPT >t", "<script>|a<b</p>|</script>|t"),
            ("<title>a &lt; <b></title>", "<title>|a < <b>|</title>"),
            ("<style>never closed", "<style>|never closed"),
            ("<!-- > -- -->a<!doctype html><?x?></ no>b<!-->c", "a|b|c"),
            ("&lt;&#65;&#x42;&eacute;&unknown;&amp&copy &#128;&#0; a&b", "<ABé&unknown;&&copy €\u{fffd} a&b"),
            ("<p", ""),
            ("a<!-- open", "a"),
            ("é<ü>", "é|<|ü>"),
        ] {
            assert_eq!(describe(html), expected, "{html}");
        }
    }

    #[test]
    fn hostile_pages_take_no_longer_than_others() {
        for piece in [
            "<x a=\"",
            "<",
            "</",
            "<!--",
            "<script>",
            "<a href='",
            "&",
            "&#",
            "<pre>",
            "</script",
            "<title></titl",
        ] {
            let page = piece.repeat(2_000_000 / piece.len());
            let begun = std::time::Instant::now();
            let count = HtmlTokens::new(&page).count();
            assert!(begun.elapsed().as_secs() < 20, "{piece}: {count} tokens");
        }
    }
}
