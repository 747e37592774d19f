//! One line around the words that were searched for, and their positions in it.

use serde::Serialize;

use synthdev_domain::word_boundaries::is_cjk_letter;

/// A part of a text, in one line.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SearchSnippet {
    #[serde(rename = "snippet")]
    pub text: String,
    /// The words in it, as positions of characters: from, and behind the last.
    pub marks: Vec<(usize, usize)>,
}

/// A word or phrase of a search, in small letters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SearchTerm {
    words: Vec<String>,
    /// The last word matches as a prefix.
    is_prefix: bool,
}

/// As the index understands what was typed: words, and phrases in quotes; of the last one the beginning is enough.
pub(super) fn parse_terms(typed: &str) -> Vec<SearchTerm> {
    let mut terms = Vec::new();
    let mut whole = true;
    for (at, piece) in typed.split('"').enumerate() {
        let pieces: Vec<&str> = if at % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() };
        if !piece.trim().is_empty() {
            whole = at % 2 == 0 && piece.ends_with(char::is_whitespace);
        }
        for piece in pieces {
            let words: Vec<String> = tokens(piece).map(|(_, word)| word).collect();
            if !words.is_empty() {
                terms.push(SearchTerm { words, is_prefix: false });
            }
        }
    }
    if let Some(last) = terms.last_mut() {
        last.is_prefix = !whole;
    }
    terms
}

/// At most `width` characters around the first of the words.
pub(super) fn snippet_around(text: &str, terms: &[SearchTerm], width: usize) -> SearchSnippet {
    let line: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let joined: String = line.iter().collect();
    let words: Vec<((usize, usize), String)> = tokens(&joined).collect();
    let mut marks = find_matches(&words, terms);
    let first = marks.first().map_or(0, |mark| mark.0);
    // a third of the room before the first word, the rest behind it
    let room = width.saturating_sub(2);
    let mut from = first.saturating_sub(room / 3);
    if line.len().saturating_sub(from) < room {
        from = line.len().saturating_sub(room);
    }
    // whole words, as far as the first one that is marked allows
    if from > 0 && line[from - 1] != ' ' {
        from += line[from..first].iter().position(|c| *c == ' ').map_or(0, |space| space + 1);
    }
    let mut upto = line.len().min(from + room);
    if line.get(upto).is_some_and(|c| *c != ' ') {
        let kept = marks.first().map_or(0, |mark| mark.1);
        let space = line[from..upto].iter().rposition(|c| *c == ' ').map(|space| from + space);
        upto = space.filter(|space| *space >= kept.max(from + 1)).unwrap_or(upto);
    }
    marks.retain(|mark| mark.0 >= from && mark.1 <= upto);
    let before = if from > 0 { "…" } else { "" };
    let behind = if upto < line.len() { "…" } else { "" };
    let shown: String = line[from..upto].iter().collect();
    let moved = |at: usize| at - from + before.chars().count();
    SearchSnippet {
        text: format!("{before}{shown}{behind}"),
        marks: marks.into_iter().map(|(start, end)| (moved(start), moved(end))).collect(),
    }
}

/// Places of all terms, in order, none inside another.
fn find_matches(words: &[((usize, usize), String)], terms: &[SearchTerm]) -> Vec<(usize, usize)> {
    let mut marks = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let longest = terms.iter().filter(|term| term.is_at(&words[at..])).map(|term| term.words.len()).max();
        match longest {
            Some(count) => {
                marks.push((words[at].0.0, words[at + count - 1].0.1));
                at += count;
            }
            None => at += 1,
        }
    }
    marks
}

impl SearchTerm {
    fn is_at(&self, words: &[((usize, usize), String)]) -> bool {
        let last = self.words.len() - 1;
        words.len() > last
            && self.words.iter().enumerate().all(|(at, wanted)| {
                let there = &words[at].1;
                if at == last && self.is_prefix { there.starts_with(wanted) } else { there == wanted }
            })
    }
}

/// Runs of letters and digits, in small letters, with their positions in characters. Characters that are words count
/// alone, as in the index.
fn tokens(text: &str) -> impl Iterator<Item = ((usize, usize), String)> + '_ {
    let mut chars = text.chars().enumerate().peekable();
    std::iter::from_fn(move || {
        while chars.next_if(|(_, c)| !c.is_alphanumeric()).is_some() {}
        let start = chars.peek()?.0;
        let (mut end, mut word) = (start, String::new());
        while let Some((at, c)) =
            chars.next_if(|(at, c)| c.is_alphanumeric() && (*at == start || !is_cjk_letter(*c)))
        {
            word.extend(c.to_lowercase());
            end = at + 1;
            if is_cjk_letter(c) {
                break;
            }
        }
        Some(((start, end), word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_in_one_line() {
        let rows = [
            ("parser", "The Parser is done", 40, "The [Parser] is done"),
            ("pars", "The parser is done", 40, "The [parser] is done"),
            ("pars ", "The parser is done", 40, "The parser is done"),
            ("\"is done\" the", "The parser\n\tis   done", 40, "[The] parser [is done]"),
            ("größe", "DIE GRÖSSE GRÖẞE Größe", 40, "DIE GRÖSSE [GRÖẞE] [Größe]"),
            ("zebra", "one two three four five zebra six seven", 16, "…[zebra] six…"),
            ("none", "one two three four five", 10, "one two…"),
            ("", "one", 10, "one"),
            ("タワー", "昨日は東京タワーへ", 40, "昨日は東京[タワー]へ"),
            ("v2版", "新v2版本", 40, "新[v2版]本"),
        ];
        for (typed, text, width, expected) in rows {
            let snippet = snippet_around(text, &parse_terms(typed), width);
            let mut shown: Vec<String> = snippet.text.chars().map(String::from).collect();
            for (start, end) in &snippet.marks {
                shown[*start].insert(0, '[');
                shown[end - 1].push(']');
            }
            assert_eq!(shown.concat(), expected, "{typed} in {text}");
            assert!(snippet.text.chars().count() <= width);
        }
    }
}
