//! Finds the only match of a text in a file. Refuses to choose: no match or several are errors that say how many and on
//! which lines.

/// Byte range of a hit.
pub(super) type ByteSpan = std::ops::Range<usize>;

/// Position of `wanted`, provided that it occurs once. `name` is the argument, for the error.
pub(super) fn only_place(name: &str, content: &[u8], wanted: &[u8]) -> Result<ByteSpan, String> {
    if wanted.is_empty() {
        return Err(format!("`{name}` must not be empty"));
    }
    let hits = find_places(content, wanted);
    match hits.as_slice() {
        [only] => Ok(*only..only + wanted.len()),
        [] => {
            Err(format!("`{name}` was not found in the file (0 matches){}", similar_place(content, wanted)))
        }
        several => {
            let lines: Vec<String> =
                several.iter().take(10).map(|at| line_number_at(content, *at).to_string()).collect();
            let more = if several.len() > 10 { " …" } else { "" };
            let count = several.len();
            let lines = lines.join(", ");
            Err(format!(
                "`{name}` matches {count} times, on lines {lines}{more}; add text around it until it is unique"
            ))
        }
    }
}

/// The line, from 1, that byte `at` is on.
pub(super) fn line_number_at(content: &[u8], at: usize) -> usize {
    1 + content[..at].iter().filter(|byte| **byte == b'\n').count()
}

/// Every start of `wanted`, overlapping ones included: they are just as ambiguous.
fn find_places(content: &[u8], wanted: &[u8]) -> Vec<usize> {
    let first = wanted[0];
    let starts = content.iter().enumerate().filter(|(_, byte)| **byte == first).map(|(at, _)| at);
    starts.filter(|at| content[*at..].starts_with(wanted)).collect()
}

/// A hint for the most frequent mistake: the right words with other white space.
fn similar_place(content: &[u8], wanted: &[u8]) -> String {
    let (content, wanted) = (String::from_utf8_lossy(content), String::from_utf8_lossy(wanted));
    let lines: Vec<&str> = content.lines().map(str::trim).collect();
    let sought: Vec<&str> = wanted.trim().lines().map(str::trim).collect();
    if sought.is_empty() || sought.len() > lines.len() {
        return "; read the file again and copy the text exactly".to_owned();
    }
    match lines.windows(sought.len()).position(|window| window == sought) {
        Some(at) => format!("; line {} differs from it only in white space", at + 1),
        None => "; read the file again and copy the text exactly".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hit_or_a_clear_no() {
        let check = |content: &str, wanted: &str, expected: &str| {
            let found = only_place("t", content.as_bytes(), wanted.as_bytes());
            let found = found.map_or_else(|problem| problem, |span| format!("{span:?}"));
            assert!(found.starts_with(expected), "{found}");
        };
        check("a\nb\nc", "b", "2..3");
        check("a\nb\nb", "b", "`t` matches 2 times, on lines 2, 3;");
        check("aaa", "aa", "`t` matches 2 times, on lines 1, 1;");
        check("a", "", "`t` must not be empty");
        check("a\n    b\nc", "b\n  c", "`t` was not found in the file (0 matches); line 2 differs");
        check("a", "zz", "`t` was not found in the file (0 matches); read");
    }
}
