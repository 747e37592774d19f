//! Whether the model that a server says has answered is the one that was asked for. Servers write names in
//! their own way: with a date, without a vendor, with a tag. None of that is another model.

/// What marketplaces add to a name to say how it is served, and local servers to say which copy.
const TAGS: [&str; 10] =
    ["latest", "free", "nitro", "floor", "online", "thinking", "extended", "beta", "exacto", "cloud"];
/// Names under which the server was asked to choose.
const ANY: [&str; 3] = ["auto", "model-router", "default"];

/// Whether `served` is a way to write `asked`.
pub fn is_same_model(asked: &str, served: &str) -> bool {
    let (asked, served) = (bare_model_name(asked), bare_model_name(served));
    if asked.is_empty() || served.is_empty() || asked == served || ANY.contains(&asked.as_str()) {
        return true;
    }
    let (one, other) = (without_date(&asked), without_date(&served));
    // of two dates, the one that was asked for counts
    let dated = one != asked && other != served && !asked.ends_with("-latest");
    !dated && (one == other || same_words(one, other))
}

/// The name alone: no vendor, no path, no file's ending, no tag that says nothing about the model.
fn bare_model_name(name: &str) -> String {
    let name = name.trim().to_lowercase();
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".gguf").unwrap_or(name);
    match name.rsplit_once(':') {
        Some((model, tag)) if TAGS.contains(&tag) => model.to_owned(),
        Some(_) | None => name.to_owned(),
    }
}

/// The name without a version suffix: `-2024-08-06`, `-20241022`, `-0613`, `-001`, `@20240620`, `-latest`,
/// `-preview-05-20`.
fn without_date(name: &str) -> &str {
    let mut rest = name;
    if let Some(model) = name.strip_suffix("-latest") {
        return model;
    }
    let mut digits = 0;
    while let Some(at) = rest.rfind(['-', '@']) {
        let part = &rest[at + 1..];
        if part.len() < 2 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        digits += part.len();
        rest = &rest[..at];
    }
    // `-70` and `-3` are sizes and generations
    if digits < 3 || rest.is_empty() {
        return name;
    }
    rest.strip_suffix("-preview").unwrap_or(rest)
}

/// `claude-sonnet-4` and `claude-4-sonnet`.
fn same_words(one: &str, other: &str) -> bool {
    let words = |name: &str| {
        let mut words: Vec<String> = name.split('-').map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    words(one) == words(other)
}

#[cfg(test)]
mod tests {
    use super::is_same_model;

    #[test]
    fn another_way_to_write_a_name_is_no_other_model() {
        for (asked, served, same) in [
            ("gpt-4o", "gpt-4o", true),
            ("gpt-4o", "gpt-4o-2024-08-06", true),
            ("gpt-4", "gpt-4-0613", true),
            ("gemini-2.0-flash", "models/gemini-2.0-flash-001", true),
            ("gemini-2.5-flash", "gemini-2.5-flash-preview-05-20", true),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", true),
            ("claude-3-5-sonnet", "claude-3-5-sonnet@20240620", true),
            ("llama3.1", "llama3.1:latest", true),
            ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1", true),
            ("anthropic/claude-sonnet-4", "anthropic/claude-4-sonnet-20250522", true),
            ("Qwen/Qwen2.5-7B-Instruct", "/models/qwen2.5-7b-instruct.gguf", true),
            ("accounts/fireworks/models/llama-v3p1-8b", "llama-v3p1-8b", true),
            ("gpt-4o-2024-08-06", "gpt-4o", true),
            ("openrouter/auto", "openai/gpt-4o", true),
            ("gpt-4o", "", true),
            ("gpt-4o", "gpt-4o-mini", false),
            ("gpt-4o", "gpt-4o-mini-2024-07-18", false),
            ("gpt-4", "gpt-4-turbo", false),
            ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", false),
            ("claude-3", "claude-3-5", false),
            ("claude-opus-4", "claude-sonnet-4", false),
            ("llama3.1:8b", "llama3.1:70b", false),
            ("llama-3", "llama-3-70", false),
            ("smart", "base", false),
        ] {
            assert_eq!(is_same_model(asked, served), same, "{asked} {served}");
        }
    }
}
