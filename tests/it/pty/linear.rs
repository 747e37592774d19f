//! `--linear`: lines in a terminal and through pipes, without one escape sequence.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::json;

use super::ENTER;
use super::terminal::Terminal;
use crate::cli::world::wait_for;
use crate::support::model_server::{Behaviour, ModelServer};

/// The product between two pipes, in an empty project with an empty home directory: what it printed, and how it ended.
fn run_piped(arguments: &[&str], environment: &[(&str, &str)], lines: &str) -> (String, Option<i32>) {
    piped_at(crate::support::temporary::temp_directory().path(), arguments, environment, lines)
}

/// The same with a home directory that stays.
pub fn piped_at(
    home: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
    lines: &str,
) -> (String, Option<i32>) {
    let project = home.join("project");
    std::fs::create_dir_all(&project).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_synthdev"))
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .envs(environment.iter().copied())
        .current_dir(&project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (text, output.status.code())
}

fn assert_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part);
        assert!(at.is_some(), "{part:?} is missing after the others in\n{text}");
        rest = &rest[at.unwrap() + part.len()..];
    }
}

async fn model(script: Vec<Behaviour>) -> (ModelServer, Vec<(&'static str, String)>) {
    let server = ModelServer::start_server(script).await;
    let variables = vec![
        ("SYNTHDEV_BASE_URL", server.base_url.clone()),
        ("SYNTHDEV_BASE_MODEL", "mock-1".to_owned()),
        ("SYNTHDEV_API_KEY", "sk-test".to_owned()),
        ("NO_COLOR", "1".to_owned()),
    ];
    (server, variables)
}

fn borrow_variables(variables: &[(&'static str, String)]) -> Vec<(&'static str, &'static str)> {
    variables.iter().map(|(name, value)| (*name, &*value.clone().leak())).collect()
}

#[test]
fn the_demo_through_pipes() {
    let (text, code) = run_piped(
        &["--linear", "demo"],
        &[],
        "y\nr\n/later\n/back\n/back\n/later\nr\nnot yet\nperhaps\ns\na\n\n",
    );
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert_in_order(
        &text,
        &[
            "question: Allow coder to change files: write_file?",
            "  y. allow once\n",
            "  s. allow this tool for this session\n",
            "  a. always: a rule in your settings, shown first\n",
            "  e. edit the text first\n",
            "  n. deny\n",
            "  r. deny with a reason\n",
            "question: Allow coder to execute: execute_terminal?",
            "reason (optional): type it",
            "/back leaves what is typed; then /later leaves the question",
            // the second one finds no reason to leave, and denies nothing
            "/back leaves a reason, a rule or a changed call: none of them is open",
            "this question cannot be left for later here: /esc denies",
            "reason (optional): type it",
            "coder (code): Done: slug.sh now",
            "state: code → review",
            "`perhaps` is no answer: type one of y, s, a, e, n, r",
            "type another rule, or an empty line to write this one",
            "  approvals.tools.edit_file = allow",
            "coder_reviewer completed",
        ],
    );
    let project =
        text.split("The sample project is in ").nth(1).and_then(|rest| rest.split_whitespace().next());
    assert!(!Path::new(project.unwrap()).exists(), "the demo leaves nothing behind: {text}");
}

#[test]
fn a_second_workflow_is_told_which_run_goes_on_and_what_can_be_done() {
    // the scripted replies of the first one stay in their place
    let lines = "/workflow coder_reviewer again\n/workflow coder_reviewer\ns\ns\ns\n";
    let (text, code) = run_piped(&["--linear", "demo"], &[], lines);
    assert_eq!(code, Some(0), "{text}");
    assert_in_order(
        &text,
        &[
            "workflow coder_reviewer was not started:",
            "of coder_reviewer is still going on, and the demo's script plays one at a time",
            "end it with /stop first",
            "coder_reviewer wants an input: task_to_do — answer the open question first, then type it",
            "coder_reviewer goes on meanwhile (run ",
            "coder_reviewer completed",
        ],
    );
    let home = crate::support::temporary::temp_directory();
    let own = home.path().join(".config/synthdev/workflows");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("gated.json"), super::resuming::gated_workflow().to_string()).unwrap();
    let (text, _) = piped_at(home.path(), &["--linear"], &[], "/workflow gated\n/workflow gated\nn\n");
    assert_in_order(
        &text,
        &[
            "to execute: shell?",
            "workflow gated was not started:",
            "of workflow `gated` is still going on here: two runs would change the same files",
            "wait for it, end it with /stop, or start this one beside it: /workflow NAME --isolate",
        ],
    );
    assert!(!text.contains("(process "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_through_pipes_waits_for_its_answers() {
    let (server, variables) =
        model(vec![Behaviour::text("First \u{1b}[2Janswer.\nTwo lines."), Behaviour::text("Second.")]).await;
    let variables = borrow_variables(&variables);
    let lines = "one \\\nmore\n/runs\n/mouse on\n/wrkflow\ntwo\n/agents\n";
    let run = move || run_piped(&["--linear"], &variables, lines);
    let (text, code) = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(!text.contains("this waits until"), "the first text begins the conversation: {text}");
    assert_in_order(
        &text,
        &[
            "you:\none \nmore\n",
            "coder: First answer.\nTwo lines.\n",
            // the price of this model is not known
            "cost (? no price is known), input",
            "/mouse is about the screen",
            "did you mean /workflow?",
            "you: two\n",
            "coder: Second.\n",
            "Agents",
        ],
    );
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_in_a_terminal_is_lines_and_a_prompt() {
    let (_server, variables) =
        model(vec![Behaviour::text("An answer."), super::unfinished_answer("half")]).await;
    let mut terminal = Terminal::start_product(&["--linear"], &borrow_variables(&variables));
    terminal.wait_for("role:coder>");
    terminal.press_keys("hello");
    terminal.press_keys(ENTER);
    terminal.wait_for("coder: An answer.");
    terminal.press_keys("again\r");
    terminal.wait_for("you: again");
    // only for the program: the shell around it would end as well
    terminal.send_signal("INT");
    terminal.wait_for("stopping");
    terminal.press_keys("/exit\r");
    let end = terminal.wait_end();
    assert!(end.contains("exit=0"), "{end}");
    terminal.assert_never_shown("\u{1b}");
}

#[test]
fn signals_end_it_and_the_code_says_so() {
    for (signal, code) in [("HUP", 129), ("TERM", 143)] {
        let mut terminal = Terminal::start_product(&["--linear"], &[]);
        terminal.wait_for("role:coder>");
        terminal.send_signal(signal);
        let end = terminal.wait_end();
        assert!(end.contains(&format!("exit={code}")), "{signal}: {end}");
    }
}

/// What it did stays, and what it was asked is asked again.
#[test]
fn a_hang_up_leaves_the_run() {
    let mut terminal = Terminal::with_workflow("gated", &super::resuming::gated_workflow());
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/exit\r");
    terminal.wait_end();
    let mut terminal = terminal.again_with(&["--linear"]);
    terminal.wait_for("role:coder>");
    terminal.press_keys("/workflow gated\r");
    terminal.wait_for("to execute: shell?");
    terminal.press_keys("y\r");
    terminal.wait_for("gate: your approval");
    terminal.send_signal("HUP");
    let end = terminal.wait_end();
    assert!(end.contains("exit=129"), "{end}");
    super::resuming::assert_resumes(&terminal);
}

#[tokio::test(flavor = "multi_thread")]
async fn esc_interrupts_a_workflow_and_ctrl_c_ends_it_as_on_the_screen() {
    let (server, variables) = model(vec![
        super::unfinished_answer("half of it"),
        Behaviour::text("All of it."),
        super::unfinished_answer("again"),
        super::unfinished_answer("and again"),
    ])
    .await;
    let home = Arc::new(crate::support::temporary::temp_directory());
    let own = home.path().join(".config/synthdev/workflows");
    std::fs::create_dir_all(&own).unwrap();
    let workflow = json!({
        "workflow_name": "tell",
        "input": {"name": "task", "type": "string"},
        "contexts": [{"name": "talk"}],
        "agents": [{"name": "coder", "agent_role": "coder", "context": "talk", "role": "assistant"}],
        "states": [
            {"name": "start", "agent": "coder", "input": "common_data.task", "transition": [{"target": "stop"}]},
            {"name": "stop"},
        ],
    });
    std::fs::write(own.join("tell.json"), workflow.to_string()).unwrap();
    let mut terminal = Terminal::at_home(home, &["--linear"], &borrow_variables(&variables));
    terminal.wait_for("role:coder>");
    terminal.press_keys("/workflow tell go\r");
    wait_for("the model is asked", || (server.requests().len() == 1).then_some(()));
    terminal.press_keys("/esc\r");
    terminal.wait_for("interrupted in start");
    terminal.wait_for("workflow:tell>");
    terminal.press_keys("shorter please\r");
    terminal.wait_for("tell completed");
    // whether the first half had arrived before the signal is not certain here
    let request = server.requests().last().unwrap().body.to_string();
    assert!(request.contains("shorter please"), "{request}");
    // for a stopped one, the program asks
    terminal.press_keys("/workflow tell more\r");
    wait_for("the model is asked", || (server.requests().len() == 3).then_some(()));
    terminal.press_keys("/esc\r");
    terminal
        .wait_until("it stands still again", |screen| screen.matches("interrupted in start").count() == 2);
    terminal.press_keys("/esc\r");
    terminal.wait_for("question: End tell?");
    terminal.press_keys("y\r");
    terminal.wait_for("tell cancelled in");
    // what runs is ended at once
    terminal.press_keys("/workflow tell once more\r");
    wait_for("the model is asked", || (server.requests().len() == 4).then_some(()));
    terminal.send_signal("INT");
    terminal.wait_until("it is ended", |screen| screen.matches("tell cancelled in").count() == 2);
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
    terminal.assert_never_shown("\u{1b}");
}

#[test]
fn ctrl_c_drops_a_text_that_is_not_finished_and_keys_are_those_of_lines() {
    let mut terminal = Terminal::start_product(&["--linear"], &[]);
    terminal.wait_for("role:coder>");
    terminal.press_keys("half a text \\\r");
    terminal.press_keys("its second line \\\r");
    terminal.wait_until("both lines are read", |screen| screen.matches("role:coder>").count() == 3);
    terminal.send_signal("INT");
    terminal.wait_for("the text was dropped · Ctrl+C again leaves");
    terminal.press_keys("/keys\r");
    terminal.wait_for("/esc             what Esc is on the screen");
    terminal.press_keys("/exit\r");
    let end = terminal.wait_end();
    assert!(end.contains("exit=0") && !end.contains("editor_save"), "{end}");
}

/// A long question is read to its end, with the same rule as on the screen.
#[test]
fn a_long_question_in_a_terminal_is_printed_in_pages() {
    let message = (1..=80).map(|row| format!("row {row}")).collect::<Vec<_>>().join("\n");
    let workflow = json!({
        "workflow_name": "long",
        "states": [
            {"name": "start", "type": "pause", "kind": "choice", "message": message, "choices": ["go", "leave"],
             "output": {"as": "decision"}, "transition": [{"target": "stop"}]},
            {"name": "stop"},
        ],
    });
    let mut terminal = Terminal::with_workflow("long", &workflow);
    terminal.wait_for("message, or / for commands");
    terminal.press_keys("/exit\r");
    terminal.wait_end();
    let mut terminal = terminal.again_with(&["--linear"]);
    terminal.wait_for("role:coder>");
    terminal.press_keys("/workflow long\r");
    terminal.wait_for("an empty line shows more; 1, 2, l>");
    terminal.press_keys("1\r");
    terminal.wait_for("note: read to the end first, then answer");
    for _ in 0..8 {
        terminal.press_keys("\r");
    }
    terminal.wait_for("row 80");
    terminal.wait_for("2. leave");
    terminal.press_keys("1\r");
    terminal.wait_for("long completed");
    terminal.press_keys("/exit\r");
    assert!(terminal.wait_end().contains("exit=0"));
}

/// What runs until it is stopped is no answer that the next line, or the end of the lines, has to wait for.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_the_background_holds_no_line_up() {
    let arguments = json!({"command": "sleep 1000", "background": true}).to_string();
    let (_server, variables) = model(vec![
        Behaviour::calls(&[("t1", "execute_terminal", &arguments)]),
        Behaviour::text("It is started."),
        Behaviour::text("It still runs."),
    ])
    .await;
    let variables = borrow_variables(&variables);
    let lines = "start the server\ny\n/agents\nand now?\n/cost\n";
    let run = move || run_piped(&["--linear"], &variables, lines);
    let (text, code) = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(code, Some(0), "{text}");
    assert_in_order(
        &text,
        &[
            "question: Allow coder to execute: execute_terminal?",
            "coder: It is started.",
            "in the background: c1 sleep 1000 · less than a minute",
            "coder: It still runs.",
            "by run",
        ],
    );
}

#[test]
fn it_is_for_the_screen_only() {
    let (text, code) = run_piped(&["--linear", "workflows"], &[], "");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--linear is about the screen"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_beside_the_conversation_answer_from_the_real_thing() {
    let (_server, variables) = model(vec![Behaviour::text("An answer.")]).await;
    let variables = borrow_variables(&variables);
    let lines = "one\n/export out.md\n/export out.md\n/config theme\n/cmd echo $((6*7))\n/cmd git reset --hard\nn\n\
        /graph coder_reviewer\n/graph nothing\n/trust\n/budget\n/models nobody\n/agent coder\n";
    let (text, code) =
        tokio::task::spawn_blocking(move || run_piped(&["--linear"], &variables, lines)).await.unwrap();
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("sk-test"), "{text}");
    assert_in_order(
        &text,
        &[
            "coder: An answer.",
            "written to out.md",
            "out.md exists: it was left as it is",
            "theme",
            "$ echo $((6*7)) · ",
            "exit 0: 42\n",
            "question: Run this command?",
            "  n. leave it",
            "nothing was changed",
            "Graph of coder_reviewer",
            "review",
            "there is no workflow `nothing` — /workflows lists them",
            "this project has no definitions of its own",
            "no end set",
            "there is no provider `nobody`",
            "hint: ",
            "An answer.",
        ],
    );
}

#[test]
fn a_run_that_stands_is_gone_on_with_through_pipes() {
    let lines = "/approvals\n/pause\ns\ns\n/status\n/continue\ns\ns\ns\n/st\\\n";
    let (text, code) = run_piped(&["--linear", "demo"], &[], lines);
    assert_eq!(code, Some(0), "{text}");
    assert_in_order(
        &text,
        &[
            "Allow coder to change files",
            "1 coder_reviewer",
            "stopped before",
            "Status",
            "stopped: before",
            "coder_reviewer completed",
            "unknown command /st",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_a_model_writes_is_run_only_when_the_person_says_so() {
    let (server, mut variables) = model(vec![
        Behaviour::text("Try this:\n```sh\necho $((6*7))\n```\nIt prints a number."),
        Behaviour::text("```\nrm -rf nothing\n```"),
        Behaviour::text("cd x\u{1b}[2J"),
        Behaviour::text("I have read it."),
    ])
    .await;
    variables.push(("SYNTHDEV_FAST_MODEL", "mock-1".to_owned()));
    variables.push(("SYNTHDEV_CMD_ADD_OUTPUT", "true".to_owned()));
    let variables = borrow_variables(&variables);
    let lines =
        "/cmd ??? the answer\ny\n/cmd ?clean up\nn\n/cmd ?x\n/cmd ???\n/cmd\n/cmd 1\ny\nwhat is it?\n/cost\n";
    let (text, code) =
        tokio::task::spawn_blocking(move || run_piped(&["--linear"], &variables, lines)).await.unwrap();
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("sk-test"), "{text:?}");
    assert_in_order(
        &text,
        &[
            "? the answer",
            "mock-1 suggests: $ echo $((6*7))",
            "question: Run this command?",
            "exit 0: 42\n",
            "goes along with your next text",
            "? clean up",
            "! This command deletes directories for good.",
            "question: Run this command?",
            "nothing was changed",
            "characters that cannot be seen: it was not taken",
            "say what the command shall do",
            "Last commands:  1  echo $((6*7))",
            "question: Run this command?",
            "coder: I have read it.",
            "by run",
            "beside the runs",
        ],
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    let asked = requests[0].body.to_string();
    assert!(asked.contains("the answer") && asked.contains("one command line"), "{asked}");
    let told = requests[3].body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("42") && told.contains("what is it?"), "{told}");
}

#[test]
fn verbosity_changes_what_is_told_and_what_is_logged() {
    let home = crate::support::temporary::temp_directory();
    let run = |lines: &str| piped_at(home.path(), &["--linear", "demo"], &[], lines);
    let log = home.path().join(".local/share/synthdev/synthdev.log");
    let (text, code) = run("y\ns\ns\ns\ns\ns\n/verbosity\n");
    assert_eq!(code, Some(0), "{text}");
    assert_in_order(&text, &["coder_reviewer completed", "verbosity 2: warnings and errors are logged"]);
    assert!(!text.contains("data: ") && !log.exists(), "{text}");
    let (text, code) = run("/verbosity 4\n/verbosity 6\ns\ns\ns\ns\ns\n");
    assert_eq!(code, Some(0), "{text}");
    assert_in_order(&text, &["verbosity 4: states", "results and data are shown", "data: ", "completed"]);
    assert!(text.contains("/verbosity is a number from 0 to 5, not `6`"), "{text}");
    let told = std::fs::read_to_string(log).unwrap();
    assert!(told.contains(" DEBUG ") && told.contains("model called"), "{told}");
}
