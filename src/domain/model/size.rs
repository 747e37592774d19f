//! How many tokens a request is, without its model's tokenizer: once rather too many, for what must not be passed,
//! and once rather too few, for what cannot be sent.

use super::ModelRequest;
use crate::domain::context::CHARACTERS_A_TOKEN;
use crate::domain::message::ToolCall;

/// An answer of fewer tokens is not worth its prompt.
pub const LEAST_ANSWER: u64 = 256;
/// What servers wrap a message in.
const WRAPPING: u64 = 8;
/// What servers put in front of a list of tools.
const TOOLS: u64 = 400;

impl ModelRequest {
    /// Tokens of the prompt, rather too many than too few.
    pub fn tokens_at_most(&self) -> u64 {
        let (mut tokens, mut parts) = (0_u64, 0);
        self.each_text(&mut |text| tokens = tokens.saturating_add(at_most(text)), &mut parts);
        let tools = if self.tools.is_empty() && self.parsing_tools.is_empty() { 0 } else { TOOLS };
        tokens.saturating_add(parts * WRAPPING).saturating_add(tools)
    }

    /// Tokens of the prompt as of usual text: dense text has more.
    pub fn tokens_at_least(&self) -> u64 {
        let mut characters = 0;
        self.each_text(&mut |text| characters += text.chars().count(), &mut 0);
        u64::try_from(characters / CHARACTERS_A_TOKEN).unwrap_or(u64::MAX)
    }

    /// Bytes of all texts and what is put around them: no request has more tokens than that.
    pub fn bytes(&self) -> u64 {
        let (mut bytes, mut parts) = (0_u64, 0);
        self.each_text(&mut |text| bytes = bytes.saturating_add(text.len() as u64), &mut parts);
        bytes.saturating_add(parts * WRAPPING).saturating_add(TOOLS)
    }

    /// Everything that is sent; `parts` counts what has a wrapping of its own.
    fn each_text(&self, tell: &mut dyn FnMut(&str), parts: &mut u64) {
        for message in &self.messages {
            *parts += 1 + message.tool_calls.len() as u64;
            tell(&message.content);
            for ToolCall { name, arguments, .. } in &message.tool_calls {
                tell(name);
                tell(arguments);
            }
        }
        let tools = self.tools.iter().map(|tool| (&tool.name, &tool.description, &tool.parameters));
        let decisions =
            self.parsing_tools.iter().map(|tool| (&tool.name, &tool.description, &tool.parameters));
        for (name, description, parameters) in tools.chain(decisions) {
            *parts += 2;
            tell(name);
            tell(description);
            tell(&parameters.to_string());
        }
    }
}

/// What stands together in a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Small,
    Capital,
    Blank,
    /// Digits, signs, and letters of other alphabets: nothing that is sure to stand together.
    Alone,
}

/// Tokens of a text, half as many again as usual tokenizers make of English and of code: three letters of a word a
/// token, every digit and sign one of its own, letters of other alphabets by their bytes.
fn at_most(text: &str) -> u64 {
    let (mut tokens, mut kind, mut run) = (0_u64, Kind::Alone, 0_u64);
    for letter in text.chars() {
        let own = kind_of(letter);
        if own != kind {
            tokens += of_run(kind, run);
            (kind, run) = (own, 0);
        }
        run += match own {
            Kind::Small | Kind::Capital => 1,
            // a single blank is part of the word that follows
            Kind::Blank if letter == ' ' => 1,
            Kind::Blank => 4,
            Kind::Alone => (letter.len_utf8() as u64 - 1).max(1),
        };
    }
    tokens + of_run(kind, run)
}

fn kind_of(letter: char) -> Kind {
    match letter {
        'a'..='z' => Kind::Small,
        'A'..='Z' => Kind::Capital,
        ' ' | '\t' | '\n' | '\r' => Kind::Blank,
        _ => Kind::Alone,
    }
}

fn of_run(kind: Kind, run: u64) -> u64 {
    match kind {
        Kind::Small => run.div_ceil(3),
        Kind::Capital => run.div_ceil(2),
        Kind::Blank if run == 1 => 0,
        Kind::Blank => run.div_ceil(4),
        Kind::Alone => run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What usual tokenizers make of a text, about, and the most that is said of it.
    #[test]
    fn texts_have_no_more_tokens_than_that() {
        let rows = [
            ("", 0, 0),
            ("The quick brown fox jumps over the lazy dog.", 10, 20),
            ("fn main() {\n    println!(\"{}\", 42);\n}\n", 15, 30),
            ("internationalization", 2, 8),
            ("3.14159265358979", 16, 16),
            ("deadBEEFcafe0123", 9, 16),
            ("aGVsbG8gd29ybGQsIHRoaXM", 14, 23),
            ("日本語のテキスト", 8, 16),
            ("Привет, мир", 6, 12),
            ("🦀🦀", 4, 6),
            ("          indented", 3, 8),
        ];
        for (text, really, most) in rows {
            let tokens = at_most(text);
            assert!((really..=most).contains(&tokens), "{text:?}: {tokens}, not {really} to {most}");
            assert!(tokens <= text.len() as u64, "{text:?}");
        }
    }
}
