//! What a frame costs: 200×50 with 10,000 and 100,000 messages, typing into it, and a long stream. What a token costs
//! must not depend on how many came before.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and may stop at the first surprise"
)]

use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use synthdev::domain::context::ConversationSide;
use synthdev::domain::ids::{CallId, RunId, Timestamp};
use synthdev::domain::journal::{RunProgress, RunSummary};
use synthdev::domain::model::DeltaKind;
use synthdev::engine::event::{PublishedEvent, RunEvent};
use synthdev::language::graph::{EdgeKind, GraphEdge, GraphNode, GraphNodeDetails, NodeKind, WorkflowGraph};
use synthdev::service::session::StatusFacts;
use synthdev::tui::display::{DisplayRequest, DisplayResponse};
use synthdev::tui::history_browser::run_list::PAGE;
use synthdev::tui::history_browser::{HistoryRequest, HistoryResponse, HistoryRunPage};
use synthdev::tui::model::UiModel;
use synthdev::tui::msg::{UiCommand, UiMessage};
use synthdev::tui::report::history::history_run_row;
use synthdev::tui::run_view::run_graph::RunDefinitionView;
use synthdev::tui::theme::ColorTheme;
use synthdev::tui::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev::tui::update::update_model;
use synthdev::tui::view;

const TEXT: &str = "The change is **small**: `parse` now returns an error with its place, \
    and every caller shows it.\n\n- one file read once\n- no panic on bad input, whatever the line says\n\n\
    ```rust\nlet place = source.place(span.start);\n```";

fn long_model(messages: usize) -> UiModel {
    let mut model =
        UiModel::new(StatusFacts { role: "coder".into(), ..StatusFacts::default() }, ColorTheme::default());
    update_model(&mut model, UiMessage::Resize(200, 50));
    for at in 0..messages {
        let title = format!("agent {at}");
        model.add_item(TranscriptItem::Block(
            TranscriptBlock::new(ItemTone::Accent, &title, TEXT).style(BlockBodyStyle::Markdown),
        ));
    }
    model
}

fn draw(model: &mut UiModel, terminal: &mut Terminal<TestBackend>) {
    view::arrange_screen(model);
    terminal.draw(|frame| view::draw_screen(model, frame)).unwrap();
}

fn key(model: &mut UiModel, code: KeyCode) {
    update_model(model, UiMessage::Key(KeyEvent::new(code, KeyModifiers::NONE), Timestamp(0)));
}

fn published(event: RunEvent) -> UiMessage {
    UiMessage::Run(PublishedEvent { run: RunId::from("r"), at: Timestamp(0), at_step: 0, event })
}

/// A conversation in which an agent begins to speak.
fn listening() -> UiModel {
    let mut model = long_model(10);
    let inputs = serde_json::Map::new();
    let started = RunEvent::RunStarted {
        workflow: "w".into(),
        definition: String::new(),
        inputs,
        chat: true,
        budget: None,
        replayed: false,
    };
    update_model(&mut model, published(started));
    let called = RunEvent::ModelCalled {
        role: String::new(),
        state: String::new(),
        call: CallId(1),
        agent: "coder".into(),
        side: ConversationSide::Assistant,
        model: "m".into(),
        provider: "p".into(),
        messages: 1,
    };
    update_model(&mut model, published(called));
    model
}

fn hear(model: &mut UiModel, kind: DeltaKind, text: &str) {
    update_model(model, published(RunEvent::Delta { call: CallId(1), kind, text: text.into() }));
}

/// 20,000 tokens, drawn as often as 100 tokens fill a frame.
fn stream(tokens: usize, terminal: &mut Terminal<TestBackend>) {
    let mut model = listening();
    for at in 0..tokens {
        hear(&mut model, DeltaKind::Text, if at % 60 == 59 { "word.\n" } else { "word " });
        if at % 100 == 99 {
            draw(&mut model, terminal);
        }
    }
}

/// What is streamed: what it begins with, its tokens, and what ends its lines.
const STREAMS: [(&str, DeltaKind, &str, &str, &str); 6] = [
    ("prose", DeltaKind::Text, "", "**word** ", ".\n\n"),
    ("one paragraph", DeltaKind::Text, "", "word *x* ", "\n"),
    ("code", DeltaKind::Text, "```rust\n", "let a = 1; ", "// end\n"),
    ("a list", DeltaKind::Text, "", "word ", "\n  - "),
    ("a table", DeltaKind::Text, "| a | b |\n|---|---|\n", "word ", "| x |\n"),
    ("reasoning", DeltaKind::Reasoning, "", "word ", ".\n"),
];

/// Lays out one more token after some thousand: without the frame around it, which would hide what grows.
fn tokens(c: &mut Criterion) {
    for (name, kind, first, word, end) in STREAMS {
        let mut group = c.benchmark_group(format!("a token of {name}"));
        for count in [1_000, 20_000] {
            let mut model = listening();
            model.details = true;
            hear(&mut model, kind, first);
            for at in 0..count {
                hear(&mut model, kind, word);
                if at % 12 == 11 {
                    hear(&mut model, kind, end);
                }
                view::arrange_screen(&mut model);
            }
            group.bench_function(format!("after {count}"), |b| {
                b.iter_custom(|rounds| {
                    let (mut spent, mut done) = (Duration::ZERO, 0);
                    while done < rounds {
                        // begun anew before it has grown by much
                        let mut model = model.clone();
                        let some = (rounds - done).min(1_200);
                        let begun = Instant::now();
                        for at in 0..some {
                            hear(&mut model, kind, word);
                            if at % 12 == 11 {
                                hear(&mut model, kind, end);
                            }
                            view::arrange_screen(&mut model);
                        }
                        spent += begun.elapsed();
                        done += some;
                    }
                    spent
                });
            });
        }
        group.finish();
    }
}

fn frames(c: &mut Criterion) {
    let mut terminal = Terminal::new(TestBackend::new(200, 50)).unwrap();
    let mut model = long_model(10_000);
    c.bench_function("frame of 10,000 messages", |b| b.iter(|| draw(&mut model, &mut terminal)));
    c.bench_function("type a key into it", |b| {
        b.iter(|| {
            key(&mut model, KeyCode::Char('x'));
            draw(&mut model, &mut terminal);
            key(&mut model, KeyCode::Backspace);
        });
    });
    c.bench_function("page up and down", |b| {
        b.iter(|| {
            key(&mut model, KeyCode::PageUp);
            draw(&mut model, &mut terminal);
            key(&mut model, KeyCode::PageDown);
        });
    });
    c.bench_function("resize it", |b| {
        let mut width = 200;
        b.iter(|| {
            width = if width == 200 { 150 } else { 200 };
            update_model(&mut model, UiMessage::Resize(width, 50));
            draw(&mut model, &mut terminal);
        });
    });
    let mut model = long_model(100_000);
    c.bench_function("frame of 100,000 messages", |b| b.iter(|| draw(&mut model, &mut terminal)));
    c.bench_function("page up and down in them", |b| {
        b.iter(|| {
            key(&mut model, KeyCode::PageUp);
            draw(&mut model, &mut terminal);
            key(&mut model, KeyCode::PageDown);
        });
    });
    drop(model);
    c.bench_function("stream 20,000 tokens in 200 frames", |b| b.iter(|| stream(20_000, &mut terminal)));
}

/// A workflow of so many states, each with a way back to the first.
fn graph(states: usize) -> WorkflowGraph {
    let name = |at: usize| format!("state_{at}");
    let node = |at: usize| GraphNode {
        name: name(at),
        label: name(at),
        kind: NodeKind::Agent,
        about: "agent coder".into(),
        group: None,
        calls: None,
        reachable: true,
        hidden: false,
        tally: None,
        details: GraphNodeDetails::default(),
    };
    let edge = |from: usize, to: usize, order: usize| GraphEdge {
        from,
        to,
        kind: EdgeKind::Transition,
        order,
        label: format!("rounds > {from}"),
        tally: None,
    };
    let edges = (0..states).flat_map(|at| [edge(at, 0, 1), edge(at, (at + 1) % states, 2)]).collect();
    WorkflowGraph {
        workflow: "large".into(),
        description: String::new(),
        start: 0,
        nodes: (0..states).map(node).collect(),
        edges,
        groups: Vec::new(),
        handlers: Vec::new(),
    }
}

/// A run that made so many steps through 200 states, with a pane open.
fn walked(steps: usize, pane: char) -> UiModel {
    let mut model = long_model(10);
    let inputs = serde_json::Map::new();
    update_model(
        &mut model,
        published(RunEvent::RunStarted {
            workflow: "large".into(),
            definition: String::new(),
            inputs,
            chat: false,
            budget: None,
            replayed: false,
        }),
    );
    let found = RunDefinitionView { graphs: vec![graph(200)], ..RunDefinitionView::default() };
    update_model(
        &mut model,
        UiMessage::Displayed(DisplayResponse::Definition {
            run: RunId::from("r"),
            definition: Ok(Box::new(found)),
        }),
    );
    (0..steps).for_each(|at| step(&mut model, at));
    let key = KeyEvent::new(KeyCode::Char(pane), KeyModifiers::ALT);
    update_model(&mut model, UiMessage::Key(key, Timestamp(0)));
    model
}

fn step(model: &mut UiModel, at: usize) {
    let name = |at: usize| format!("state_{}", at % 200);
    let entered = RunEvent::StateEntered {
        state: name(at),
        visit: 1,
        step: 1,
        agent: Some("coder".into()),
        context: None,
    };
    update_model(model, published(entered));
    let moved = RunEvent::Transitioned { from: name(at), to: name(at + 1), guard: 1, tried: Vec::new() };
    update_model(model, published(moved));
}

fn panes(c: &mut Criterion) {
    let mut terminal = Terminal::new(TestBackend::new(200, 50)).unwrap();
    let mut model = walked(1_000, '2');
    c.bench_function("graph of 200 states", |b| b.iter(|| draw(&mut model, &mut terminal)));
    let mut at = 1_000;
    c.bench_function("graph of 200 states after a step", |b| {
        b.iter(|| {
            at += 1;
            step(&mut model, at);
            draw(&mut model, &mut terminal);
        });
    });
    let mut model = walked(100_000, '6');
    c.bench_function("timeline of 100,000 rows", |b| b.iter(|| draw(&mut model, &mut terminal)));
    c.bench_function("page up and down in it", |b| {
        b.iter(|| {
            key(&mut model, KeyCode::PageUp);
            draw(&mut model, &mut terminal);
            key(&mut model, KeyCode::PageDown);
        });
    });
}

/// The history with so many runs, and the number under which its next page was asked for.
fn history(runs: usize) -> (UiModel, u64) {
    let mut model = long_model(0);
    let cmds = update_model(
        &mut model,
        UiMessage::Key(KeyEvent::new(KeyCode::Char('8'), KeyModifiers::ALT), Timestamp(0)),
    );
    let asked = |cmds: &[UiCommand]| {
        let page = |cmd: &UiCommand| match cmd {
            UiCommand::Display(DisplayRequest::History(number, asked))
                if matches!(**asked, HistoryRequest::Page { .. }) =>
            {
                Some(*number)
            }
            _ => None,
        };
        cmds.iter().find_map(page).unwrap()
    };
    let mut number = asked(&cmds);
    for from in (0..runs).step_by(PAGE) {
        let mut cmds = update_model(&mut model, page_of(number, from));
        let end = KeyEvent::new(KeyCode::End, KeyModifiers::NONE);
        cmds.extend(update_model(&mut model, UiMessage::Key(end, Timestamp(0))));
        number = asked(&cmds);
    }
    (model, number)
}

fn page_of(number: u64, from: usize) -> UiMessage {
    let row = |at: usize| {
        let started = Timestamp(1_000_000_000 - i64::try_from(at).unwrap());
        let run = RunSummary {
            id: RunId(format!("{at:012}")),
            workflow: "coder_reviewer".into(),
            definition_hash: String::new(),
            input: "add a --json flag to the list command".into(),
            project: "/project".into(),
            started,
            origin: None,
            worktree: None,
            progress: RunProgress::new(started),
        };
        history_run_row(run, "/project", None)
    };
    let rows = (from..from + PAGE).map(row).collect();
    let told = HistoryResponse::Page(Ok(HistoryRunPage { rows, has_more: true, at: Timestamp(0) }));
    UiMessage::Displayed(DisplayResponse::History(number, Box::new(told)))
}

fn histories(c: &mut Criterion) {
    let mut terminal = Terminal::new(TestBackend::new(200, 50)).unwrap();
    let (mut model, number) = history(10_000);
    c.bench_function("history of 10,000 runs, a key and its frame", |b| {
        b.iter(|| {
            key(&mut model, KeyCode::Up);
            draw(&mut model, &mut terminal);
        });
    });
    c.bench_function("a page comes to 10,000 runs", |b| {
        let begin = || (model.clone(), page_of(number, 10_000));
        b.iter_batched(begin, |(mut model, page)| update_model(&mut model, page), BatchSize::LargeInput);
    });
}

/// The slowest of a hundred frames, each after something has changed.
fn slowest(_: &mut Criterion) {
    const FRAMES: usize = 2_000;
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let mut terminal = Terminal::new(TestBackend::new(200, 50)).unwrap();
    let mut measured = |name: &str, model: &mut UiModel, change: &mut dyn FnMut(&mut UiModel, usize)| {
        let mut took: Vec<Duration> = (0..FRAMES)
            .map(|at| {
                let begun = Instant::now();
                change(model, at);
                draw(model, &mut terminal);
                begun.elapsed()
            })
            .collect();
        took.sort_unstable();
        let (half, most) = (took[FRAMES / 2], took[FRAMES - 1]);
        println!(
            "{name}: median {half:.1?}, 99 of 100 within {:.1?}, slowest {most:.1?}",
            took[FRAMES * 99 / 100]
        );
    };
    let mut model = long_model(100_000);
    let keys = [KeyCode::PageUp, KeyCode::PageUp, KeyCode::PageDown, KeyCode::Char('x')];
    measured("frame of 100,000 messages, paging and typing", &mut model, &mut |model, at| {
        key(model, keys[at % keys.len()]);
    });
    measured("frame of 100,000 messages, resized each time", &mut model, &mut |model, at| {
        update_model(model, UiMessage::Resize(if at % 2 == 0 { 150 } else { 200 }, 50));
    });
    drop(model);
    let mut model = walked(1_000, '2');
    measured("graph of 200 states after a step", &mut model, &mut |model, at| step(model, 1_000 + at));
}

criterion_group!(benches, frames, panes, histories, tokens, slowest);
criterion_main!(benches);
