//! What a frame costs: 200×50 with 10,000 messages, typing into it, and a long stream.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

use criterion::{Criterion, criterion_group, criterion_main};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use synthdev::domain::context::Side;
use synthdev::domain::ids::{CallId, RunId, Timestamp};
use synthdev::domain::model::DeltaKind;
use synthdev::engine::event::{Published, RunEvent};
use synthdev::tui::backend::StatusFacts;
use synthdev::tui::model::Model;
use synthdev::tui::msg::Msg;
use synthdev::tui::theme::Theme;
use synthdev::tui::transcript::item::{Block, Body, Item, Tone};
use synthdev::tui::update::update;
use synthdev::tui::view;

const TEXT: &str = "The change is **small**: `parse` now returns an error with its place, \
    and every caller shows it.\n\n- one file read once\n- no panic on bad input, whatever the line says\n\n\
    ```rust\nlet place = source.place(span.start);\n```";

fn long_model(messages: usize) -> Model {
    let mut model =
        Model::new(StatusFacts { role: "coder".into(), ..StatusFacts::default() }, Theme::default());
    update(&mut model, Msg::Resize(200, 50));
    for at in 0..messages {
        let title = format!("agent {at}");
        model.say(Item::Block(Block::new(Tone::Accent, &title, TEXT).style(Body::Markdown)));
    }
    model
}

fn draw(model: &mut Model, terminal: &mut Terminal<TestBackend>) {
    view::arrange(model);
    terminal.draw(|frame| view::view(model, frame)).unwrap();
}

fn key(model: &mut Model, code: KeyCode) {
    update(model, Msg::Key(KeyEvent::new(code, KeyModifiers::NONE), Timestamp(0)));
}

fn published(event: RunEvent) -> Msg {
    Msg::Run(Published { run: RunId::from("r"), at: Timestamp(0), event })
}

/// 20,000 tokens, drawn as often as 100 tokens fill a frame.
fn stream(tokens: usize, terminal: &mut Terminal<TestBackend>) {
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
    update(&mut model, published(started));
    let called = RunEvent::ModelCalled {
        role: String::new(),
        state: String::new(),
        call: CallId(1),
        agent: "coder".into(),
        side: Side::Assistant,
        model: "m".into(),
        provider: "p".into(),
        messages: 1,
    };
    update(&mut model, published(called));
    for at in 0..tokens {
        let text = if at % 60 == 59 { "word.\n" } else { "word " };
        let delta = RunEvent::Delta { call: CallId(1), kind: DeltaKind::Text, text: text.into() };
        update(&mut model, published(delta));
        if at % 100 == 99 {
            draw(&mut model, terminal);
        }
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
            update(&mut model, Msg::Resize(width, 50));
            draw(&mut model, &mut terminal);
        });
    });
    c.bench_function("stream 20,000 tokens in 200 frames", |b| b.iter(|| stream(20_000, &mut terminal)));
}

criterion_group!(benches, frames);
criterion_main!(benches);
