//! `execute_script`: JavaScript of an agent in the same isolation as workflow scripts.
//! Reads files of the project where the agent may; refuses to write, to reach the network, and to wait.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::javascript::{ScriptFileReader, ScriptLimits, ScriptWorkerPool};
use synthdev_domain::ids::ScriptIx;
use synthdev_domain::script::{
    ScopeView, ScriptError, ScriptErrorKind, ScriptForm, ScriptJob, ScriptKind, ScriptOutcome, ScriptTask,
    WorkflowScript,
};
use synthdev_domain::source_location::SourceLocation;
use synthdev_domain::tool::{ToolRisk, ToolSpec};
use synthdev_ports::script::ScriptPort;

use super::load_file::load_bytes;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use super::truncated_output::shorten_line;

pub(super) const NAME: &str = synthdev_domain::tool::EXECUTE_SCRIPT;

/// Most bytes of a script.
const LONGEST: usize = 50 * 1024;

/// Longest time a call may ask for, and the usual one, in seconds.
const MOST_SECONDS: u64 = 30;
const USUAL_SECONDS: u64 = 10;

const MEMORY: usize = 64 << 20;

/// Scripts that run at once: each may fill its memory.
pub(super) const SCRIPTS_AT_ONCE: usize = 4;

/// What surrounds the script, so that one answer holds the console's lines, the result and the error: one line before
/// it, as the host adds another. A lack of memory is thrown on, for the host to name.
const HEAD: &str =
    "function(host){const place=/workflow-script:(\\d+):(\\d+)/;try{const value=(function(readFile){\n";
const TAIL: &str = "\n}).call(undefined,(path)=>host.readFile(path));
if(value instanceof Promise)throw new TypeError(\"scripts cannot wait: remove async, await and promises\");
if(value===undefined)return{};
const plain=(key,part)=>typeof part===\"bigint\"?String(part):part;
const text=typeof value===\"string\"||typeof value===\"bigint\"?String(value):JSON.stringify(value,plain,2);
return text===undefined?{}:{text};
}catch(error){
if(error===null||error?.message===\"out of memory\")throw error;
const at=place.exec(error?.stack??\"\")??[];
return{error:error instanceof Error?`${error.name}: ${error.message}`:String(error),line:Number(at[1]??0)-2};
}}";

#[derive(Deserialize)]
pub(super) struct ExecuteScriptArguments {
    script: String,
    timeout_seconds: Option<u64>,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Run JavaScript (ES2023) to calculate, or to sort, count and compare data; nothing is changed. The \
            script is the body of a function: `return` gives the result, `console.log` prints. `readFile(path)` gives \
            the text of a file of the project, if you may read files. There are no modules, timers, promises, network \
            or processes. Examples: `return [3, 1, 2].sort()`, `const rows = readFile(\"data.csv\").trim().split(\"\\n\"); \
            return rows.length - 1`."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["script"],
            "properties": {
                "script": {"type": "string", "minLength": 1,
                    "description": "The script, at most 50 KB."},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS, "default": USUAL_SECONDS,
                    "description": "Stop the script after this many seconds."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

/// `may_read`: the caller may read files of the project.
pub(super) async fn run_tool(
    project: &Arc<ToolContext>,
    arguments: ExecuteScriptArguments,
    may_read: bool,
) -> ToolAnswer {
    if arguments.script.len() > LONGEST {
        return ToolAnswer::failure(format!(
            "`script` has {} bytes and the limit is {LONGEST}; read data with readFile instead of writing it out",
            arguments.script.len()
        ));
    }
    let seconds = arguments.timeout_seconds.unwrap_or(USUAL_SECONDS);
    let limits =
        ScriptLimits { time: Duration::from_secs(seconds), memory: MEMORY, ..ScriptLimits::default() };
    let _slot = project.script_slots.acquire().await;
    let pool = ScriptWorkerPool::with_file_reader(limits, file_reader(project, may_read));
    let last_line = arguments.script.trim_end().split('\n').count();
    match pool.evaluate(script_job(&arguments.script)).await {
        Ok(outcome) => answer_for_outcome(outcome, last_line),
        Err(error) => ToolAnswer::failure(describe_error(&error, seconds, last_line)),
    }
}

/// Reads through the same check of paths as `read_files`.
fn file_reader(project: &Arc<ToolContext>, may_read: bool) -> ScriptFileReader {
    let project = Arc::clone(project);
    Arc::new(move |path: &str| {
        if !may_read {
            return Err(
                "readFile is not available: this agent may not read files (it lacks read_files)".to_owned()
            );
        }
        let spot = project.path_guard.resolve_readable(path).map_err(|error| error.to_string())?;
        let blame = |why: String| format!("`{}` was not read: {why}", spot.relative);
        let bytes = load_bytes(&project.path_guard, &spot).map_err(&blame)?;
        String::from_utf8(bytes).map_err(|_| blame("it is no UTF-8 text".to_owned()))
    })
}

fn script_job(text: &str) -> ScriptJob {
    let prepared = format!("{HEAD}{text}{TAIL}");
    let script = WorkflowScript {
        kind: ScriptKind::Action,
        form: ScriptForm::Expression,
        source: prepared.clone(),
        prepared,
        offers: Vec::new(),
        place: SourceLocation::default(),
    };
    let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
    let scope = ScopeView { now_ms: jiff::Timestamp::now().as_millisecond(), seed, ..ScopeView::default() };
    let task = ScriptTask::Values { scripts: vec![ScriptIx(0)] };
    ScriptJob { scripts: Arc::new(vec![script]), scope: Box::new(scope), task }
}

fn answer_for_outcome(outcome: ScriptOutcome, last_line: usize) -> ToolAnswer {
    let empty = Map::new();
    let result = outcome.values.first().and_then(|value| value.as_ref()?.as_object()).unwrap_or(&empty);
    let mut body = outcome.logs.join("\n");
    if let Some(text) = result.get("text").and_then(Value::as_str) {
        if !body.is_empty() {
            body.push_str("\n==> result\n");
        }
        body.push_str(text);
    }
    let lines = outcome.logs.len();
    match result.get("error").and_then(Value::as_str) {
        Some(error) => {
            let line = result.get("line").and_then(Value::as_u64).filter(|line| *line > 0);
            let line = line.and_then(|line| usize::try_from(line).ok());
            let place = line.map_or_else(String::new, |line| format!("line {}: ", line.min(last_line)));
            ToolAnswer::failure(format!("{place}{error}"))
        }
        None if body.is_empty() => ToolAnswer::success("no result")
            .with_fact("notice", "the script returned and printed nothing; end it with `return`"),
        None => ToolAnswer::success(shorten_line(&body, 100)),
    }
    .with_fact("console_lines", lines)
    .body(body)
}

/// `last_line`: a script that lacks its end is only seen to be wrong in what surrounds it.
fn describe_error(error: &ScriptError, seconds: u64, last_line: usize) -> String {
    match error.kind {
        ScriptErrorKind::Time => {
            format!(
                "the script did not end within {seconds} s; do less, or set `timeout_seconds` (at most {MOST_SECONDS})"
            )
        }
        ScriptErrorKind::Memory => {
            format!("the script needs more than {} MB of memory; use smaller pieces", MEMORY >> 20)
        }
        _ if error.line > 1 => format!("line {}: {}", (error.line - 1).min(last_line), error.message),
        _ => error.message.clone(),
    }
}
