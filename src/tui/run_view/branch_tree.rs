//! Called workflows, branches and items of a run, each with its agent: folded from events, drawn as a tree.
//!
//! Keeps what runs and the last of what is over; the rest is only counted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::text::{one_line, short_number};
use synthdev_domain::agent_team::{SpawnedAgentStatus, TeamTaskStatus};
use synthdev_domain::ids::CallId;
use synthdev_service::run_events::RunEvent;

/// Parts that are kept; what is over goes first.
const MOST: usize = 200;

/// Tasks that are not done and are shown.
const MOST_TASKS: usize = 20;

#[derive(Clone, Debug, Default)]
pub struct BranchTree {
    parts: Vec<BranchTreeNode>,
    /// Calls under way, with the part and the agent.
    calls: HashMap<CallId, (String, String)>,
    dropped_count: usize,
    /// Tasks that the agents share: title, status, and the agent that set it.
    tasks: BTreeMap<u64, (String, TeamTaskStatus, String)>,
    /// Names of the notes that they share.
    notes: BTreeSet<String>,
}

/// A called workflow, a branch or an item.
#[derive(Clone, PartialEq, Eq, Debug)]
struct BranchTreeNode {
    /// What the path names of its states begin with.
    prefix: String,
    name: String,
    /// The last part of the name of the state it is in.
    state: String,
    /// Whether it went well, if it is over.
    succeeded: Option<bool>,
    agents: Vec<BranchAgent>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct BranchAgent {
    name: String,
    model: String,
    tokens: u64,
    /// Calls of it under way.
    pending_calls: usize,
}

/// A line of the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeLine {
    /// What joins it to the one above.
    pub connector: String,
    pub text: String,
    /// It is active.
    pub is_working: bool,
}

impl BranchTree {
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.tasks.is_empty() && self.notes.is_empty()
    }

    /// Whether it has changed.
    pub fn apply_event(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::ChildStarted { state, workflow, .. } => {
                self.start_node(
                    format!("{}{workflow}/", parent_path(state)),
                    format!("workflow {}", one_line(workflow)),
                );
            }
            RunEvent::ChildFinished { state, workflow, .. } => {
                self.end_node(&format!("{}{workflow}/", parent_path(state)), true);
            }
            RunEvent::BranchStarted { state, branch, .. } => {
                let kind = if branch.starts_with('[') { "item" } else { "branch" };
                let name =
                    format!("{kind} {}{}", one_line(last_segment(state)), one_line(&branch_label(branch)));
                self.start_node(format!("{state}{}/", branch_label(branch)), name);
            }
            RunEvent::BranchFinished { state, branch, error, .. } => {
                self.end_node(&format!("{state}{}/", branch_label(branch)), error.is_none());
            }
            RunEvent::AgentSpawned { state, agent, .. } => {
                self.start_node(agent_prefix(state, agent), agent_label(agent));
            }
            RunEvent::AgentEnded { state, agent, status, .. } => {
                self.end_node(&agent_prefix(state, agent), *status == SpawnedAgentStatus::Completed);
            }
            RunEvent::TeamTask { by, id, title, status, .. } => {
                self.tasks.insert(*id, (one_line(title), *status, one_line(by)));
            }
            RunEvent::TeamNote { key, .. } => {
                self.notes.insert(one_line(key));
            }
            RunEvent::StateEntered { state, .. } => match self.part_mut(parent_path(state)) {
                Some(part) => part.state = one_line(last_segment(state)),
                None => return false,
            },
            RunEvent::ModelCalled { call, state, agent, model, .. } => {
                let prefix = parent_path(state).to_owned();
                let Some(part) = self.part_mut(&prefix) else { return false };
                let (agent, model) = (one_line(agent), one_line(model));
                part.agent_mut(&agent).pending_calls += 1;
                part.agent_mut(&agent).model = model;
                self.calls.insert(*call, (prefix, agent));
            }
            RunEvent::Replied { call, model, usage, .. } => {
                return self.record_reply(*call, usage.total(), Some(one_line(model)));
            }
            RunEvent::ModelFailed { call, .. } | RunEvent::ModelStopped { call, .. } => {
                return self.record_reply(*call, 0, None);
            }
            RunEvent::Finished { .. } => {
                self.calls.clear();
                for part in self.parts.iter_mut().filter(|part| part.succeeded.is_none()) {
                    part.succeeded = Some(false);
                    part.agents.iter_mut().for_each(|worker| worker.pending_calls = 0);
                }
            }
            _ => return false,
        }
        true
    }

    /// Everything below the run itself, in the order in which it began.
    pub fn lines(&self) -> Vec<TreeLine> {
        let mut lines = Vec::new();
        self.push_lines_below("", "", &mut lines);
        if self.dropped_count > 0 {
            let text = format!("{} that are over are left out", self.dropped_count);
            lines.push(TreeLine { connector: "  ".to_owned(), text, is_working: false });
        }
        let board = self.board_lines();
        lines.extend(board.into_iter().map(|(text, is_working)| TreeLine {
            connector: "  ".to_owned(),
            text,
            is_working,
        }));
        lines
    }

    /// Tasks and notes that the agents share, each with whether an agent works on it.
    fn board_lines(&self) -> Vec<(String, bool)> {
        let done = self.tasks.values().filter(|(_, status, _)| *status == TeamTaskStatus::Done).count();
        let open = self.tasks.iter().filter(|(_, (_, status, _))| *status != TeamTaskStatus::Done);
        let mut lines: Vec<(String, bool)> = open
            .take(MOST_TASKS)
            .map(|(id, (title, status, by))| match status {
                TeamTaskStatus::Taken => (format!("task {id} · {by} · {title}"), true),
                TeamTaskStatus::Open | TeamTaskStatus::Done => (format!("task {id} · open · {title}"), false),
            })
            .collect();
        if done > 0 {
            lines.push((format!("{done} of {} tasks done", self.tasks.len()), false));
        }
        if !self.notes.is_empty() {
            let names: Vec<&str> = self.notes.iter().map(String::as_str).collect();
            lines.push((format!("notes: {}", names.join(", ")), false));
        }
        lines
    }

    fn push_lines_below(&self, prefix: &str, indent: &str, lines: &mut Vec<TreeLine>) {
        let own: Vec<&BranchTreeNode> =
            self.parts.iter().filter(|part| self.parent_prefix(part) == prefix).collect();
        for (at, part) in own.iter().enumerate() {
            let (joint, next) = if at + 1 == own.len() { ("└ ", "  ") } else { ("├ ", "│ ") };
            let doing = match part.succeeded {
                Some(true) => "done".to_owned(),
                Some(false) => "not finished".to_owned(),
                None if part.state.is_empty() => "begins".to_owned(),
                None => format!("in {}", part.state),
            };
            let text = format!("{} · {doing}", part.name);
            lines.push(TreeLine {
                connector: format!("{indent}{joint}"),
                text,
                is_working: part.succeeded.is_none(),
            });
            for worker in &part.agents {
                let asked = if worker.pending_calls > 0 { " · works" } else { "" };
                let tokens = short_number(worker.tokens);
                let text = format!("{}{asked} · {} · {tokens} tok", worker.name, worker.model);
                lines.push(TreeLine {
                    connector: format!("{indent}{next}  "),
                    text,
                    is_working: worker.pending_calls > 0,
                });
            }
            self.push_lines_below(&part.prefix, &format!("{indent}{next}"), lines);
        }
    }

    /// The longest other prefix that its own begins with.
    fn parent_prefix(&self, part: &BranchTreeNode) -> &str {
        let around = self.parts.iter().filter(|other| {
            other.prefix.len() < part.prefix.len() && part.prefix.starts_with(other.prefix.as_str())
        });
        around.map(|other| other.prefix.as_str()).max_by_key(|prefix| prefix.len()).unwrap_or_default()
    }

    fn start_node(&mut self, prefix: String, name: String) {
        if let Some(part) = self.part_mut(&prefix) {
            // once more: what it used before counts
            (part.succeeded, part.state) = (None, String::new());
            return;
        }
        if self.parts.len() >= MOST
            && let Some(at) = self.parts.iter().position(|part| part.succeeded.is_some())
        {
            self.parts.remove(at);
            self.dropped_count += 1;
        }
        if self.parts.len() < MOST {
            self.parts.push(BranchTreeNode {
                prefix,
                name,
                state: String::new(),
                succeeded: None,
                agents: Vec::new(),
            });
        } else {
            self.dropped_count += 1;
        }
    }

    fn end_node(&mut self, prefix: &str, well: bool) {
        let within = self.parts.iter_mut().filter(|part| part.prefix.starts_with(prefix));
        for part in within.filter(|part| part.succeeded.is_none()) {
            part.succeeded = Some(well);
        }
    }

    fn record_reply(&mut self, call: CallId, tokens: u64, model: Option<String>) -> bool {
        let Some((prefix, agent)) = self.calls.remove(&call) else { return false };
        let Some(part) = self.part_mut(&prefix) else { return false };
        let worker = part.agent_mut(&agent);
        worker.pending_calls = worker.pending_calls.saturating_sub(1);
        worker.tokens = worker.tokens.saturating_add(tokens);
        if let Some(model) = model {
            worker.model = model;
        }
        true
    }

    fn part_mut(&mut self, prefix: &str) -> Option<&mut BranchTreeNode> {
        self.parts.iter_mut().rev().find(|part| part.prefix == prefix)
    }
}

impl BranchTreeNode {
    fn agent_mut(&mut self, name: &str) -> &mut BranchAgent {
        let at = self.agents.iter().position(|worker| worker.name == name).unwrap_or_else(|| {
            let worker =
                BranchAgent { name: name.to_owned(), model: String::new(), tokens: 0, pending_calls: 0 };
            self.agents.push(worker);
            self.agents.len() - 1
        });
        &mut self.agents[at]
    }
}

/// What a state's path name begins with; empty: it is a state of the run itself.
fn parent_path(state: &str) -> &str {
    state.rfind('/').map_or("", |end| &state[..=end])
}

fn last_segment(state: &str) -> &str {
    state.rsplit('/').next().unwrap_or(state)
}

/// What the path names of the states of a started agent begin with.
pub(super) fn agent_prefix(state: &str, agent: &str) -> String {
    format!("{state}/{agent}/")
}

fn agent_label(agent: &str) -> String {
    format!("agent {}", one_line(agent))
}

/// `[3]`, `.alpha`
fn branch_label(branch: &str) -> String {
    if branch.starts_with('[') { branch.to_owned() } else { format!(".{branch}") }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use synthdev_domain::context::ConversationSide;
    use synthdev_domain::cost::TokenUsage;

    fn model_called(call: u64, state: &str, agent: &str) -> RunEvent {
        RunEvent::ModelCalled {
            call: CallId(call),
            state: state.into(),
            agent: agent.into(),
            role: String::new(),
            side: ConversationSide::Assistant,
            model: "m".into(),
            provider: "p".into(),
            messages: 1,
        }
    }

    fn model_replied(call: u64, agent: &str, prompt: u64) -> RunEvent {
        RunEvent::Replied {
            call: CallId(call),
            agent: agent.into(),
            side: ConversationSide::Assistant,
            text: String::new(),
            reasoning: String::new(),
            tool_calls: Vec::new(),
            model: "m-1".into(),
            usage: TokenUsage { prompt, ..TokenUsage::default() },
            cost_usd: None,
            duration_ms: 1,
            estimated: false,
        }
    }

    fn child(state: &str, workflow: &str) -> RunEvent {
        RunEvent::ChildStarted { state: state.into(), workflow: workflow.into(), inputs: Map::new() }
    }

    fn branch(state: &str, branch: &str, index: usize) -> RunEvent {
        RunEvent::BranchStarted { state: state.into(), branch: branch.into(), index }
    }

    fn state_entered(state: &str) -> RunEvent {
        RunEvent::StateEntered { state: state.into(), visit: 1, step: 1, agent: None, context: None }
    }

    fn text(tree: &BranchTree) -> Vec<String> {
        tree.lines().into_iter().map(|line| format!("{}{}", line.connector, line.text)).collect()
    }

    #[test]
    fn agents_stand_below_the_agent_that_started_them_with_what_they_share() {
        let mut tree = BranchTree::default();
        let spawned = |state: &str, agent: &str| RunEvent::AgentSpawned {
            call: CallId(9),
            state: state.into(),
            by: "lead".into(),
            agent: agent.into(),
            role: "coder".into(),
            task: "t".into(),
            context: Default::default(),
            background: true,
        };
        let task = |id, status| RunEvent::TeamTask {
            by: "coder-1".into(),
            id,
            title: "parse".into(),
            status,
            result: None,
        };
        let events = [
            spawned("chat", "coder-1"),
            state_entered("chat/coder-1/work"),
            model_called(1, "chat/coder-1/work", "coder-1"),
            spawned("chat/coder-1/work", "coder-2"),
            spawned("chat", "coder-3"),
            RunEvent::AgentEnded {
                state: "chat".into(),
                by: "lead".into(),
                agent: "coder-3".into(),
                status: SpawnedAgentStatus::Failed,
                result: None,
                error: Some("no".into()),
            },
            task(1, TeamTaskStatus::Taken),
            task(2, TeamTaskStatus::Open),
            task(3, TeamTaskStatus::Done),
            RunEvent::TeamNote { by: "coder-1".into(), key: "style".into(), text: "tabs".into() },
        ];
        for event in &events {
            assert!(tree.apply_event(event), "{event:?}");
        }
        let expected = [
            "├ agent coder-1 · in work",
            "│   coder-1 · works · m · 0 tok",
            "│ └ agent coder-2 · begins",
            "└ agent coder-3 · not finished",
            "  task 1 · coder-1 · parse",
            "  task 2 · open · parse",
            "  1 of 3 tasks done",
            "  notes: style",
        ];
        assert_eq!(text(&tree), expected);
    }

    #[test]
    fn what_runs_inside_of_what_is_drawn_with_who_works_there() {
        let mut tree = BranchTree::default();
        let events = [
            state_entered("start"),
            model_called(1, "start", "boss"),
            child("plan", "planning"),
            state_entered("planning/draft"),
            model_called(2, "planning/draft", "architect"),
            branch("planning/split", "alpha", 0),
            branch("planning/split", "beta", 1),
            state_entered("planning/split.alpha/look"),
            model_called(3, "planning/split.alpha/look", "scout"),
            model_replied(3, "scout", 1_500),
            model_called(4, "planning/split.alpha/look", "scout"),
            RunEvent::BranchFinished {
                state: "planning/split".into(),
                branch: "beta".into(),
                index: 1,
                output: None,
                error: None,
            },
            branch("each", "[10]", 10),
        ];
        for event in &events {
            tree.apply_event(event);
        }
        assert_eq!(
            text(&tree),
            [
                "├ workflow planning · in draft",
                "│   architect · works · m · 0 tok",
                "│ ├ branch split.alpha · in look",
                "│ │   scout · works · m · 1.5k tok",
                "│ └ branch split.beta · done",
                "└ item each[10] · begins",
            ]
        );
        tree.apply_event(&RunEvent::ChildFinished {
            state: "plan".into(),
            workflow: "planning".into(),
            output: None,
        });
        let after = text(&tree);
        assert!(after[0].ends_with("done") && after[2].ends_with("done"), "{after:?}");
    }

    #[test]
    fn ten_thousand_items_are_counted_and_not_kept() {
        let mut tree = BranchTree::default();
        for at in 0..10_000 {
            tree.apply_event(&branch("each", &format!("[{at}]"), at));
            tree.apply_event(&RunEvent::BranchFinished {
                state: "each".into(),
                branch: format!("[{at}]"),
                index: at,
                output: None,
                error: None,
            });
        }
        let lines = text(&tree);
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines.last().map(String::as_str), Some("  9800 that are over are left out"));
        assert!(lines[MOST - 1].contains("each[9999]"), "{}", lines[MOST - 1]);
    }
}
