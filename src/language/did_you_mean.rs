//! "Did you mean": the closest of some known words. Refuses to suggest a word that is not close.

/// The known word nearest to `word`, if it is near enough to be a slip of the finger.
///
/// Distance counts inserted, removed, replaced and swapped neighbouring characters, ignoring case;
/// a third of the word's length (at least one, at most four) may differ. The first of equals wins.
pub fn closest_word<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let word_length = word.chars().count();
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let name = candidate.to_lowercase();
        let name_length = name.chars().count();
        let most_edits = (word_length.max(name_length) / 3).clamp(1, 4);
        if word_length.abs_diff(name_length) > most_edits {
            continue;
        }
        let edits = strsim::osa_distance(&word, &name);
        if edits <= most_edits && best.is_none_or(|(least, _)| edits < least) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The hint of a diagnostic: ``did you mean `x`?``.
pub fn suggestion_hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest_word(word, candidates).map(|known| format!("did you mean `{known}`?"))
}

/// ``did you mean `x`?`` if one is close, else the whole list if there is one.
pub fn suggest_or_list(word: &str, noun: &str, candidates: &[&str]) -> Option<String> {
    suggestion_hint(word, candidates.iter().copied())
        .or_else(|| (!candidates.is_empty()).then(|| format!("{noun}: {}", join_limited(candidates))))
}

/// Most names that a list shows: a longer one cannot be read.
const LISTED: usize = 40;

/// The names in one line; of many the first ones and how many more there are.
pub fn join_limited(names: &[&str]) -> String {
    match names.get(..LISTED) {
        Some(first) if names.len() > LISTED => {
            format!("{} and {} more", first.join(", "), names.len() - LISTED)
        }
        _ => names.join(", "),
    }
}

/// The same for names that are owned.
pub fn listed_names(names: &[String]) -> String {
    join_limited(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_close() {
        let known = ["read_files", "list_directory", "exact_search", "write_file", "edit_file"];
        let rows = [
            ("read_file", Some("read_files")),
            ("Read_Files", Some("read_files")),
            ("wirte_file", Some("write_file")),
            ("edit_flie", Some("edit_file")),
            ("listdirectory", Some("list_directory")),
            ("calculate", None),
            ("", None),
        ];
        for (word, expected) in rows {
            assert_eq!(closest_word(word, known), expected, "{word}");
        }
        assert_eq!(suggestion_hint("x", ["y"]).as_deref(), Some("did you mean `y`?"));
        assert_eq!(suggest_or_list("zzzzzz", "known", &["a", "b"]).as_deref(), Some("known: a, b"));
        assert!(join_limited(&["a"; 41]).ends_with("a, a and 1 more"));
    }
}
