//! Wishes that take a while: what is asked of the rest of the program away from the screen.

use futures_util::future::BoxFuture;

use crate::backend::{SessionBackend, StandingPermission};
use crate::editor::EditorRequest;
use crate::msg::{BackendReply, UiCommand};
use crate::terminal;
use synthdev_domain::ids::RunId;

/// What takes a while, away from the screen; outside, what is answered from memory.
#[expect(clippy::too_many_lines, reason = "one match: a case for each kind, a line or two in each")]
pub(super) fn start_async_command(
    backend: &dyn SessionBackend,
    cmd: UiCommand,
) -> Result<BoxFuture<'static, BackendReply>, UiCommand> {
    Ok(match cmd {
        UiCommand::Runs(filter, wanted) => {
            let list = backend.runs(filter);
            Box::pin(async move {
                BackendReply::Runs { list_purpose: wanted, list: list.await, at: terminal::current_time() }
            })
        }
        UiCommand::Search(words) => {
            let lines = backend.search_history(words.clone());
            Box::pin(async move {
                BackendReply::Found { search_words: words, lines: lines.await, at: terminal::current_time() }
            })
        }
        UiCommand::Past(run) => {
            let (glance, whole) = (backend.load_run_preview(run.clone()), full_run_reply(backend, run));
            Box::pin(async move {
                match glance.await {
                    Some(glance) => BackendReply::Glance(Box::new(glance)),
                    None => whole.await,
                }
            })
        }
        UiCommand::Whole(run) => full_run_reply(backend, run.0),
        UiCommand::Earlier(run, before) => {
            let items = backend.load_earlier_items(run.clone(), before);
            Box::pin(async move { BackendReply::Earlier { run, before_entry: before, items: items.await } })
        }
        UiCommand::Resume(run) => resume_reply(backend.resume_run(run.clone()), run),
        UiCommand::Retry(run) => resume_reply(backend.retry_run(run.clone()), run),
        UiCommand::Archive(number, asked) => {
            let told = backend.request_history(*asked);
            Box::pin(async move { BackendReply::Archive(number, Box::new(told.await)) })
        }
        UiCommand::Review { run, agent } => {
            let text = backend.inspect_last_call(run, agent);
            Box::pin(async move { BackendReply::Reviewed(text.await) })
        }
        UiCommand::AllowAlways(permission) => allow_always(backend, permission),
        UiCommand::Steps(run) => {
            let steps = backend.steps(run);
            Box::pin(async move { BackendReply::Steps(steps.await) })
        }
        UiCommand::Plan(travel) => {
            let plan = backend.preview_time_travel(travel);
            Box::pin(async move { BackendReply::Planned(plan.await) })
        }
        UiCommand::Travel(travel) => {
            let done = backend.perform_time_travel(travel);
            Box::pin(async move { BackendReply::Travelled(done.await) })
        }
        UiCommand::Snapshot(command, purpose) => {
            let text = backend.snapshot(command.clone());
            Box::pin(async move { BackendReply::Snapshot { command, purpose, text: text.await } })
        }
        UiCommand::Setup(number, asked) => {
            let told = backend.request_setup(*asked);
            Box::pin(async move { BackendReply::Setup(number, told.await) })
        }
        UiCommand::Edit(number, asked) => edit_reply(backend, number, *asked),
        UiCommand::Files => {
            let files = backend.files();
            Box::pin(async move { BackendReply::Files(files.await) })
        }
        UiCommand::Recall => {
            let found = backend.load_recalled_input();
            Box::pin(async move { BackendReply::Recalled(found.await) })
        }
        UiCommand::Page(page) => {
            let page = backend.load_lookup_page(page);
            Box::pin(async move { BackendReply::Page(page.await) })
        }
        UiCommand::Shell(command, sure) => {
            let told = backend.run_shell_command(command.clone(), sure);
            Box::pin(async move { BackendReply::Shell { command, outcome: told.await } })
        }
        UiCommand::Task(deed) => {
            let told = backend.apply_task_list_command(deed.clone());
            Box::pin(async move { BackendReply::Tasks { command: deed, outcome: told.await } })
        }
        UiCommand::Suggest(number, words) => {
            let told = backend.suggest_shell_command(words);
            Box::pin(async move { BackendReply::Suggested(number, told.await, terminal::current_time()) })
        }
        UiCommand::Index(number, asked) => {
            let told = backend.request_indexing(asked);
            Box::pin(async move { BackendReply::Index(number, told.await, terminal::current_time()) })
        }
        UiCommand::Control(run, control) => {
            let told = backend.control_run(run, control);
            Box::pin(async move { BackendReply::Controlled(control, told.await) })
        }
        UiCommand::Definition(run) => {
            let found = backend.definition(run.clone());
            Box::pin(async move { BackendReply::Defined { run, definition: found.await.map(Box::new) } })
        }
        other => return Err(other),
    })
}

fn allow_always(
    backend: &dyn SessionBackend,
    permission: StandingPermission,
) -> BoxFuture<'static, BackendReply> {
    let saved = backend.allow_always(permission);
    Box::pin(async move { BackendReply::AllowedAlways(saved.await) })
}

fn resume_reply(
    result: BoxFuture<'static, Result<(), String>>,
    run: RunId,
) -> BoxFuture<'static, BackendReply> {
    Box::pin(async move { BackendReply::Resumed { run, result: result.await } })
}

fn edit_reply(
    backend: &dyn SessionBackend,
    number: u64,
    asked: EditorRequest,
) -> BoxFuture<'static, BackendReply> {
    let told = backend.request_edit(asked);
    Box::pin(async move { BackendReply::Edit(number, told.await) })
}

/// Nothing is read before it is asked for its answer.
fn full_run_reply(backend: &dyn SessionBackend, run: String) -> BoxFuture<'static, BackendReply> {
    let past = backend.load_past_run(run.clone());
    Box::pin(async move { BackendReply::Past { run, past_run: past.await.map(Box::new) } })
}
