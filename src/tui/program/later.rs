//! Wishes that take a while: what is asked of the rest of the program away from the screen.

use futures_util::future::BoxFuture;

use crate::domain::ids::RunId;
use crate::tui::backend::{Backend, StandingPermission};
use crate::tui::editor::Asked as EditAsked;
use crate::tui::msg::{Cmd, Reply};
use crate::tui::terminal;

/// What takes a while, away from the screen; outside, what is answered from memory.
pub(super) fn later(backend: &dyn Backend, cmd: Cmd) -> Result<BoxFuture<'static, Reply>, Cmd> {
    Ok(match cmd {
        Cmd::Runs(filter, wanted) => {
            let list = backend.runs(filter);
            Box::pin(async move { Reply::Runs { wanted, list: list.await, at: terminal::now() } })
        }
        Cmd::Search(words) => {
            let lines = backend.search(words.clone());
            Box::pin(async move { Reply::Found { words, lines: lines.await, at: terminal::now() } })
        }
        Cmd::Past(run) => {
            let (glance, whole) = (backend.glance(run.clone()), whole(backend, run));
            Box::pin(async move {
                match glance.await {
                    Some(glance) => Reply::Glance(Box::new(glance)),
                    None => whole.await,
                }
            })
        }
        Cmd::Whole(run) => whole(backend, run.0),
        Cmd::Earlier(run, before) => {
            let items = backend.earlier(run.clone(), before);
            Box::pin(async move { Reply::Earlier { run, before, items: items.await } })
        }
        Cmd::Resume(run) => resumed(backend.resume(run.clone()), run),
        Cmd::Retry(run) => resumed(backend.retry(run.clone()), run),
        Cmd::Archive(number, asked) => {
            let told = backend.archive(*asked);
            Box::pin(async move { Reply::Archive(number, Box::new(told.await)) })
        }
        Cmd::Review { run, agent } => {
            let text = backend.review(run, agent);
            Box::pin(async move { Reply::Reviewed(text.await) })
        }
        Cmd::AllowAlways(permission) => allow_always(backend, permission),
        Cmd::Steps(run) => {
            let steps = backend.steps(run);
            Box::pin(async move { Reply::Steps(steps.await) })
        }
        Cmd::Plan(travel) => {
            let plan = backend.plan(travel);
            Box::pin(async move { Reply::Planned(plan.await) })
        }
        Cmd::Travel(travel) => {
            let done = backend.travel(travel);
            Box::pin(async move { Reply::Travelled(done.await) })
        }
        Cmd::Snapshot(command, purpose) => {
            let text = backend.snapshot(command.clone());
            Box::pin(async move { Reply::Snapshot { command, purpose, text: text.await } })
        }
        Cmd::Setup(number, asked) => {
            let told = backend.set_up(*asked);
            Box::pin(async move { Reply::Setup(number, told.await) })
        }
        Cmd::Edit(number, asked) => edit(backend, number, *asked),
        other => return looked_up(backend, other),
    })
}

fn looked_up(backend: &dyn Backend, cmd: Cmd) -> Result<BoxFuture<'static, Reply>, Cmd> {
    Ok(match cmd {
        Cmd::Files => {
            let files = backend.files();
            Box::pin(async move { Reply::Files(files.await) })
        }
        Cmd::Recall => {
            let found = backend.recall();
            Box::pin(async move { Reply::Recalled(found.await) })
        }
        Cmd::Page(page) => {
            let page = backend.page(page);
            Box::pin(async move { Reply::Page(page.await) })
        }
        Cmd::Shell(command, sure) => {
            let told = backend.shell(command.clone(), sure);
            Box::pin(async move { Reply::Shell { command, told: told.await } })
        }
        Cmd::Task(deed) => {
            let told = backend.task(deed.clone());
            Box::pin(async move { Reply::Tasks { deed, told: told.await } })
        }
        Cmd::Suggest(number, words) => {
            let told = backend.suggest(words);
            Box::pin(async move { Reply::Suggested(number, told.await, terminal::now()) })
        }
        Cmd::Index(number, asked) => {
            let told = backend.index(asked);
            Box::pin(async move { Reply::Index(number, told.await, terminal::now()) })
        }
        Cmd::Control(run, control) => {
            let told = backend.control(run, control);
            Box::pin(async move { Reply::Controlled(control, told.await) })
        }
        Cmd::Definition(run) => {
            let found = backend.definition(run.clone());
            Box::pin(async move { Reply::Defined { run, found: found.await.map(Box::new) } })
        }
        other => return Err(other),
    })
}

fn allow_always(backend: &dyn Backend, permission: StandingPermission) -> BoxFuture<'static, Reply> {
    let saved = backend.allow_always(permission);
    Box::pin(async move { Reply::AllowedAlways(saved.await) })
}

fn resumed(result: BoxFuture<'static, Result<(), String>>, run: RunId) -> BoxFuture<'static, Reply> {
    Box::pin(async move { Reply::Resumed { run, result: result.await } })
}

fn edit(backend: &dyn Backend, number: u64, asked: EditAsked) -> BoxFuture<'static, Reply> {
    let told = backend.edit(asked);
    Box::pin(async move { Reply::Edit(number, told.await) })
}

/// Nothing is read before it is asked for its answer.
fn whole(backend: &dyn Backend, run: String) -> BoxFuture<'static, Reply> {
    let past = backend.past(run.clone());
    Box::pin(async move { Reply::Past { run, past: past.await.map(Box::new) } })
}
