//! What is typed inside of a question: a reason, a rule, or a call that is changed before it is allowed.

use serde_json::Value;

use super::QuestionDialog;
use crate::composer::InputComposer;
use crate::text::one_line;
use synthdev_domain::approval::AllowRule;
use synthdev_domain::terminal_safe::escape_invisible;
use synthdev_domain::tool::ToolRisk;

/// What the typed text is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DraftPurpose {
    /// Why the call is denied; may be empty.
    Reason,
    /// The rule that is written into the settings.
    Rule,
    /// The call, as it shall run.
    Call,
}

/// The text in progress, with its cursor.
#[derive(Clone, Debug)]
pub struct AnswerDraft {
    pub purpose: DraftPurpose,
    pub text: InputComposer,
}

impl PartialEq for AnswerDraft {
    fn eq(&self, other: &Self) -> bool {
        self.purpose == other.purpose && self.text.text() == other.text.text()
    }
}

impl AnswerDraft {
    pub fn new(purpose: DraftPurpose, text: &str) -> Self {
        let mut composer = InputComposer::default();
        composer.set_text(text);
        Self { purpose, text: composer }
    }

    /// What is to be typed, for the row above it.
    pub fn label(&self, dialog: &QuestionDialog) -> String {
        match self.purpose {
            DraftPurpose::Reason => "reason (optional):".to_owned(),
            DraftPurpose::Rule => match AllowRule::parse(&self.text.text()) {
                Ok(_) if !self.allows_call(dialog) => "does not allow this call:".to_owned(),
                Ok(rule) => format!("goes into your settings and allows {}:", allowed_calls_text(&rule)),
                Err(_) => "is no rule yet:".to_owned(),
            },
            DraftPurpose::Call => "as it shall run:".to_owned(),
        }
    }

    /// It is a rule that allows the call in question.
    fn allows_call(&self, dialog: &QuestionDialog) -> bool {
        let rule = AllowRule::parse(&self.text.text());
        rule.is_ok_and(|rule| dialog.risk.is_none_or(|risk| rule.covers(&dialog.tool, risk)))
    }

    /// The keys, for the last line.
    pub fn keys(&self, dialog: &QuestionDialog) -> &'static str {
        match self.purpose {
            DraftPurpose::Rule if !self.allows_call(dialog) => "a rule for this call is missing · Esc back",
            DraftPurpose::Reason if self.text.is_empty() => "Enter denies without a reason · Esc back",
            DraftPurpose::Reason => "Enter denies with this reason · Esc back · Tab: a message",
            DraftPurpose::Rule => "Enter writes it and allows · Esc back",
            DraftPurpose::Call => "Enter shows it as it would run · Esc back",
        }
    }
}

/// All that a rule allows: a rule for a tool knows no arguments.
pub fn allowed_calls_text(rule: &AllowRule) -> String {
    match rule {
        AllowRule::Tool(tool) if tool == "execute_terminal" => "every command".to_owned(),
        AllowRule::Tool(tool) => format!("every call of {}", one_line(tool)),
        AllowRule::Risk(ToolRisk::Read) => "every tool that reads".to_owned(),
        AllowRule::Risk(ToolRisk::Write) => "every tool that changes files".to_owned(),
        AllowRule::Risk(ToolRisk::Execute) => "every tool that executes commands".to_owned(),
    }
}

/// The arguments of a call that waits for approval, and how a person changes them.
#[derive(Clone, PartialEq, Debug)]
pub struct EditableCall {
    arguments: Value,
    is_changed: bool,
}

/// Arguments that are edited alone, without the names of the others.
const TEXTS: [(&str, &str); 4] =
    [("command", "command"), ("content", "text"), ("new_text", "text"), ("patch", "patch")];

impl EditableCall {
    /// `None`: there is nothing to change.
    pub fn new(arguments: &Value) -> Option<Self> {
        let full = arguments.as_object().is_some_and(|map| !map.is_empty());
        full.then(|| Self { arguments: arguments.clone(), is_changed: false })
    }

    /// The arguments, if they were changed.
    pub fn changed_arguments(&self) -> Option<&Value> {
        self.is_changed.then_some(&self.arguments)
    }

    /// The word for what is edited.
    pub fn subject(&self) -> &'static str {
        self.edited_key().map_or("arguments", |(_, word)| word)
    }

    /// What is edited: a text as it is, or the arguments as JSON.
    pub fn editable_text(&self) -> String {
        match self.edited_key() {
            Some((key, _)) => self.arguments[key].as_str().unwrap_or_default().to_owned(),
            None => visible_json(&self.arguments),
        }
    }

    /// Takes the edited text; whether the call is another one now.
    ///
    /// # Errors
    /// It is not what is needed, in one line.
    pub fn accept_text(&mut self, text: &str) -> Result<bool, String> {
        let before = self.arguments.clone();
        match self.edited_key() {
            Some((_, word)) if text.trim().is_empty() => return Err(format!("the {word} is empty")),
            Some((key, _)) => self.arguments[key] = text.into(),
            None => match serde_json::from_str::<Value>(text) {
                Ok(arguments @ Value::Object(_)) => self.arguments = arguments,
                Ok(_) => return Err("the arguments must be a JSON object".to_owned()),
                Err(error) => return Err(format!("this is not JSON: {error}")),
            },
        }
        let differs = self.arguments != before;
        self.is_changed |= differs;
        Ok(differs)
    }

    /// A text with invisible characters is edited as JSON, which names them.
    fn edited_key(&self) -> Option<(&'static str, &'static str)> {
        let plain = |key: &str| {
            let text = self.arguments[key].as_str()?;
            let shown = escape_invisible(text);
            (*shown == *text && !text.contains('\t')).then_some(())
        };
        // a program with its arguments apart is no command line
        let apart = self.arguments.get("args").is_some();
        TEXTS.into_iter().find(|(key, _)| !apart && plain(key).is_some())
    }
}

fn visible_json(arguments: &Value) -> String {
    let text = serde_json::to_string_pretty(arguments).unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let mut bytes = [0; 4];
        let one: &str = c.encode_utf8(&mut bytes);
        if c == '\n' || *escape_invisible(one) == *one {
            out.push(c);
            continue;
        }
        let mut units = [0; 2];
        out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_edited_as_what_it_is() {
        // the arguments, what is edited, what is typed, and the arguments then
        let check = |arguments: Value, shown: &str, typed: &str, expected: Result<Value, &str>| {
            let mut call = EditableCall::new(&arguments).unwrap();
            assert_eq!(call.editable_text(), shown, "{arguments}");
            let done = call.accept_text(typed).map(|_| call.arguments.clone());
            assert_eq!(
                done.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|why| *why),
                "{typed}"
            );
            let changed = call.changed_arguments().cloned();
            assert_eq!(changed, expected.ok().filter(|now| *now != arguments), "{typed}");
        };
        let command = |text: &str| json!({"command": text, "directory": "web"});
        check(command("ls"), "ls", "ls -l", Ok(command("ls -l")));
        check(command("ls"), "ls", "ls", Ok(command("ls")));
        check(command("ls"), "ls", " ", Err("the command is empty"));
        check(json!({"path": "a", "content": "x\ny"}), "x\ny", "z", Ok(json!({"path": "a", "content": "z"})));
        check(
            command("l\u{202e}s"),
            "{\n  \"command\": \"l\\u202es\",\n  \"directory\": \"web\"\n}",
            "{\"command\": \"ls\"}",
            Ok(json!({"command": "ls"})),
        );
        let program = json!({"command": "rm", "args": ["-r"]});
        check(
            program,
            "{\n  \"command\": \"rm\",\n  \"args\": [\n    \"-r\"\n  ]\n}",
            "[]",
            Err("the arguments must be a JSON object"),
        );
        assert!(EditableCall::new(&json!({})).is_none() && EditableCall::new(&Value::Null).is_none());
    }
}
