//! Drawings of workflows with every kind of state, and of hostile ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Map;

use super::terminal::{GraphTone, draw_terminal, plain_text};
use super::*;
use synthdev_domain::ids::{ScriptIx, StateIx, WorkflowIx};
use synthdev_domain::script::{ScriptForm, ScriptKind, WorkflowScript};
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_domain::tool::ToolRisk;
use synthdev_domain::trace::{RunTrace, StateExit, TraceScope};
use synthdev_domain::workflow::*;

/// A workflow under construction: states by name, targets too.
#[derive(Default)]
struct GraphSketch {
    names: Vec<&'static str>,
    states: Vec<StateSpec>,
    scripts: Vec<WorkflowScript>,
}

impl GraphSketch {
    fn from_names(names: &[&'static str]) -> Self {
        Self { names: names.to_vec(), ..Self::default() }
    }

    fn state_at(&self, name: &str) -> StateIx {
        StateIx(self.names.iter().position(|one| *one == name).unwrap())
    }

    fn script(&mut self, source: &str) -> ScriptIx {
        self.scripts.push(WorkflowScript {
            kind: ScriptKind::Condition,
            form: ScriptForm::Expression,
            source: source.to_owned(),
            prepared: source.to_owned(),
            place: SourceLocation::default(),
            offers: Vec::new(),
        });
        ScriptIx(self.scripts.len() - 1)
    }

    /// The next state; each way is a target and a condition (empty: always).
    fn state(&mut self, work: StateBody, ways: &[(&str, &str)]) -> &mut StateSpec {
        let transitions = ways
            .iter()
            .map(|(target, condition)| Transition {
                target: self.state_at(target),
                condition: (!condition.is_empty()).then(|| self.script(condition)),
                before: None,
            })
            .collect();
        self.states.push(StateSpec {
            name: self.names[self.states.len()].to_owned(),
            script: None,
            work,
            transitions,
            terminal: false,
            output: ValueSource::Absent,
            expects: Vec::new(),
            store: None,
            recovery: RecoveryPolicy::default(),
            timeout_ms: None,
            budget: Budget::default(),
            max_visits: None,
            on_limit: None,
            runs_here: false,
            description: String::new(),
            place: SourceLocation::default(),
        });
        self.states.last_mut().unwrap()
    }

    fn last_state(&mut self) -> &mut StateSpec {
        let state = self.state(StateBody::None, &[]);
        state.terminal = true;
        state
    }

    fn program(self, name: &str) -> WorkflowProgram {
        let stop = self.state_at("stop");
        let workflow = Workflow {
            name: name.to_owned(),
            description: "Everything that a state can be".to_owned(),
            inputs: Vec::new(),
            sub_agents: SubAgents::None,
            ack_steps: false,
            output: None,
            requirements: Default::default(),
            variables: Map::new(),
            contexts: Vec::new(),
            agents: Vec::new(),
            states: self.states,
            scripts: Arc::new(self.scripts),
            start: StateIx(0),
            stop,
            limits: WorkflowLimits::default(),
            budget: Budget::default(),
            timeout_ms: None,
            on_error: OnError::default(),
            on_limit: None,
            no_match: NoMatch::default(),
            condition_errors_are_false: false,
            lenient: false,
            resume: None,
            snapshot: SnapshotPolicy::default(),
            isolated: false,
            loopback_ports: BTreeSet::default(),
            conversational: false,
            layer: ConfigLayer::User,
            place: SourceLocation::default(),
        };
        WorkflowProgram {
            workflows: vec![Arc::new(workflow)],
            hash: String::new(),
            start_warnings: Vec::new(),
        }
    }
}

fn step(tool: &str, arguments: &[(&str, &str)]) -> StateBody {
    let argument =
        |(key, text): &(&str, &str)| (vec![(*key).to_owned()], ValueSource::Text((*text).to_owned()));
    StateBody::Action(ActionSpec {
        tool: tool.to_owned(),
        risk: ToolRisk::Execute,
        arguments: arguments.iter().map(argument).collect(),
        expect: ActionExpectation::Any,
    })
}

fn child() -> StateBody {
    StateBody::Child { workflow: WorkflowIx(0), inputs: Vec::new() }
}

const NAMES: [&str; 18] = [
    "start",
    "fan",
    "fan.near/start",
    "fan.near/stop",
    "fan.far/start",
    "fan.far/again",
    "fan.far/stop",
    "each",
    "each/start",
    "each/stop",
    "ask",
    "検査",
    "fix",
    "rest",
    "give_up",
    "stop",
    "resume",
    "lost",
];

/// Every kind of state, bodies, ways up, down, to itself and away from errors.
fn everything() -> WorkflowProgram {
    let mut sketch = GraphSketch::from_names(&NAMES);
    let script = sketch.script("() => {}");
    sketch.state(StateBody::None, &[("fan", "true")]).script = Some(script);
    fan(&mut sketch);
    each(&mut sketch);
    ask(&mut sketch);
    let give_up = sketch.state_at("give_up");
    let judged = "function.judge.arguments.ok === 'this.x'";
    let search = step("mcp", &[("server", "github"), ("tool", "search")]);
    sketch.state(search, &[("stop", judged), ("検査", "n < 3"), ("fix", "")]).on_limit = Some(give_up);
    let request = step("http_request", &[("method", "GET"), ("url", "https://example.org")]);
    sketch.state(request, &[("検査", "")]);
    sketch.state(step("read_files", &[]), &[("stop", "")]);
    sketch.state(StateBody::Fail { error: "gave_up".to_owned(), cause: ValueSource::Absent }, &[]);
    let output = ValueSource::Script(sketch.script("common_data.summary"));
    sketch.last_state().output = output;
    sketch.state(StateBody::None, &[("rest", "")]);
    sketch.state(StateBody::None, &[("stop", "a"), ("lost", "")]);
    let mut program = sketch.program("every\u{1b}thing");
    let workflow = Arc::make_mut(&mut program.workflows[0]);
    workflow.resume = Some(StateIx(16));
    workflow.on_error = OnError::Go(give_up);
    program
}

fn fan(sketch: &mut GraphSketch) {
    let branch = |name: &str, start| BranchSpec { name: name.to_owned(), start };
    let near = branch("near", sketch.state_at("fan.near/start"));
    let far = branch("far", sketch.state_at("fan.far/start"));
    let fan = ParallelSpec {
        branches: vec![near, far],
        join: JoinPolicy::Any,
        on_error: BranchErrors::Collect,
        max_concurrency: None,
        merge: BTreeMap::new(),
    };
    let errors = vec!["model.*".to_owned(), "tool.failed".to_owned()];
    let target = sketch.state_at("give_up");
    let catch = CatchRule { errors, key: None, before: None, target };
    sketch.state(StateBody::Parallel(fan), &[("each", "")]).recovery.catch = vec![catch];
    sketch.state(child(), &[("fan.near/stop", "")]);
    sketch.last_state();
    let shell = step("shell", &[("command", "make  check")]);
    sketch.state(shell, &[("fan.far/again", "this.common_data.n > 1"), ("fan.far/stop", "")]);
    let wait = WaitSpec::For(ValueSource::Text("PT5S".to_owned()));
    sketch.state(StateBody::Wait(wait), &[("fan.far/start", "")]);
    sketch.last_state();
}

fn each(sketch: &mut GraphSketch) {
    let each = ForEachSpec {
        items: ValueSource::Script(sketch.script("common_data.files")),
        each: "file".to_owned(),
        at: "index".to_owned(),
        start: sketch.state_at("each/start"),
        needs: Vec::new(),
        max_concurrency: Some(3),
        tolerated_failures: 0,
        tolerated_percent: 0.0,
        handed_out: None,
        sub_agent: None,
    };
    sketch.state(StateBody::ForEach(each), &[("ask", "")]);
    sketch.state(child(), &[("each/stop", "")]);
    sketch.last_state();
}

fn ask(sketch: &mut GraphSketch) {
    let pause = PauseSpec {
        kind: PauseKind::Approval,
        message: ValueSource::Text("Go on with\u{1b}[31m this?".to_owned()),
        choices: Vec::new(),
        schema: None,
        required_outputs: Vec::new(),
        default: None,
        ttl_ms: None,
        on_timeout: Some(sketch.state_at("give_up")),
        request: None,
    };
    sketch.state(StateBody::Pause(pause), &[("検査", "context.result === true"), ("each", "")]);
}

/// A stored run must be readable: the tag of the work and the fields of its kinds share one object.
#[test]
fn every_kind_of_work_survives_being_stored() {
    let program = everything();
    let text = serde_json::to_string(&program).unwrap();
    assert_eq!(serde_json::from_str::<WorkflowProgram>(&text).unwrap(), program);
}

fn graph() -> WorkflowGraph {
    WorkflowGraph::from_program(&everything(), WorkflowIx(0)).unwrap()
}

/// What is found by order must be all that there is.
#[test]
fn the_ways_and_bodies_of_a_state_are_those_that_a_walk_finds() {
    let graph = graph();
    assert!(graph.edges.len() > 10 && graph.groups.len() > 2);
    for at in 0..graph.nodes.len() + 1 {
        let ways: Vec<_> = graph.edges.iter().filter(|edge| edge.from == at).collect();
        assert_eq!(graph.outgoing_edges(at).collect::<Vec<_>>(), ways, "{at}");
        let bodies: Vec<_> = graph.groups.iter().filter(|group| group.owner == at).collect();
        assert_eq!(graph.bodies(at).map(|(_, group)| group).collect::<Vec<_>>(), bodies, "{at}");
    }
}

#[test]
fn every_kind_of_state_has_its_line() {
    let expected = "\
every␛thing
Everything that a state can be

 any state ╌▸ give_up  an error that nothing catches
 any state ╌▸ resume   the user sends a message

 ○ start               script
 ▼
 ‖ fan                 parallel, first of 2
 │ ├─◆ near            workflow every␛thing
 │ ╰─ far
 │    ▷ start          shell make check
 │    ├─▸ ↓ again      1st n > 1
 │    ╰─▸ ↓ stop       2nd otherwise
 │
 │    ◷ again          waits PT5S
 │    ╰─▸ ↑ start
 │
 │    ■ stop           end
 ├╌▸ ↓ give_up         ! model.*, tool.failed
 ▼
 ∀ each                each file of files, 3 at once
 │ ╰─◆ file            workflow every␛thing
 ▼
 ? ask                 asks for approval: Go on with␛[31m this?
 ├╌▸ ↓ give_up         ! no answer in time
 ├─▸ ↓ 検査            1st context.result === true
 ╰─▸ ↑ each            2nd otherwise

 ▷ 検査                mcp github search
 ├╌▸ ↓ give_up         ! limit or budget reached
 ├─▸ ↓ stop            1st judge.ok === 'this.x'
 ├─▸ ↺ 検査            2nd n < 3
 ▼                     3rd otherwise
 ▷ fix                 http GET https://example.org
 ╰─▸ ↑ 検査

 ○ resume
 ▼
 ▷ rest                tool read_files
 ▼
 ■ stop                end with summary
 ✗ give_up             fails with gave_up
 ○ lost                never reached: decides
 ├─▸ ↑ stop            1st a
 ╰─▸ ↺ lost            2nd otherwise
";
    assert_eq!(plain_text(&draw_terminal(&graph(), 80)), expected);
}

#[test]
fn no_line_is_wider_than_asked_for() {
    let mut marked = graph();
    marked.overlay_trace(&trail(), TraceScope::Root);
    for graph in [graph(), marked] {
        for width in [0, 24, 33, 40, 60, 80, 81, 200] {
            for line in draw_terminal(&graph, width) {
                let text = plain_text(std::slice::from_ref(&line));
                let columns = unicode_width::UnicodeWidthStr::width(text.trim_end_matches('\n'));
                assert!(columns <= width.max(24), "{width}: {columns} columns: {text}");
                assert!(!text.trim_end_matches('\n').ends_with(' '), "blanks at the end: {text:?}");
            }
        }
    }
}

/// In `ask` for the second time, after the foreach was left for it once and once again.
fn trail() -> RunTrace {
    let mut trail = RunTrace::default();
    trail.record_entered("start", None);
    trail.record_left("start", StateExit::Transition(0));
    trail.record_entered("fan", None);
    trail.record_entered("fan.far/start", Some("coder"));
    trail.record_spent("coder", 1_000, Some(0.25));
    trail.record_left("fan.far/start", StateExit::Transition(1));
    trail.record_joined("fan");
    trail.record_left("fan", StateExit::Transition(0));
    for _ in 0..2 {
        trail.record_entered("each", None);
        trail.record_left("each", StateExit::Transition(0));
        trail.record_entered("ask", None);
        trail.record_left("ask", StateExit::Transition(1));
    }
    trail.record_entered("ask", None);
    trail
}

#[test]
fn a_tally_says_what_was_spent() {
    let check = |tokens: u64, cost_usd: Option<f64>, expected: &str| {
        let standing = GraphVisitStatus::Done;
        let tally = GraphVisitTally { count: 3, tokens, cost_usd, standing };
        assert_eq!(super::terminal::tally_text(Some(&tally)), expected);
    };
    check(0, Some(0.0), "×3");
    check(1_200, Some(0.0), "×3  $0");
    check(1_200, Some(0.0123), "×3  $0.0123");
    check(1_200, None, "×3  1200 tokens");
    check(12_000, None, "×3  12k tokens");
}

#[test]
fn a_run_is_seen_on_its_graph() {
    let mut graph = graph();
    graph.overlay_trace(&trail(), TraceScope::Root);
    let lines = draw_terminal(&graph, 60);
    let text = plain_text(&lines);
    let find = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
    assert!(find(" ‖ fan").ends_with("×1  $0.2500"), "the owner pays for its body:\n{text}");
    assert!(find(" │ ╰─ far").ends_with("far"), "{text}");
    assert!(find(" │    ▷ start").ends_with("×1  $0.2500"), "{text}");
    assert!(find(" │    ╰─▸ ↓ stop").ends_with("×1  $0.2500"), "{text}");
    assert!(find(" │    ├─▸ ↓ again").ends_with("n > 1"), "never taken: {text}");
    assert!(find("▶? ask").ends_with("×3"), "{text}");
    assert!(find(" ╰─▸ ↑ each").ends_with("×2"), "{text}");
    assert!(find(" ▷ fix").ends_with('…'), "no number: {text}");
    let tone = |start: &str| {
        let line = lines.iter().find(|line| plain_text(&[(*line).clone()]).starts_with(start)).unwrap();
        line.iter().find(|span| span.tone != GraphTone::Edge).map(|span| span.tone)
    };
    let rows = [
        (" ○ start", GraphTone::Done),
        ("▶? ask", GraphTone::Current),
        (" ▷ fix", GraphTone::Dim),
        (" ╰─▸ ↑ each", GraphTone::Done),
        (" ├╌▸ ↓ give_up", GraphTone::Dim),
    ];
    for (start, expected) in rows {
        assert_eq!(tone(start), Some(expected), "{start}");
    }
    let mermaid = mermaid::draw_mermaid(&[(0, graph.clone())]);
    assert!(mermaid.contains("class s0x10 current"), "{mermaid}");
    let dot = dot::draw_dot(&[(0, graph)]);
    assert!(dot.contains("s0_10 [label=\"ask\\nasks for approval: Go on with␛[31m this?\\n×3\""), "{dot}");
}

/// Every text of the graph is this one.
fn all_named(text: &str) -> WorkflowGraph {
    let mut graph = graph();
    graph.workflow = text.to_owned();
    graph.description = text.to_owned();
    for node in &mut graph.nodes {
        (node.label, node.about) = (text.to_owned(), text.to_owned());
    }
    graph.edges.iter_mut().for_each(|edge| edge.label = text.to_owned());
    graph.groups.iter_mut().for_each(|group| group.name = text.to_owned());
    graph
}

/// Tries to be syntax, and to steer a terminal.
const NASTY: &str =
    "a\"b\\c\n\u{1b}[2J; --> s0 : x { } [*] %% <!-- #quot; &amp; 'q' `k` \u{202e} |> end note\r\n--\n}";

#[test]
fn hostile_names_stay_names() {
    let drawings = |graph: WorkflowGraph| {
        let list = [(0, graph.clone()), (1, graph.clone())];
        [plain_text(&draw_terminal(&graph, 80)), mermaid::draw_mermaid(&list), dot::draw_dot(&list)]
    };
    for (good, bad) in drawings(all_named("plain")).iter().zip(drawings(all_named(NASTY))) {
        let controls: Vec<char> = bad.chars().filter(|c| c.is_control() && *c != '\n').collect();
        assert!(controls.is_empty() && !bad.contains('\u{202e}'), "{bad}");
        assert_eq!(bad.lines().count(), good.lines().count(), "a name became lines of its own:\n{bad}");
    }
    // outside of quoted strings, a DOT file says the same whatever the names are
    let bare = |text: &str| {
        let strings = regex::Regex::new(r#""([^"\\]|\\.)*""#).unwrap();
        strings.replace_all(text, "S").into_owned()
    };
    let [_, _, good] = drawings(all_named("plain"));
    let [_, _, bad] = drawings(all_named(NASTY));
    assert_eq!(bare(&good), bare(&bad));
}

/// Every line of a diagram is one of the few forms that Mermaid's own parser was tried with.
#[test]
fn mermaid_lines_have_known_forms() {
    let id = r"(s\d+x\d+|w\d+|g\d+x\d+|any\d+|\[\*\])";
    let label = r"[\p{Alphabetic}\p{N} .,_()!?/='+×…-]|#\d+;";
    let forms = [
        format!(r"^ +{id} --> {id}( : ({label})*)?$"),
        format!(r"^ +{id} : ({label})*$"),
        format!("^ +state \"({label})*\" as {id}( \\{{)?$"),
        r"^ +(--|\}|direction TB)$".to_owned(),
        r"^ +classDef (done|current) [a-z0-9:#,-]+$".to_owned(),
        format!(r"^ +class {id}(,{id})* (done|current)$"),
    ];
    let forms: Vec<regex::Regex> = forms.iter().map(|form| regex::Regex::new(form).unwrap()).collect();
    let mut marked = graph();
    marked.overlay_trace(&trail(), TraceScope::Root);
    for graph in [graph(), marked, all_named(NASTY)] {
        let text = mermaid::draw_mermaid(&[(0, graph.clone()), (1, graph)]);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("stateDiagram-v2"));
        for line in lines {
            assert!(forms.iter().any(|form| form.is_match(line)), "{line}");
        }
        let opened = text.matches(" {\n").count();
        assert_eq!(opened, text.lines().filter(|line| line.trim() == "}").count());
    }
}

#[test]
fn a_long_chain_and_a_dense_graph_are_drawn() {
    let mut names: Vec<&'static str> = (0..3_000).map(|at| &*format!("s{at}").leak()).collect();
    names.push("stop");
    let mut sketch = GraphSketch::from_names(&names);
    for at in 0..3_000_usize {
        let back = names[at / 2];
        let next = names[at + 1];
        sketch.state(StateBody::None, &[(back, "a"), (next, "")]);
    }
    sketch.last_state();
    let graph = WorkflowGraph::from_program(&sketch.program("long"), WorkflowIx(0)).unwrap();
    let drawn = plain_text(&draw_terminal(&graph, 80));
    assert!(drawn.lines().count() > 6_000);
    assert!(drawn.trim_end().ends_with("■ stop       end"));
}

#[test]
fn a_loop_shows_how_many_items_run_at_once() {
    for (allowed, label, in_full) in [(10, "3 at once", "3"), (2, "2 at once", "2, asks for 3")] {
        let mut program = everything();
        Arc::make_mut(&mut program.workflows[0]).limits.max_concurrency = allowed;
        let graph = WorkflowGraph::from_program(&program, WorkflowIx(0)).unwrap();
        let text = plain_text(&draw_terminal(&graph, 60));
        assert!(text.contains(&format!("each file of files, {label}")), "{allowed}: {text}");
        let node = graph.nodes.iter().find(|node| node.name == "each").unwrap();
        let field = node.details.fields.iter().find(|field| field.name == "at once").unwrap();
        assert_eq!(field.text, in_full, "{allowed}");
    }
}
