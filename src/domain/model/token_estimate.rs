//! How many tokens a request is, without its model's tokenizer: once rather too many, for what must not be passed,
//! and once rather too few, for what cannot be sent.

use super::ModelRequest;
use crate::context::CHARACTERS_A_TOKEN;
use crate::image_reference::image_tokens;
use crate::message::{ChatRole, ToolCall};

/// An answer of fewer tokens is not worth its prompt.
pub const LEAST_ANSWER: u64 = 256;
/// Of an encrypted opaque reasoning block.
const BYTES_A_TOKEN: u64 = 4;
/// What servers wrap a message in.
const WRAPPING: u64 = 8;
/// What servers put in front of a list of tools.
const TOOLS: u64 = 400;

impl ModelRequest {
    /// Tokens of the prompt, rather too many than too few.
    pub fn tokens_at_most(&self) -> u64 {
        let mut tokens = self.readable_tokens();
        self.each_sealed(&mut |text, readable| {
            // encrypted reasoning takes more than four letters for each of its tokens
            let own = if readable { at_most(text) } else { (text.len() as u64).div_ceil(BYTES_A_TOKEN) };
            tokens = tokens.saturating_add(own);
        });
        tokens
    }

    /// The same without opaque reasoning blocks, as older runs count.
    pub fn readable_tokens(&self) -> u64 {
        let (mut tokens, mut parts) = (0_u64, 0);
        self.each_text(&mut |text| tokens = tokens.saturating_add(at_most(text)), &mut parts);
        let tools = if self.tools.is_empty() && self.parsing_tools.is_empty() { 0 } else { TOOLS };
        tokens.saturating_add(parts * WRAPPING).saturating_add(tools).saturating_add(self.image_tokens())
    }

    /// Tokens of the images, where the model takes any.
    fn image_tokens(&self) -> u64 {
        let texts =
            self.messages.iter().filter(|message| matches!(message.role, ChatRole::User | ChatRole::Tool));
        if self.choice.images { texts.map(|message| image_tokens(&message.content)).sum() } else { 0 }
    }

    /// Tokens of the prompt as of usual text: dense text has more. Opaque reasoning blocks count as nothing, because
    /// some servers do not count those of earlier turns.
    pub fn tokens_at_least(&self) -> u64 {
        let mut characters = 0;
        self.each_text(&mut |text| characters += text.chars().count(), &mut 0);
        u64::try_from(characters / CHARACTERS_A_TOKEN).unwrap_or(u64::MAX)
    }

    /// Bytes of all texts and what is put around them: no request has more tokens than that.
    pub fn bytes(&self) -> u64 {
        let (mut bytes, mut parts) = (0_u64, 0);
        self.each_text(&mut |text| bytes = bytes.saturating_add(text.len() as u64), &mut parts);
        self.each_sealed(&mut |text, _| bytes = bytes.saturating_add(text.len() as u64));
        bytes.saturating_add(parts * WRAPPING).saturating_add(TOOLS).saturating_add(self.image_tokens())
    }

    /// Opaque reasoning blocks that are sent back to the server.
    fn each_sealed(&self, tell: &mut dyn FnMut(&str, bool)) {
        let sealed = self.messages.iter().flat_map(|message| &message.sealed);
        sealed.filter(|one| one.is_for(self.choice.protocol)).for_each(|one| one.for_each_text(tell));
    }

    /// Everything that can be read; `parts` counts what has a wrapping of its own.
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

/// Characters of one class can share a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenCharClass {
    Small,
    Capital,
    Blank,
    /// Digits, signs, and letters of other alphabets: none of them is certain to share a token.
    Alone,
}

/// Tokens of a text, half as many again as usual tokenizers make of English and of code: three letters of a word a
/// token, every digit and sign one of its own, letters of other alphabets by their bytes.
fn at_most(text: &str) -> u64 {
    let (mut tokens, mut kind, mut run) = (0_u64, TokenCharClass::Alone, 0_u64);
    for letter in text.chars() {
        let own = char_class(letter);
        if own != kind {
            tokens += run_tokens(kind, run);
            (kind, run) = (own, 0);
        }
        run += match own {
            TokenCharClass::Small | TokenCharClass::Capital => 1,
            // a single blank is part of the word that follows
            TokenCharClass::Blank if letter == ' ' => 1,
            TokenCharClass::Blank => 4,
            TokenCharClass::Alone => (letter.len_utf8() as u64 - 1).max(1),
        };
    }
    tokens + run_tokens(kind, run)
}

fn char_class(letter: char) -> TokenCharClass {
    match letter {
        'a'..='z' => TokenCharClass::Small,
        'A'..='Z' => TokenCharClass::Capital,
        ' ' | '\t' | '\n' | '\r' => TokenCharClass::Blank,
        _ => TokenCharClass::Alone,
    }
}

fn run_tokens(kind: TokenCharClass, run: u64) -> u64 {
    match kind {
        TokenCharClass::Small => run.div_ceil(3),
        TokenCharClass::Capital => run.div_ceil(2),
        TokenCharClass::Blank if run == 1 => 0,
        TokenCharClass::Blank => run.div_ceil(4),
        TokenCharClass::Alone => run,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::{ChatMessage, ChatRole, OpaqueBlock};
    use crate::model::{ModelChoice, ToolChoice};
    use crate::protocol::ModelProtocol;

    /// What is sent back to a server counts there, and nowhere else.
    #[test]
    fn sealed_thoughts_count_where_they_are_sent() {
        let thought =
            json!({"type": "thinking", "thinking": "one two ".repeat(100), "signature": "s".repeat(400)});
        let cipher = json!({"type": "redacted_thinking", "data": "c".repeat(4_000)});
        let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "e".repeat(4_000),
            "summary": [{"type": "summary_text", "text": "one two ".repeat(100)}]});
        let rows = [
            (ModelProtocol::Anthropic, &thought, 200 + 100, 800 + 400),
            (ModelProtocol::Anthropic, &cipher, 1_000, 4_000),
            (ModelProtocol::Anthropic, &reasoning, 0, 0),
            (ModelProtocol::Responses, &reasoning, 1_001 + 200, 4_000 + 800 + 4),
            (ModelProtocol::Responses, &thought, 0, 0),
            (ModelProtocol::Chat, &thought, 0, 0),
            (ModelProtocol::Chat, &reasoning, 0, 0),
        ];
        for (protocol, block, tokens, bytes) in rows {
            let mut said = ChatMessage::text(ChatRole::Assistant, "so");
            said.sealed.push(OpaqueBlock { after: 0, block: block.clone() });
            let request = ModelRequest {
                agent: "a".into(),
                state: "s".into(),
                choice: ModelChoice { protocol, ..ModelChoice::default() },
                messages: vec![said],
                tools: [].into(),
                parsing_tools: Vec::new(),
                tool_choice: ToolChoice::Auto,
                answer_schema: None,
            };
            let without = request.readable_tokens();
            assert_eq!((without, request.tokens_at_least()), (9, 0), "{protocol:?}");
            assert_eq!(request.tokens_at_most() - without, tokens, "{protocol:?} {block}");
            assert_eq!(request.bytes() - (2 + 8 + 400), bytes, "{protocol:?} {block}");
        }
    }

    #[test]
    fn images_count_for_models_that_take_them() {
        let image = "[image: a.png · png · 750x750 · 9 bytes · sha256:";
        let image = format!("{image}{}]", "0123456789abcdef".repeat(4));
        for (images, role, tokens) in [
            (true, ChatRole::User, 835),
            (true, ChatRole::Tool, 835),
            (true, ChatRole::Assistant, 0),
            (false, ChatRole::User, 0),
        ] {
            let request = |text: &str| ModelRequest {
                agent: "a".into(),
                state: "s".into(),
                choice: ModelChoice { images, ..ModelChoice::default() },
                messages: vec![ChatMessage::text(role, text)],
                tools: [].into(),
                parsing_tools: Vec::new(),
                tool_choice: ToolChoice::Auto,
                answer_schema: None,
            };
            // the same text, which stands for no image
            let other = request(&image.replace("png ·", "bmp ·"));
            let more = request(&image).tokens_at_most() - other.tokens_at_most();
            assert_eq!(more, tokens, "{images} {role:?}");
            assert_eq!(request(&image).tokens_at_least(), other.tokens_at_least());
        }
    }

    /// Rows: a text, its token count with usual tokenizers, and the highest estimate that is acceptable.
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
