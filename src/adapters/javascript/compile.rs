//! From a script's text to a function that QuickJS can call.
//!
//! Owns: the wrapper that makes host members plain names and keeps the script's own line and column numbers.
//! Refuses: the `function.NAME` shorthand; that is rewritten while a workflow is loaded.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Function};

use synthdev_domain::script::HOST_NAMES;
use synthdev_domain::script::ScriptForm;

/// The file name under which scripts appear in stack traces.
pub(super) const FILE: &str = "workflow-script";
/// The file name under which a library appears in stack traces.
pub(super) const LIBRARY: &str = "workflow-library";
/// Lines that the wrapper puts before the script.
pub(super) const LINES_BEFORE: usize = 1;

/// Compiles a script into a function that takes the host as `this`.
///
/// `offers`: what the workflow's library offers; empty without one.
///
/// # Errors
/// The text is no expression, or no list of statements.
pub(super) fn compile_script<'js>(
    ctx: &Ctx<'js>,
    text: &str,
    form: ScriptForm,
    offers: &[String],
) -> rquickjs::Result<Function<'js>> {
    let mut options = EvalOptions::default();
    options.filename = Some(FILE.to_owned());
    ctx.eval_with_options(wrap_script(text, form, offers), options)
}

/// Compiles a library into a function that takes the host as `this` and an empty `module`, and returns what the
/// library offers. Host members are plain names in it, too, each looked up when it is used: the outer function is
/// sloppy for the sake of `with`, the library itself is strict as every module.
///
/// # Errors
/// The text is no JavaScript.
pub(super) fn compile_library<'js>(ctx: &Ctx<'js>, body: &str) -> rquickjs::Result<Function<'js>> {
    let mut options = EvalOptions::default();
    options.filename = Some(LIBRARY.to_owned());
    options.strict = false;
    let head = "(function(module){with(this){return (function(exports){\"use strict\";let __default;";
    ctx.eval_with_options(format!("{head}\n{body}\n}}).call(this,module.exports);}}}})"), options)
}

/// Names become parameters: a script may shadow them, and assigning one changes nothing outside the call.
/// Only names that the text mentions are passed, because reading `agents` or `contexts` builds them, and reading
/// what a library offers makes the library.
fn wrap_script(text: &str, form: ScriptForm, offers: &[String]) -> String {
    let used: Vec<&str> = HOST_NAMES.into_iter().filter(|name| mentions_name(text, name)).collect();
    let offered: Vec<&str> =
        offers.iter().map(String::as_str).filter(|name| mentions_name(text, name)).collect();
    let names = [used.as_slice(), offered.as_slice()].concat().join(",");
    let mut values: String = used.iter().map(|name| format!(",this.{name}")).collect();
    values.extend(offered.iter().map(|name| format!(",this.__own(\"{name}\")")));
    let used = [used, offered].concat();
    match form {
        ScriptForm::Expression => {
            let text = text.trim_end().trim_end_matches(';');
            if used.is_empty() {
                return format!("(function(){{return (\n{text}\n);}})");
            }
            format!("(function(){{return (function({names}){{return (\n{text}\n);}}).call(this{values});}})")
        }
        // The inner block lets a script declare a variable that is named like a host member.
        ScriptForm::Statements => {
            format!("(function(){{(function({names}){{{{\n{text}\n}}}}).call(this{values});}})")
        }
    }
}

/// Whether `name` occurs as a whole word that is not a member (`x.name`). Strings and comments count: harmless.
fn mentions_name(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let member = before.ends_with('.') && !before.ends_with("...");
        !member && !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_free_words_count() {
        for (text, name, expected) in [
            ("common_data.x", "common_data", true),
            ("this.common_data.x", "common_data", false),
            ("[...agents]", "agents", true),
            ("my_agents", "agents", false),
            ("agents2", "agents", false),
            ("getContext('a')", "context", false),
            ("x = {a: context}", "context", true),
        ] {
            assert_eq!(mentions_name(text, name), expected, "{text}");
        }
    }
}
