//! Requests of one agent share a prefix (the condition of every provider's cache): each is the one before with more at
//! its end, until a trim, which an event reports; then it grows again from there. The end of a request may hold what
//! its visit alone has: a directive to an agent without memory, and what the agent did in private.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::adapters::providers::openai;
use synthdev::domain::agent::{AgentSpec, MemoryPolicy};
use synthdev::domain::context::{ContextSpec, ConversationSide};
use synthdev::domain::ids::{AgentIx, StateIx, Timestamp};
use synthdev::domain::message::{ChatMessage, ToolCall};
use synthdev::domain::model::{FinishReason, ModelReply, ModelRequest};
use synthdev::domain::script::ScriptOutcome;
use synthdev::domain::tool::ToolOutcome;
use synthdev::domain::workflow::{
    AgentFunction, SnapshotPolicy, StateBody, StateSpec, ValueSource, Workflow, WorkflowLimits,
};
use synthdev::engine::effect::Effect;
use synthdev::engine::event::RunEvent;
use synthdev::engine::input::Input;
use synthdev::engine::machine::Machine;

use super::{spec, state};
use crate::sim::luck::Luck;

const WORLDS: u64 = 20;
const REQUESTS: usize = 100;
const DIRECTIVE: &str = "go on ";

#[test]
fn requests_of_an_agent_begin_as_the_ones_before() {
    let (mut known, mut before, mut now, mut trims) = (0, 0, 0, 0);
    for seed in 0..WORLDS {
        let world = World::new(seed).play_to_end();
        known += world.known;
        before += world.before;
        now += world.now;
        trims += world.trim_count;
    }
    assert!(trims > 20, "{trims} trims prove little");
    // of what was sent before, and of what is sent now
    let shares = (known * 1_000 / before, known * 1_000 / now);
    assert!(shares.0 >= 930 && shares.1 >= 900, "{shares:?} of 1000 bytes");
}

/// What is known of an agent's last request.
#[derive(Default)]
struct Last {
    messages: Vec<ChatMessage>,
    body: String,
    /// So many of the messages stay for sure.
    stable_messages: usize,
}

struct World {
    seed: u64,
    luck: Luck,
    machine: Machine,
    agents: BTreeMap<String, AgentSpec>,
    last_requests: BTreeMap<String, Last>,
    /// Agents whose views were trimmed since their last request.
    trimmed_agents: Vec<String>,
    requests: usize,
    known: usize,
    before: usize,
    now: usize,
    trim_count: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut luck = Luck::new(seed + 77);
        let workflow = workflow(&mut luck);
        let agents = workflow.agents.iter().map(|agent| (agent.id.clone(), agent.clone())).collect();
        Self {
            seed,
            luck,
            machine: Machine::new(Arc::new(spec(vec![workflow], false))),
            agents,
            last_requests: BTreeMap::new(),
            trimmed_agents: Vec::new(),
            requests: 0,
            known: 0,
            before: 0,
            now: 0,
            trim_count: 0,
        }
    }

    fn play_to_end(mut self) -> Self {
        let mut inputs = vec![Input::Started { seed: 7 }];
        while let Some(input) = inputs.pop() {
            let output = self.machine.handle_input(Timestamp(1_000), input);
            output.events.iter().for_each(|event| self.on_event(event));
            for effect in output.effects {
                inputs.extend(self.answer_effect(&effect));
            }
            if self.requests >= REQUESTS {
                break;
            }
        }
        assert!(self.requests >= REQUESTS, "seed {} ends after {} requests", self.seed, self.requests);
        self
    }

    fn on_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Warning { code, text } if code == "context_trimmed" || code == "context_shortened" => {
                let agent = text.split('`').nth(1).unwrap();
                assert!(code != "context_trimmed" || text.contains(" characters, about "), "{text}");
                self.trimmed_agents.push(agent.to_owned());
                self.trim_count += 1;
            }
            // a summary changes the views of all
            RunEvent::ContextSummarized { entries, saved_tokens, .. } => {
                assert!(*entries == 0 || *saved_tokens > 0, "seed {}: nothing is saved", self.seed);
                self.trimmed_agents.extend(self.agents.keys().cloned());
                self.trim_count += 1;
            }
            _ => {}
        }
    }

    fn answer_effect(&mut self, effect: &Effect) -> Option<Input> {
        Some(match effect {
            Effect::CallModel { call, request } => {
                let summary = request.tools.is_empty();
                if !summary {
                    self.compare_prefix(request);
                }
                Input::Replied { call: *call, reply: self.make_reply(request, summary) }
            }
            Effect::RunTool { call, .. } => {
                let content = self.words(10, 1_200);
                Input::ToolDone {
                    call: *call,
                    outcome: ToolOutcome { ok: true, content, ..ToolOutcome::default() },
                }
            }
            Effect::Evaluate { call, .. } => Input::Evaluated {
                call: *call,
                outcome: ScriptOutcome { chosen: Some(0), ..ScriptOutcome::default() },
            },
            _ => return None,
        })
    }

    fn compare_prefix(&mut self, request: &ModelRequest) {
        self.requests += 1;
        let agent = &self.agents[&request.agent];
        let body = openai::build_request(request).unwrap()["messages"].to_string();
        let trimmed = self.trimmed_agents.contains(&request.agent);
        self.trimmed_agents.retain(|other| *other != request.agent);
        let forgets = agent.side == ConversationSide::User && agent.memory == MemoryPolicy::None;
        let messages = &request.messages;
        let said_to_it = |message: &ChatMessage| message.content.starts_with(DIRECTIVE);
        let directive = messages.iter().rposition(said_to_it).unwrap();
        let stay = if forgets { directive } else { messages.len() };
        if let Some(last) = self.last_requests.get(&request.agent) {
            let alike = messages.iter().zip(&last.messages).take_while(|(one, other)| one == other).count();
            assert!(
                trimmed || alike >= last.stable_messages,
                "seed {}, request {} of {} ({:?}, {:?}): {alike} of {} messages stay\n{:#?}\n{:#?}",
                self.seed,
                self.requests,
                request.agent,
                agent.side,
                agent.memory,
                last.stable_messages,
                message_marks(&last.messages),
                message_marks(messages),
            );
            self.known += common_length(body.as_bytes(), last.body.as_bytes());
            self.before += last.body.len();
            self.now += body.len();
        }
        self.last_requests
            .insert(request.agent.clone(), Last { messages: messages.clone(), body, stable_messages: stay });
    }

    fn make_reply(&mut self, request: &ModelRequest, summary: bool) -> ModelReply {
        let calls = if summary || self.luck.random_chance(50) { 0 } else { self.luck.random_between(1, 2) };
        let call = |at: usize| ToolCall {
            id: format!("c{}_{at}", self.requests),
            name: request.tools.first().map(|tool| tool.name.clone()).unwrap_or_default(),
            arguments: r#"{"path": "src/main.rs"}"#.to_owned(),
            original: None,
        };
        let tool_calls: Vec<ToolCall> = (0..calls).map(call).collect();
        ModelReply {
            text: self.words(20, 800),
            reasoning: String::new(),
            tool_calls,
            sealed: Vec::new(),
            usage: Default::default(),
            usage_estimated: false,
            model: None,
            finish: FinishReason::Stop,
            duration_ms: 0,
            ..ModelReply::default()
        }
    }

    fn words(&mut self, least: usize, most: usize) -> String {
        let length = self.luck.random_between(least, most);
        let word = self.luck.pick_item(&["lorem ", "ipsum ", "dolor ", "größe "]);
        word.chars().cycle().take(length).collect()
    }
}

/// How many bytes two texts begin with alike: by pieces, as they are mostly the same for very long.
fn common_length(one: &[u8], other: &[u8]) -> usize {
    const PIECE: usize = 1_024;
    let pieces = one.chunks(PIECE).zip(other.chunks(PIECE)).take_while(|(one, other)| one == other);
    let whole: usize = pieces.map(|(one, _)| one.len()).sum();
    whole + one[whole..].iter().zip(&other[whole..]).take_while(|(one, other)| one == other).count()
}

fn message_marks(messages: &[ChatMessage]) -> Vec<String> {
    let mark = |one: &ChatMessage| one.content.chars().take(40).collect::<String>();
    messages.iter().map(|one| format!("{:?} {}", one.role, mark(one))).collect()
}

/// States in a ring: agents of one conversation take turns, with inputs or without.
fn workflow(luck: &mut Luck) -> Workflow {
    let seats = luck.random_between(1, 3);
    let agents: Vec<AgentSpec> = (0..seats).map(|at| agent(luck, at)).collect();
    let count = luck.random_between(2, 6);
    let states = (0..count).map(|at| {
        let work = StateBody::Agent {
            agent: AgentIx(if at < seats { at } else { luck.random_below(seats) }),
            function: AgentFunction::SendUserMessage,
            input: ValueSource::Text(DIRECTIVE.repeat(luck.random_between(1, 60))),
        };
        state(&format!("s{at}"), work, (at + 1) % count)
    });
    let mut states: Vec<StateSpec> = states.collect();
    states.push(StateSpec { name: "stop".to_owned(), terminal: true, ..StateSpec::default() });
    let context = json!({
        "name": "talk", "starting_messages": [],
        "max_length": luck.pick_item(&[10_000, 20_000, 50_000, 50_000, 100_000, 200_000]),
        "trim": luck.pick_item(&["drop_oldest", "drop_oldest", "summarize"]),
        "pin_first": luck.pick_item(&[0, 0, 2]),
        "tool_visibility": luck.pick_item(&["summary", "full", "none"]),
    });
    let context: ContextSpec = serde_json::from_value(context).unwrap();
    Workflow {
        name: "ring".to_owned(),
        contexts: vec![context],
        agents,
        stop: StateIx(states.len() - 1),
        states,
        limits: WorkflowLimits { max_steps: 100_000, max_visits: 100_000, ..WorkflowLimits::default() },
        snapshot: SnapshotPolicy::Off,
        ..Workflow::default()
    }
}

fn agent(luck: &mut Luck, at: usize) -> AgentSpec {
    let look = json!({
        "name": "look", "description": "Looks.", "risk": "read",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    });
    let example = json!([
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "tool_calls": [{"id": "e", "name": "look", "arguments": "{}"}]},
        {"role": "tool", "tool_call_id": "e", "content": "4"},
        {"role": "assistant", "content": "4."},
    ]);
    let reminder: Value =
        luck.pick_item(&[Value::Null, json!("Think of the tests, and of those who read them.")]);
    let value = json!({
        "id": format!("a{at}"), "role": "r", "context": 0, "system_prompt": "You work. ".repeat(luck.random_between(5, 200)),
        "side": luck.pick_item(&["assistant", "assistant", "user"]), "memory": luck.pick_item(&["none", "private"]),
        "examples": luck.pick_item(&[json!([]), example]), "reminder": reminder, "choice": synthdev::domain::model::ModelChoice::default(),
        "tools": [look], "parsing_tools": [], "max_tool_rounds": 500,
    });
    serde_json::from_value(value).unwrap()
}
