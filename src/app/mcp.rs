//! `mcp`: the workflow server on standard input and output, or over HTTP, over this project's configuration and history.

mod http;
mod stock;

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use self::stock::{Shelves, Stock, first_error};
use super::driving::{interrupts, runtime};
use super::loading::load_quietly;
use super::runs::spec;
use super::wiring::{self, Wired};
use super::world::World;
use super::{findings, foreign, isolation, windows};
use crate::cli::args::McpArgs;
use crate::cli::exit;
use crate::config::catalog::Catalog;
use crate::domain::ids::RunId;
use crate::domain::journal::RunSummary;
use crate::domain::workflow::{Program, Work};
use crate::mcp::backend::{Backend, Beside, Broken, HandedOut, Offered, Reason};
use crate::mcp::reminders::Reminders;
use crate::ports::run_store::StoreError;
use crate::runtime::errands::Patience;
use crate::runtime::handle::{Handle, WAIT_OR_SHARE};
use crate::runtime::interactions::{Delegating, Interactions};
use crate::runtime::locking::Locking;
use crate::runtime::resume::Going;

pub(super) fn mcp(world: &World, args: &McpArgs) -> Result<u8> {
    let (catalog, gathered) = load_quietly(world, world.overrides.clone())?;
    findings::sound(&catalog)?;
    super::logs::start(&world.dirs.data, catalog.settings().verbosity());
    let notes = stock::notes(&gathered);
    let wired = wiring::wire(&world.project, &world.dirs.data, &catalog, None);
    let shop = Arc::new(Shop::open(world, args, catalog, Arc::new(wired), notes));
    let token =
        args.http.map(|_| http::Token::find(args.token_file.as_deref(), &world.dirs.data)).transpose()?;
    let runtime = runtime()?;
    let patience = Patience { lease_seconds: args.lease_seconds, begin_seconds: args.begin_seconds };
    let served = runtime.block_on(async {
        shop.handle().serve_sub_agents(patience);
        tokio::spawn(stock::keep_fresh(Arc::clone(&shop.shelves)));
        let mut interrupts = interrupts();
        let stop = async move {
            let _ = interrupts.recv().await;
        };
        match (args.http, &token) {
            (Some(address), Some(token)) => http::serve(shop, address, token, stop).await,
            _ => {
                let served = crate::mcp::serve(shop, tokio::io::stdin(), tokio::io::stdout(), stop).await;
                served.map_err(|error| anyhow!("the client began in a way that is not understood: {error}"))
            }
        }
    });
    // standard input may still be waited for
    runtime.shutdown_background();
    served?;
    Ok(exit::COMPLETED)
}

/// Everything behind the server.
struct Shop {
    world: World,
    shown_project: String,
    wired: Arc<Wired>,
    shelves: Arc<Shelves>,
    interactions: Arc<Interactions>,
    reminders: Arc<Reminders>,
    yes: bool,
    remote_approvals: bool,
    serial: bool,
    /// Runs that change the same files as others knowingly.
    sharing: Mutex<HashSet<RunId>>,
}

impl Shop {
    fn open(world: &World, args: &McpArgs, catalog: Catalog, wired: Arc<Wired>, notes: Vec<String>) -> Self {
        Self {
            world: world.clone(),
            shown_project: world.project.display().to_string(),
            shelves: Arc::new(Shelves::new(world, catalog, &wired, notes)),
            wired,
            interactions: Arc::default(),
            reminders: Arc::default(),
            yes: args.yes,
            remote_approvals: args.remote_approvals,
            serial: args.serial,
            sharing: Mutex::default(),
        }
    }

    fn share(&self, run: &RunId) {
        self.sharing.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone());
    }

    fn shares(&self, run: &RunId) -> bool {
        self.sharing.lock().unwrap_or_else(PoisonError::into_inner).contains(run)
    }

    fn stock(&self) -> Arc<Stock> {
        self.shelves.stock()
    }
}

impl Backend for Shop {
    fn workflows(&self) -> Arc<[Offered]> {
        Arc::clone(&self.stock().offered)
    }

    fn broken(&self) -> Arc<[Broken]> {
        Arc::clone(&self.stock().broken)
    }

    fn notes(&self) -> Arc<[String]> {
        Arc::clone(&self.stock().notes)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.shelves.changes()
    }

    fn definition(&self, file: &str) -> Option<String> {
        self.stock().catalog.printable(file)
    }

    fn project(&self) -> &str {
        &self.shown_project
    }

    fn remote_approvals(&self) -> bool {
        self.remote_approvals
    }

    fn handle(&self) -> &Handle {
        &self.wired.handle
    }

    fn interactions(&self) -> &Interactions {
        &self.interactions
    }

    fn reminders(&self) -> &Arc<Reminders> {
        &self.reminders
    }

    fn serial(&self) -> bool {
        self.serial
    }

    fn start(
        &self,
        name: &str,
        inputs: Map<String, Value>,
        handed_out: HandedOut,
        beside: Beside,
    ) -> BoxFuture<'static, Result<RunId, Reason>> {
        let stock = self.stock();
        let program = match stock.catalog.program(name) {
            Ok(program) => with_sub_agents(answered_by_a_caller(program), handed_out, self.serial),
            Err(found) => return std::future::ready(Err(reason(first_error(&found), None))).boxed(),
        };
        let isolated =
            beside == Beside::Isolated || program.workflows.first().is_some_and(|root| root.isolated);
        let mut spec = spec((&stock.catalog, &self.world.project), program, inputs, self.yes, false);
        let providers = Arc::clone(&stock.wired.providers);
        let interactions = Arc::clone(&self.interactions);
        if !isolated {
            let run = self.wired.handle.draw_run_id();
            let handle = delegating(interactions, &run, &stock.wired.handle);
            let handle = handle.locking(Locking::BeforeChanges { waits: beside != Beside::Refused });
            let handle = if beside == Beside::Shares {
                self.share(&run);
                handle.sharing()
            } else {
                handle
            };
            return async move {
                windows::learn(&providers, &mut spec.program).await;
                handle.start_as(run, spec, None).map_err(of_store)
            }
            .boxed();
        }
        let elsewhere = stock.elsewhere.clone();
        let around = move |run: &RunId, handle: &Handle| delegating(interactions, run, handle);
        async move {
            windows::learn(&providers, &mut spec.program).await;
            match tokio::task::spawn_blocking(move || elsewhere.start_with(spec, around)).await {
                Ok(begun) => begun.map(|(run, _)| run).map_err(|why| reason(why, None)),
                Err(error) => Err(reason(format!("this was broken off: {error}"), None)),
            }
        }
        .boxed()
    }

    fn taking_up(&self, run: &RunSummary) -> Result<(Handle, Going), Reason> {
        let stock = self.stock();
        let handle = match &run.worktree {
            Some(tree) if !Path::new(&tree.path).is_dir() => {
                let (message, hint) = isolation::why_gone(run, tree);
                return Err(reason(message, Some(hint)));
            }
            _ => stock.elsewhere.of(run).map_err(|why| reason(why, None))?.handle.clone(),
        };
        let handle = delegating(Arc::clone(&self.interactions), &run.id, &handle);
        let handle = handle.locking(Locking::BeforeChanges { waits: true });
        let handle = if self.shares(&run.id) { handle.sharing() } else { handle };
        let stored = || Ok(handle.run(run.id.as_str())?.program);
        let windows = |program: &mut Program| {
            windows::recall(&stock.wired.providers, program);
            Ok(())
        };
        let going = foreign::here(&stock.catalog, run, (stored, windows), Going::default());
        let going = going.map_err(|error| reason(format!("{error:#}"), None))?;
        Ok((handle, going))
    }
}

/// Models of the provider `agentllm` are the client's.
fn delegating(interactions: Arc<Interactions>, run: &RunId, handle: &Handle) -> Handle {
    let models = Delegating::new(run.clone(), interactions, handle.ports());
    handle.with_models(Arc::new(models))
}

/// Somebody is there to do what `delegate` states ask: what counts without an answer counts when their time is up.
fn answered_by_a_caller(mut program: Program) -> Program {
    for workflow in program.workflows.iter_mut().map(Arc::make_mut) {
        for state in &mut workflow.states {
            if let Work::Pause(pause) = &mut state.work
                && let Some(request) = &mut pause.request
            {
                request.waits = pause.default.is_some() || pause.on_timeout.is_some();
            }
        }
    }
    program
}

/// `serial`: nothing is handed out beside anything else.
fn with_sub_agents(mut program: Program, handed_out: HandedOut, serial: bool) -> Program {
    if let Some(root) = program.workflows.first_mut().map(Arc::make_mut) {
        (root.sub_agents, root.ack_steps) = (handed_out.to, handed_out.ack_steps);
        if serial {
            root.limits.max_concurrency = 1;
        }
    }
    program
}

/// What a client can do where the command line has flags.
const IN_A_CALL: &str = "wait until that run has ended, or call start_workflow with \"files\": \"wait\" (it waits before its \
    first change), \"share\" (both change the same files) or \"isolate\" (a git worktree of its own)";

fn of_store(error: StoreError) -> Reason {
    let hint = error.hint.map(|hint| hint.replace(WAIT_OR_SHARE, IN_A_CALL));
    reason(error.message, hint)
}

fn reason(message: String, hint: Option<String>) -> Reason {
    Reason { message, hint }
}
