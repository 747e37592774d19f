//! One call of a model or a tool, or one question: when, how long, what it cost, and all of its texts. Keeps nothing of
//! the rest of the run.

use serde_json::Value;

use crate::json_text::value_text;
use crate::pane::timeline::format_clock;
use crate::text::{format_count, format_dollars, format_duration, format_thousands, one_line};
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::message::ToolCall;
use synthdev_service::event_description::describe_event;
use synthdev_service::run_events::{RunEvent, StepEvent};

/// Takes the events of a run and keeps those of one call.
#[derive(Debug)]
pub struct CallDetailsBuilder {
    run: RunId,
    wanted: CallId,
    run_started: Option<Timestamp>,
    title: String,
    step: u32,
    is_of_model: bool,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    /// Name and text, a line each.
    facts: Vec<(&'static str, String)>,
    parts: Vec<TranscriptItem>,
    /// The run has ended, so that no answer will come.
    is_run_over: bool,
}

impl CallDetailsBuilder {
    pub fn new(run: &RunId, wanted: CallId) -> Self {
        Self {
            run: run.clone(),
            wanted,
            run_started: None,
            title: String::new(),
            step: 0,
            is_of_model: false,
            started: None,
            ended: None,
            facts: Vec::new(),
            parts: Vec::new(),
            is_run_over: false,
        }
    }

    pub fn apply_event(&mut self, at: Timestamp, step_event: &StepEvent) {
        self.run_started.get_or_insert(at);
        self.begin(at, step_event);
        self.end_model_call(at, &step_event.event);
        self.end_tool_call(at, &step_event.event);
        if matches!(step_event.event, RunEvent::Finished { .. } | RunEvent::Rewound { .. }) {
            self.is_run_over = true;
        }
    }

    /// `None`: the run has no such call any more.
    pub fn into_report(self) -> Option<(String, Vec<TranscriptItem>)> {
        let (started, run_started) = (self.started?, self.run_started?);
        let since = |from: Timestamp, to: Timestamp| u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0);
        let took = match (self.ended, self.is_run_over) {
            (Some(ended), _) => format_duration(since(started, ended)),
            (None, true) => "cut off: there is no answer".to_owned(),
            (None, false) => "in progress".to_owned(),
        };
        let began = format!("{} after the start of the run", format_clock(since(run_started, started)));
        let mut facts = vec![("began", began), ("took", took), ("step", self.step.to_string())];
        facts.extend(self.facts);
        let lines: Vec<String> = facts.iter().map(|(name, text)| format!("{name:<8} {text}")).collect();
        let mut block = TranscriptBlock::new(ItemTone::Plain, "", &lines.join("\n"));
        if self.is_of_model {
            let (run, step) = (&self.run, self.step);
            block = block.with_footer(format!("what was sent: synthdev runs show {run} --request {step}"));
        }
        let mut items = vec![TranscriptItem::Block(block)];
        items.extend(self.parts);
        Some((self.title, items))
    }

    /// A call that is made again begins anew.
    fn begin(&mut self, at: Timestamp, StepEvent { at_step, event }: &StepEvent) {
        let (call, is_of_model) = match event {
            RunEvent::ModelCalled { call, .. } | RunEvent::SummaryCalled { call, .. } => (call, true),
            RunEvent::ToolStarted { call, .. }
            | RunEvent::ApprovalAsked { call, .. }
            | RunEvent::PersonAsked { call, .. } => (call, false),
            _ => return,
        };
        if *call != self.wanted {
            return;
        }
        let words = describe_event(at, event);
        (self.title, self.step, self.is_of_model) = (one_line(&words.title), *at_step, is_of_model);
        (self.started, self.ended, self.is_run_over) = (Some(at), None, false);
        self.facts.clear();
        self.parts.clear();
        match event {
            RunEvent::ModelCalled { state, agent, role, model, provider, messages, .. } => {
                self.describe_model_call([agent, role, state], [model, provider], *messages);
            }
            RunEvent::SummaryCalled { agent, model, entries, .. } => {
                self.describe_summary_call(agent, model, *entries);
            }
            RunEvent::ToolStarted { agent, tool, arguments, .. }
            | RunEvent::ApprovalAsked { agent, tool, arguments, .. } => {
                self.describe_tool_call(agent, tool, arguments);
            }
            _ => self.add_text("question", &words.line(), BlockBodyStyle::Plain),
        }
    }

    fn end_model_call(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::Replied { call, text, reasoning, tool_calls, usage, cost_usd, .. }
                if *call == self.wanted =>
            {
                self.ended = Some(at);
                self.add_usage(usage, *cost_usd);
                self.add_text("reasoning", reasoning, BlockBodyStyle::Dim);
                self.add_text("answer", text, BlockBodyStyle::Markdown);
                tool_calls.iter().for_each(|call| self.add_requested_tool(call));
            }
            RunEvent::ContextSummarized { call, text, usage, cost_usd, .. } if *call == self.wanted => {
                self.ended = Some(at);
                self.add_usage(usage, *cost_usd);
                self.add_text("summary", text, BlockBodyStyle::Markdown);
            }
            RunEvent::ModelFailed { call, code, reason, attempts, spent, .. } if *call == self.wanted => {
                self.ended = Some(at);
                self.facts.push(("attempts", attempts.to_string()));
                spent.iter().for_each(|entry| self.add_usage(&entry.usage, entry.cost_usd));
                self.parts.push(TranscriptItem::error(code, reason));
            }
            RunEvent::ModelStopped { call, spent, .. } if *call == self.wanted => {
                self.ended = Some(at);
                spent.iter().for_each(|entry| self.add_usage(&entry.usage, entry.cost_usd));
                self.parts.push(TranscriptItem::warning_item("stopped before its answer"));
            }
            _ => {}
        }
    }

    fn end_tool_call(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::ToolFinished { call, ok, summary, content, .. } if *call == self.wanted => {
                self.ended = Some(at);
                self.describe_tool_result(*ok, summary, content);
            }
            RunEvent::ApprovalAnswered { call, .. } if *call == self.wanted => {
                self.ended = Some(at);
                let words = describe_event(at, event);
                self.facts.push(("answer", one_line(&words.line())));
            }
            RunEvent::PersonAnswered { call, .. } if *call == self.wanted => self.ended = Some(at),
            _ => {}
        }
    }

    fn describe_model_call(
        &mut self,
        [agent, role, state]: [&str; 3],
        [model, provider]: [&str; 2],
        messages: usize,
    ) {
        self.add_fact("agent", agent);
        self.add_fact("role", role);
        self.add_fact("state", state);
        self.facts.push(("model", one_line(&format!("{model} of {provider}"))));
        self.facts.push(("prompt", format_count(messages as u64, "message")));
    }

    fn describe_summary_call(&mut self, agent: &str, model: &str, entries: usize) {
        self.add_fact("agent", agent);
        self.add_fact("model", model);
        self.facts.push(("sums up", format_count(entries as u64, "message")));
    }

    fn describe_tool_call(&mut self, agent: &str, tool: &str, arguments: &Value) {
        self.add_fact("agent", agent);
        self.add_fact("tool", tool);
        self.add_arguments(arguments);
    }

    fn describe_tool_result(&mut self, ok: bool, summary: &str, content: &str) {
        let outcome = if ok { "succeeded" } else { "failed" };
        let summary = if summary.is_empty() { String::new() } else { format!(": {summary}") };
        self.facts.push(("outcome", one_line(&format!("{outcome}{summary}"))));
        self.add_text("result", content, BlockBodyStyle::Plain);
    }

    fn add_fact(&mut self, name: &'static str, text: &str) {
        if !text.is_empty() {
            self.facts.push((name, one_line(text)));
        }
    }

    fn add_usage(&mut self, usage: &TokenUsage, cost_usd: Option<f64>) {
        let (prompt, completion) = (format_thousands(usage.prompt), format_thousands(usage.completion));
        let cached = match usage.cached {
            0 => String::new(),
            cached => format!(", {} of them cached", format_thousands(cached)),
        };
        self.facts.push(("tokens", format!("{prompt} in{cached} · {completion} out")));
        self.facts.push(("cost", format_dollars(cost_usd)));
    }

    fn add_text(&mut self, title: &str, text: &str, style: BlockBodyStyle) {
        if !text.trim().is_empty() {
            self.parts.push(TranscriptItem::rule(title));
            let block = TranscriptBlock::new(ItemTone::Plain, "", text).style(style);
            self.parts.push(TranscriptItem::Block(block));
        }
    }

    fn add_arguments(&mut self, arguments: &Value) {
        let text = match arguments {
            Value::Object(map) => {
                let lines = map.iter().map(|(name, value)| format!("{name}: {}", value_text(value)));
                lines.collect::<Vec<_>>().join("\n")
            }
            other => value_text(other),
        };
        self.add_text("arguments", &text, BlockBodyStyle::Plain);
    }

    /// A call that the model has asked for.
    fn add_requested_tool(&mut self, call: &ToolCall) {
        let arguments = serde_json::from_str(&call.arguments);
        let text = arguments.map_or_else(|_| call.arguments.clone(), |value: Value| value_text(&value));
        self.add_text(&format!("asks for {}", call.name), &text, BlockBodyStyle::Plain);
    }
}
