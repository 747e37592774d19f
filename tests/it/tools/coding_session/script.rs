//! What the scripted model of the coding session does: its calls in order, a round for each of its replies.

use serde_json::{Value, json};

const PATCH: &str = "*** Begin Patch\n*** Update File: tests/check.sh\n@@\n-[ \"$(sh src/sum.sh prices.csv)\" = 7 ] && echo passed\n\
    +[ \"$(sh src/sum.sh prices.csv)\" = 7 ] || exit 1\n+[ \"$(sh src/average.sh prices.csv)\" = 3.5 ] && echo passed\n\
    *** Delete File: notes/old.txt\n*** Add File: notes/new.txt\n+average: the sum by the count\n*** End Patch";

/// One call of a model.
pub(super) struct ScriptedCall {
    pub(super) tool: &'static str,
    pub(super) arguments: String,
    /// A wrong call: what it is answered with.
    pub(super) refusal: Option<&'static str>,
    /// What the history says of it; a `multicall` has what it says of its inner calls.
    pub(super) recorded: Vec<RecordedCall>,
}

/// The tool, and what is wrong with the call if something is.
pub(super) type RecordedCall = (&'static str, Option<&'static str>);

fn call(tool: &'static str, arguments: String, refusal: Option<&'static str>) -> ScriptedCall {
    ScriptedCall { tool, arguments, refusal, recorded: vec![(tool, refusal)] }
}

fn good(tool: &'static str, arguments: Value) -> ScriptedCall {
    call(tool, arguments.to_string(), None)
}

fn wrong(tool: &'static str, arguments: Value, told: &'static str) -> ScriptedCall {
    call(tool, arguments.to_string(), Some(told))
}

/// A call whose arguments end before their end.
fn cut_off(tool: &'static str, arguments: &str) -> ScriptedCall {
    call(tool, arguments.to_owned(), Some("the arguments are not valid JSON: EOF while parsing"))
}

fn several(inner: Vec<ScriptedCall>) -> ScriptedCall {
    let shown = inner.iter().map(
        |one| json!({"tool": one.tool, "arguments": serde_json::from_str::<Value>(&one.arguments).unwrap()}),
    );
    let arguments = json!({"calls": shown.collect::<Vec<_>>()}).to_string();
    let recorded = inner.into_iter().flat_map(|one| one.recorded).collect();
    ScriptedCall { recorded, ..call("multicall", arguments, None) }
}

pub(super) type Rounds = Vec<Vec<ScriptedCall>>;

fn looking_around() -> Rounds {
    vec![
        vec![
            good("list_directory", json!({"directory_path": ".", "recursive": true})),
            good("glob", json!({"pattern": "**/*.sh"})),
            good("read_files", json!({"file_paths": ["README.md", "src/sum.sh"]})),
            wrong("open_file", json!({"path": "README.md"}), "there is no tool `open_file` for `lead`"),
        ],
        vec![
            good("explain_codebase", json!({"question": "Where is sum.sh?"})),
            good("read_files", json!({"file_paths": ["src/sum.sh"], "summary": true})),
            wrong("explain_codebase", json!({"question": ""}), "`question` must not be empty"),
            wrong("read_files", json!({"file_paths": ["../../etc/passwd"]}), "is outside the project"),
        ],
        vec![
            good("exact_search", json!({"search_string": "total"})),
            good("exact_search", json!({"pattern": "pri[c]es"})),
            wrong("exact_search", json!({"pattern": "("}), "unclosed group"),
            wrong(
                "list_directory",
                json!({"directory_path": ".", "max_depth": 11}),
                "must be at most 10, not 11",
            ),
            wrong("glob", json!({"pattern": "*", "directory_path": ".."}), "is outside the project"),
        ],
        vec![
            good("execute_terminal", json!({"command": "git log --format=%s"})),
            good("execute_terminal", json!({"command": "sh tests/check.sh"})),
            wrong(
                "execute_terminal",
                json!({"command": "ls", "directory": "../.."}),
                "is outside the project",
            ),
        ],
        vec![
            good("calculate", json!({"expression": "(3 + 4) / 2"})),
            wrong("calculate", json!({"expression": "(3 + 4"}), "column 7: a `)` is missing"),
            good("get_time", json!({"at": "2026-01-01T00:00:00Z", "time_zone": "Asia/Tokyo"})),
            wrong(
                "get_time",
                json!({"time_zone": "Moon/Sea"}),
                "`Moon/Sea` is not in the time zone database",
            ),
            good(
                "execute_script",
                json!({"script": "return readFile('prices.csv').trim().split('\\n').length - 1;"}),
            ),
            wrong("execute_script", json!({"script": "return ("}), "SyntaxError"),
        ],
    ]
}

fn changing_files() -> Rounds {
    let average = "awk -F, 'NR > 1 { total += $2; count += 1 } END { print total / count }' \"$1\"\n";
    vec![
        vec![
            cut_off("write_file", "{\"file_path\": \"src/average.sh\", \"content"),
            wrong(
                "write_file",
                json!({"file_path": "../outside.sh", "content": average}),
                "is outside the project",
            ),
        ],
        vec![
            good("write_file", json!({"file_path": "src/average.sh", "content": average})),
            good(
                "edit_file",
                json!({"file_path": "README.md", "old_text": "Adds up", "new_text": "Adds up and averages"}),
            ),
            wrong(
                "edit_file",
                json!({"file_path": "README.md", "old_text": "Subtracts", "new_text": "x"}),
                "was not found in the file",
            ),
        ],
        vec![
            wrong(
                "apply_patch",
                json!({"patch": PATCH.replace("exit 1", "exit 1\n-no such line")}),
                "nothing was changed",
            ),
            good("apply_patch", json!({"patch": PATCH})),
            good("execute_terminal", json!({"command": "sh tests/check.sh && git status --porcelain"})),
        ],
        vec![
            several(vec![
                good("read_files", json!({"file_paths": ["notes/new.txt"]})),
                wrong("read_files", json!({"file_paths": ["notes/old.txt"]}), "it does not exist"),
                good(
                    "write_file",
                    json!({"file_path": "notes/by-multicall.txt", "content": "one of several\n"}),
                ),
            ]),
            // no inner call, so nothing that the history could say
            ScriptedCall {
                recorded: Vec::new(),
                ..wrong("multicall", json!({"calls": []}), "`calls` holds 0 calls")
            },
        ],
    ]
}

fn background_commands() -> Rounds {
    vec![
        vec![
            good(
                "execute_terminal",
                json!({"command": "while read -r line; do echo \"heard $line\"; done", "background": true}),
            ),
            good("send_input", json!({"id": "c1", "input": "hello\n", "wait_seconds": 20})),
            good("read_output", json!({"id": "c1", "from": 0, "wait_seconds": 20})),
            wrong("read_output", json!({"id": "c9"}), "no background command `c9`"),
            wrong("send_input", json!({"id": "c9", "input": "x"}), "no background command `c9`"),
        ],
        vec![
            // too long for an answer: kept as what a background command prints
            good("execute_terminal", json!({"command": "seq 1 2000"})),
            good("read_output", json!({"id": "c2", "from": 4000, "max_bytes": 50})),
            good("stop_command", json!({"id": "c1"})),
            wrong("stop_command", json!({"id": "c9"}), "no background command `c9`"),
            good("read_output", json!({})),
        ],
    ]
}

/// The third agent never answers: it works until it is stopped.
fn leading_others() -> Rounds {
    let spawn =
        |task: &str, background: bool| json!({"role": "helper", "task": task, "background": background});
    vec![
        vec![
            good("task_add", json!({"title": "write a page"})),
            wrong("task_add", json!({}), "`title` is missing"),
            good("notes_write", json!({"key": "style", "text": "short"})),
            wrong("notes_write", json!({"key": "style"}), "`text` is missing"),
            wrong("spawn_agent", json!({"role": "nobody", "task": "x"}), "the role `nobody` is not enabled"),
            good("spawn_agent", spawn("Take the task.", false)),
        ],
        vec![
            good("spawn_agent", spawn("Look at it.", true)),
            good("wait_for_agents", json!({"agents": ["helper-2"]})),
            wrong("wait_for_agents", json!({"agents": ["helper-7"]}), "you have started no agent `helper-7`"),
        ],
        vec![
            good("spawn_agent", spawn("Think for ever.", true)),
            good("get_agents", json!({})),
            cut_off("get_agents", "{"),
            good("speak_to_agent", json!({"agent": "helper-3", "message": "Hurry."})),
            wrong("speak_to_agent", json!({"agent": "helper-3"}), "`message` is missing"),
            good("despawn_agent", json!({"agent": "helper-3"})),
            wrong("despawn_agent", json!({"agent": "helper-3"}), "has ended: despawned"),
        ],
        vec![
            good("notes_read", json!({})),
            wrong("notes_read", json!({"key": "nothing"}), "there is no note `nothing`"),
            wrong("task_take", json!({"id": 1}), "task 1 is done by helper-1"),
            wrong("task_done", json!({"id": 1}), "you have not taken task 1"),
            wrong("return_results", json!({"result": "x"}), "there is no tool `return_results` for `lead`"),
        ],
    ]
}

/// The web, tools of the user, a server of tools, and the user.
fn beyond_the_project(port: u16) -> Rounds {
    vec![
        vec![
            good("web_fetch", json!({"url": format!("http://127.0.0.1:{port}/page")})),
            wrong("web_fetch", json!({"url": "http://127.0.0.1:1/"}), "its address is not public"),
            wrong("web_fetch", json!({"url": "file:///etc/passwd"}), "must begin with http:// or https://"),
        ],
        vec![
            good("greet", json!({"name": "Ada"})),
            wrong("greet", json!({"name": 1}), "is not of type \\\"string\\\""),
            good("s__look", json!({})),
            wrong("s__die", json!({}), "it ended during the call"),
        ],
        vec![
            wrong("request_users_input", json!({"question": ""}), "`question` is missing"),
            good("request_users_input", json!({"question": "Commit it?", "choices": ["yes", "no"]})),
            good("execute_terminal", json!({"command": "sh tests/check.sh"})),
        ],
    ]
}

pub(super) fn lead_rounds(port: u16) -> Rounds {
    [looking_around(), changing_files(), background_commands(), leading_others(), beyond_the_project(port)]
        .into_iter()
        .flatten()
        .collect()
}

/// What the first two started agents do.
pub(super) fn helper_rounds() -> Rounds {
    vec![
        vec![
            good("notes_read", json!({"key": "style"})),
            good("task_take", json!({})),
            good("write_file", json!({"file_path": "notes/by-helper.txt", "content": "a page\n"})),
            good("task_done", json!({"id": 1, "result": "written"})),
        ],
        vec![
            wrong("return_results", json!({}), "missing field `result`"),
            good("return_results", json!({"result": "done", "files": ["notes/by-helper.txt"]})),
        ],
        vec![good("return_results", json!({"result": "seen"}))],
    ]
}
