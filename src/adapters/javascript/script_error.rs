//! Turns a JavaScript exception into a `ScriptError` that a user can act on.
//!
//! Owns: the kind of a failure and its position in the script's own lines and columns.

use rquickjs::{CaughtError, Ctx, Exception, Value};

use super::compile::{FILE, LIBRARY, LINES_BEFORE};
use super::job_state::ScriptJobState;
use super::limits::ScriptLimits;
use synthdev_domain::ids::ScriptIx;
use synthdev_domain::script::{ScriptError, ScriptErrorKind, ScriptKind, WorkflowScript};

const MAX_MESSAGE: usize = 2_000;

/// A failure before it is known which script it belongs to.
#[derive(Debug)]
pub(super) struct RawScriptError {
    pub(super) kind: ScriptErrorKind,
    pub(super) message: String,
    /// Position in the prepared text, from 1; (0, 0) when unknown.
    position: (usize, usize),
    /// The position is one in the library.
    in_library: bool,
}

impl RawScriptError {
    pub(super) fn new(kind: ScriptErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), position: (0, 0), in_library: false }
    }

    pub(super) fn not_data(message: impl Into<String>) -> Self {
        Self::new(ScriptErrorKind::NotData, message)
    }

    pub(super) fn time_limit_error(limits: &ScriptLimits) -> Self {
        let ms = limits.time.as_millis();
        Self::new(
            ScriptErrorKind::Time,
            format!(
                "did not finish within {ms} ms; scripts must be short: leave long work to a tool or an agent"
            ),
        )
    }

    pub(super) fn memory_limit_error(limits: &ScriptLimits) -> Self {
        let megabytes = limits.memory / (1024 * 1024);
        Self::new(
            ScriptErrorKind::Memory,
            format!("needed more than {megabytes} MB; keep less in common_data and build smaller values"),
        )
    }

    pub(super) fn result_limit_error(limits: &ScriptLimits) -> Self {
        let megabytes = limits.result / (1024 * 1024);
        Self::new(
            ScriptErrorKind::Memory,
            format!(
                "gave more than {megabytes} MB; nothing of it was kept: write what is large into a file and keep its path \
                 in common_data"
            ),
        )
    }

    /// Takes the pending exception out of the context and names it.
    pub(super) fn from_exception(ctx: &Ctx<'_>, error: rquickjs::Error, shared: &ScriptJobState) -> Self {
        let limits = &shared.limits;
        if shared.has_expired() {
            ctx.catch();
            return Self::time_limit_error(limits);
        }
        match CaughtError::from_error(ctx, error) {
            CaughtError::Exception(exception) => Self::from_js_exception(&exception, limits),
            // With no memory left for an error object, QuickJS throws `null`.
            CaughtError::Value(value) if value.is_null() => Self::memory_limit_error(limits),
            CaughtError::Value(value) => {
                Self::new(ScriptErrorKind::Thrown, format!("threw {}", short_text(&value)))
            }
            CaughtError::Error(error) => {
                ctx.catch();
                match error {
                    rquickjs::Error::Allocation | rquickjs::Error::Unknown => {
                        Self::memory_limit_error(limits)
                    }
                    rquickjs::Error::Utf8(_) => Self::not_data("a text holds half of a character"),
                    other => Self::new(ScriptErrorKind::Thrown, other.to_string()),
                }
            }
        }
    }

    fn from_js_exception(exception: &Exception<'_>, limits: &ScriptLimits) -> Self {
        let name = exception.as_object().get::<_, String>("name").unwrap_or_else(|_| "Error".to_owned());
        let message = exception.message().unwrap_or_default();
        let mut fault = match (name.as_str(), message.as_str()) {
            ("InternalError", text) if text.starts_with("out of memory") => Self::memory_limit_error(limits),
            ("RangeError", "Maximum call stack size exceeded") | ("InternalError", "stack overflow") => {
                Self::new(
                    ScriptErrorKind::Stack,
                    "called itself too deeply; use a loop, or end the recursion earlier",
                )
            }
            (name, "") => Self::new(ScriptErrorKind::Thrown, name),
            (name, text) => {
                Self::new(ScriptErrorKind::Thrown, format!("{name}: {}", clip_text(text, MAX_MESSAGE)))
            }
        };
        (fault.in_library, fault.position) =
            exception.stack().as_deref().and_then(script_position).unwrap_or_default();
        // Whatever these reads threw (a getter of the script's own error) is of no interest.
        if exception.as_object().ctx().has_exception() {
            exception.as_object().ctx().catch();
        }
        fault
    }

    /// Completes the failure with the script that it happened in.
    pub(super) fn into_script_error(self, script: ScriptIx, scripts: &[WorkflowScript]) -> ScriptError {
        let library = scripts.iter().position(|script| script.kind == ScriptKind::Library);
        let library = library.filter(|_| self.in_library).map(ScriptIx);
        let text = scripts.get(library.unwrap_or(script).0);
        let (line, column) = self.position;
        let (line, column) = text.map_or((0, 0), |script| original_position(script, line, column));
        ScriptError { kind: self.kind, message: self.message, script, library, line, column }
    }
}

/// A value as a short text for display.
pub(super) fn short_text(value: &Value<'_>) -> String {
    let ctx = value.ctx();
    let text = if let Some(text) = value.as_string().and_then(|text| text.to_string().ok()) {
        serde_json::Value::String(text).to_string()
    } else if value.is_object() && !value.is_function() {
        let json = ctx.json_stringify(value.clone()).ok().flatten();
        json.and_then(|text| text.to_string().ok()).unwrap_or_else(|| "an object".to_owned())
    } else {
        value.get::<rquickjs::Coerced<String>>().map_or_else(|_| value.type_name().to_owned(), |text| text.0)
    };
    if ctx.has_exception() {
        ctx.catch();
    }
    clip_text(&text, 200)
}

fn clip_text(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The innermost frame of a stack trace that is in a script or the library: `    at f (workflow-script:3:12)`.
fn script_position(stack: &str) -> Option<(bool, (usize, usize))> {
    stack.lines().find_map(|line| {
        let own = line.split_once(FILE).map(|(_, after)| (false, after));
        let (in_library, after) = own.or_else(|| Some((true, line.split_once(LIBRARY)?.1)))?;
        let after = after.strip_prefix(':')?;
        let mut numbers = after.trim_end_matches(')').split(':').map(str::parse::<usize>);
        let line = numbers.next()?.ok()?.checked_sub(LINES_BEFORE)?;
        let column = numbers.next().and_then(Result::ok).unwrap_or(1);
        (line > 0).then_some((in_library, (line, column)))
    })
}

/// The position in `WorkflowScript::source` of a position in `WorkflowScript::prepared`: lines are equal, columns may have moved.
fn original_position(script: &WorkflowScript, line: usize, column: usize) -> (usize, usize) {
    let lines = script.source.lines().count();
    if line == 0 || line > lines {
        // The wrapper's own tail: the script ended too early.
        return (if line > lines { lines } else { 0 }, 0);
    }
    let of = |text: &str| -> Vec<char> { text.lines().nth(line - 1).unwrap_or_default().chars().collect() };
    (line, align_column(&of(&script.prepared), &of(&script.source), column))
}

/// Walks both lines together; where the prepared one has `__call("NAME")`, the source has `function.NAME`
/// or `function["NAME"]`.
fn align_column(prepared: &[char], source: &[char], column: usize) -> usize {
    let (mut at, mut back) = (0, 0);
    let target = column.saturating_sub(1).min(prepared.len());
    while at < target {
        if let (Some(after), Some(tail)) =
            (after_lookup(&prepared[at..]), after_shorthand(source.get(back..).unwrap_or_default()))
        {
            if at + after > target {
                break;
            }
            at += after;
            back += tail;
            if prepared.get(at) == Some(&'?') && source.get(back) != Some(&'?') {
                at += 1;
                // `?.[` replaces `[`, `?.x` replaces `.x`
                if prepared.get(at) == Some(&'.') && source.get(back) != Some(&'.') {
                    at += 1;
                }
            }
        } else {
            at += 1;
            back += 1;
        }
    }
    back.min(source.len()) + 1
}

fn after_lookup(text: &[char]) -> Option<usize> {
    let start: Vec<char> = "__call(\"".chars().collect();
    let rest = text.strip_prefix(start.as_slice())?;
    rest.iter().position(|&c| c == ')').map(|end| start.len() + end + 1)
}

fn after_shorthand(text: &[char]) -> Option<usize> {
    let word: Vec<char> = "function".chars().collect();
    let rest = text.strip_prefix(word.as_slice())?;
    let skip = rest.iter().take_while(|c| c.is_whitespace() || **c == '.').count();
    let rest = &rest[skip..];
    let name = if rest.first() == Some(&'[') {
        rest.iter().position(|&c| c == ']')? + 1
    } else {
        rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_' || **c == '$').count()
    };
    Some(word.len() + skip + name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_back_to_the_shorthand() {
        let prepared: Vec<char> = "a + __call(\"rev\")?.arguments.x.y".chars().collect();
        let source: Vec<char> = "a + function.rev.arguments.x.y".chars().collect();
        for (column, expected) in [(1, 1), (5, 5), (9, 5), (19, 17), (28, 26), (99, 31)] {
            assert_eq!(align_column(&prepared, &source, column), expected, "{column}");
        }
    }

    #[test]
    fn the_innermost_script_frame_counts() {
        let stack = "    at getAgent (host:9:1)\n    at <anonymous> (workflow-script:4:7)\n    at x (workflow-script:2:1)\n";
        assert_eq!(script_position(stack), Some((false, (3, 7))));
        assert_eq!(script_position("    at f (workflow-library:4:7)\n"), Some((true, (3, 7))));
        assert_eq!(script_position("    at host:3:1"), None);
    }
}
