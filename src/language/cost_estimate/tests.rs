use std::sync::Arc;

use super::*;
use synthdev_domain::agent::{AgentSpec, MemoryPolicy, ToolLoop};
use synthdev_domain::context::{ContextSpec, ConversationSide, TrimPolicy};
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::ids::{AgentIx, ContextIx, ScriptIx, StateIx, WorkflowIx};
use synthdev_domain::model::{ModelChoice, ModelParameters};
use synthdev_domain::role::Role;
use synthdev_domain::script::{ScriptForm, ScriptKind, WorkflowScript};
use synthdev_domain::source_location::SourceLocation;
use synthdev_domain::system_context::{SystemContext, SystemContextExclusions};
use synthdev_domain::tool::{ParsingTool, ToolRisk, ToolSpec};
use synthdev_domain::workflow::{
    AgentFunction, BranchErrors, BranchSpec, Budget, BudgetCap, ForEachSpec, JoinPolicy, OnError,
    ParallelSpec, RetryBackoff, RetryRule, StateSpec, Transition, ValueSource, WorkflowLimits,
};

/// An agent of 100 prompt tokens a call and 10 of answer, at a dollar a thousand of each.
fn agent() -> AgentSpec {
    AgentSpec {
        id: "a".into(),
        role: "a".into(),
        side: ConversationSide::Assistant,
        context: ContextIx(0),
        system_prompt: String::new(),
        examples: Vec::new(),
        choice: ModelChoice {
            model: "m".into(),
            parameters: ModelParameters { max_output_tokens: Some(10), ..ModelParameters::default() },
            price: Some(TokenPrice { input: 1_000.0, output: 1_000.0, ..TokenPrice::default() }),
            ..ModelChoice::default()
        },
        tools: [].into(),
        parsing_tools: Vec::new(),
        max_tool_rounds: 25,
        tool_loop: ToolLoop::Auto,
        input_visibility: None,
        memory: MemoryPolicy::default(),
        budget: Budget::default(),
        reminder: None,
        network: None,
        spawns: None,
        task_roles: Vec::new(),
        without: Default::default(),
    }
}

/// States by name: `name work -> target target …`. Works: `-` none, `!` asks the agent, `/N` a child, `.` an end,
/// `|name|name` branches that begin at these states, `*name` and `*3name` a loop over unknown or three items.
fn workflow(name: &str, states: &[&str]) -> Workflow {
    let words: Vec<Vec<&str>> = states.iter().map(|state| state.split_whitespace().collect()).collect();
    let at = |name: &str| {
        StateIx(words.iter().position(|words| words[0] == name).unwrap_or_else(|| panic!("{name}")))
    };
    let mut scripts = Vec::new();
    let mut all = Vec::new();
    for words in &words {
        let targets = words.iter().skip(3);
        all.push(StateSpec {
            name: words[0].to_owned(),
            work: work(words[1], &at, &mut scripts),
            terminal: words[1] == ".",
            transitions: targets
                .map(|name| Transition { target: at(name), condition: None, before: None })
                .collect(),
            ..StateSpec::default()
        });
    }
    let chat = crate::lower::chat_program(Role::default(), ModelChoice::default(), Vec::new());
    Workflow {
        name: name.into(),
        states: all,
        agents: vec![agent()],
        contexts: vec![ContextSpec { max_length: 400, ..chat.workflows[0].contexts[0].clone() }],
        scripts: Arc::new(scripts),
        start: StateIx(0),
        conversational: false,
        limits: WorkflowLimits::default(),
        ..chat.workflows[0].as_ref().clone()
    }
}

fn work(word: &str, at: &dyn Fn(&str) -> StateIx, scripts: &mut Vec<WorkflowScript>) -> StateBody {
    match word.split_at(1) {
        ("!", _) => StateBody::Agent {
            agent: AgentIx(0),
            function: AgentFunction::SendUserMessage,
            input: ValueSource::Absent,
        },
        ("/", child) => StateBody::Child { workflow: WorkflowIx(child.parse().unwrap()), inputs: Vec::new() },
        ("|", names) => StateBody::Parallel(ParallelSpec {
            branches: names
                .split('|')
                .map(|name| BranchSpec { name: name.to_owned(), start: at(name) })
                .collect(),
            join: JoinPolicy::All,
            on_error: BranchErrors::FailFast,
            max_concurrency: None,
            merge: BTreeMap::new(),
        }),
        ("*", body) => {
            scripts.push(WorkflowScript {
                kind: ScriptKind::Input,
                form: ScriptForm::Expression,
                source: if body.starts_with('3') { "[1, 2, 3]" } else { "common_data.x" }.to_owned(),
                prepared: String::new(),
                offers: Vec::new(),
                place: SourceLocation::default(),
            });
            StateBody::ForEach(ForEachSpec {
                items: ValueSource::Script(ScriptIx(scripts.len() - 1)),
                each: "item".into(),
                at: "index".into(),
                start: at(body.trim_start_matches('3')),
                needs: Vec::new(),
                max_concurrency: None,
                tolerated_failures: 0,
                tolerated_percent: 0.0,
                handed_out: None,
                sub_agent: None,
            })
        }
        _ => StateBody::None,
    }
}

/// A sample with one thing changed.
trait ChangedSample: Sized {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl ChangedSample for Workflow {}

fn estimate_workflows(workflows: Vec<Workflow>) -> CostEstimate {
    estimate_with_context(workflows, &SystemContext::default())
}

fn estimate_with_context(workflows: Vec<Workflow>, brief: &SystemContext) -> CostEstimate {
    estimate_cost(
        &WorkflowProgram {
            workflows: workflows.into_iter().map(Arc::new).collect(),
            hash: String::new(),
            start_warnings: Vec::new(),
        },
        brief,
    )
}

/// Every request holds it, except where a role leaves it out.
#[test]
fn what_agents_are_told_beside_their_roles_is_paid_with_every_call() {
    let one = || workflow("w", &["start - -> work", "work ! -> stop", "stop ."]);
    let brief = SystemContext { environment: "e".repeat(398), guidance: "g".repeat(798) };
    let without = |environment, guidance| SystemContextExclusions { environment, guidance };
    let calls = estimate_workflows(vec![one()]).spending.calls.declared.unwrap();
    for (left_out, tokens) in [
        (without(false, false), 300),
        (without(true, false), 200),
        (without(false, true), 100),
        (without(true, true), 0),
    ] {
        let all = one().with(|workflow| workflow.agents[0].without = left_out);
        let (bare, whole) = (
            estimate_workflows(vec![all.clone()]).spending,
            estimate_with_context(vec![all], &brief).spending,
        );
        let more = |one: &WorstCaseUsage| one.prompt_tokens.declared.unwrap();
        assert_eq!(more(&whole) - more(&bare), calls * tokens, "{left_out:?}");
        let usd = |one: &WorstCaseUsage| one.cost_usd.unwrap().declared.unwrap();
        assert!((usd(&whole) > usd(&bare)) == (tokens > 0), "{left_out:?}");
    }
}

fn calls(workflows: Vec<Workflow>) -> (Option<u64>, Option<u64>) {
    let calls = estimate_workflows(workflows).spending.calls;
    (calls.declared, calls.default)
}

const LINE: &[&str] = &["start - -> a", "a ! -> b", "b ! -> stop", "stop ."];
const LOOP: &[&str] = &["start - -> a", "a ! -> a b", "b ! -> stop", "stop ."];
const ROUND: &[&str] = &["start - -> a", "a ! -> b", "b ! -> a stop", "stop ."];

#[test]
fn what_is_on_no_circle_happens_once() {
    let found = estimate_workflows(vec![workflow("w", LINE)]);
    assert_eq!(found.spending.calls, WorstCaseCount { declared: Some(2), default: Some(2) });
    assert_eq!(found.spending.prompt_tokens, WorstCaseCount { declared: Some(200), default: Some(200) });
    assert_eq!(found.spending.answer_tokens, Some(WorstCaseCount { declared: Some(20), default: Some(20) }));
    let cost = found.spending.cost_usd.unwrap();
    assert!((cost.declared.unwrap() - 0.22).abs() < 1e-9 && cost.declared == cost.default, "{cost:?}");
    let names: Vec<&str> = found.states.iter().map(|state| state.state.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

#[test]
fn a_circle_turns_as_often_as_its_limits_say() {
    let visits = |count| {
        move |w: &mut Workflow| {
            w.limits.max_visits = count;
            w.limits.declared.visits = true;
        }
    };
    assert_eq!(calls(vec![workflow("w", LOOP)]), (None, Some(26)));
    assert_eq!(calls(vec![workflow("w", LOOP).with(visits(7))]), (Some(8), Some(8)));
    assert_eq!(calls(vec![workflow("w", ROUND)]), (None, Some(50)));
    assert_eq!(calls(vec![workflow("w", ROUND).with(visits(3))]), (Some(6), Some(6)));
    // one limited state on every circle limits the others
    let one = workflow("w", ROUND).with(|w| w.states[1].max_visits = Some(4));
    assert_eq!(calls(vec![one]), (Some(4 + 5), Some(4 + 25)));
    let steps = |count| {
        move |w: &mut Workflow| {
            w.limits.max_steps = count;
            w.limits.declared.steps = true;
        }
    };
    assert_eq!(calls(vec![workflow("w", ROUND).with(steps(11))]), (Some(11), Some(11)));
    assert_eq!(calls(vec![workflow("w", LINE).with(steps(1))]), (Some(1), Some(1)));
    let most = workflow("w", ROUND).with(|w| w.limits.max_model_calls = Some(5));
    let found = estimate_workflows(vec![most]);
    assert_eq!(found.spending.calls, WorstCaseCount { declared: Some(5), default: Some(5) });
    assert_eq!(found.spending.prompt_tokens.declared, Some(500));
    // continuing after tools is no new visit: only steps bound it
    let step = workflow("w", LOOP).with(|w| w.agents[0].tool_loop = ToolLoop::Step);
    assert_eq!(calls(vec![step]), (None, Some(200)));
}

#[test]
fn a_visit_may_take_tools_repairs_a_nudge_and_retries() {
    let tool = ToolSpec {
        name: String::new(),
        description: String::new(),
        parameters: serde_json::Value::Null,
        risk: ToolRisk::Read,
        repeat: None,
    };
    let decision = ParsingTool {
        name: String::new(),
        description: String::new(),
        parameters: serde_json::Value::Null,
        parsing_only: false,
    };
    let mut w = workflow("w", LINE);
    w.agents[0].tools = [tool].into();
    assert_eq!(calls(vec![w.clone()]).0, Some(52));
    w.agents[0].max_tool_rounds = 3;
    w.agents[0].parsing_tools.push(decision);
    assert_eq!(calls(vec![w.clone()]).0, Some(12));
    w.states[2].expects.push("t".into());
    assert_eq!(calls(vec![w.clone()]).0, Some(14));
    let rule = RetryRule { errors: vec!["*".into()], max_attempts: 4, backoff: RetryBackoff::default() };
    w.states[2].recovery.retry.push(rule);
    assert_eq!(calls(vec![w.clone()]).0, Some(6 + 8 * 4));
    w.states[2].work = StateBody::Agent {
        agent: AgentIx(0),
        function: AgentFunction::AddUserMessage,
        input: ValueSource::Absent,
    };
    assert_eq!(calls(vec![w]).0, Some(6));
}

#[test]
fn a_context_bounds_what_is_asked_and_may_ask_for_summaries() {
    let prompt = |change: fn(&mut Workflow)| {
        let spending = estimate_workflows(vec![workflow("w", LINE).with(change)]).spending;
        (spending.calls.declared.unwrap(), spending.prompt_tokens.declared.unwrap())
    };
    assert_eq!(prompt(|_| ()), (2, 200));
    assert_eq!(prompt(|w| w.contexts[0].max_tokens = Some(30)), (2, 60));
    assert_eq!(prompt(|w| w.contexts[0].max_tokens = Some(3_000)), (2, 200));
    assert_eq!(prompt(|w| w.contexts[0].trim = TrimPolicy::Summarize), (4, 400));
    assert_eq!(prompt(|w| w.agents[0].system_prompt = "x".repeat(41)), (2, 222));
}

#[test]
fn children_branches_and_items_multiply() {
    let parent = workflow("p", &["start /1 -> start stop", "stop ."]);
    assert_eq!(calls(vec![parent.clone(), workflow("c", LINE)]), (None, Some(50)));
    let limited = parent.with(|w| w.states[0].max_visits = Some(3));
    let found = estimate_workflows(vec![limited, workflow("c", LOOP)]);
    assert_eq!(found.spending.calls, WorstCaseCount { declared: None, default: Some(78) });
    assert_eq!((found.states[0].workflow.as_str(), found.states[0].visits.default), ("c", Some(75)));

    let fork =
        workflow("w", &["start |a|b -> stop", "a ! -> end", "b ! -> c", "c ! -> end", "end .", "stop ."]);
    assert_eq!(calls(vec![fork]), (Some(3), Some(3)));
    let three = workflow("w", &["start *3a -> stop", "a ! -> end", "end .", "stop ."]);
    assert_eq!(calls(vec![three]), (Some(3), Some(3)));
    let some =
        estimate_workflows(vec![workflow("w", &["start *a -> stop", "a ! -> end", "end .", "stop ."])]);
    assert_eq!(some.spending.calls, WorstCaseCount::default());
    assert_eq!(some.notes, ["how many items `start` has is not known before it runs"]);
    // every branch has steps of its own
    let fork = workflow("w", &["start |a|b -> stop", "a ! -> a end", "b ! -> b end", "end .", "stop ."]);
    let fork = fork.with(|w| w.limits = WorkflowLimits { max_steps: 10, ..w.limits });
    assert_eq!(calls(vec![fork]).1, Some(20));
}

#[test]
fn recursion_ends_at_its_depth() {
    let w = workflow("w", &["start ! -> again", "again /0 -> stop", "stop ."]);
    assert_eq!(calls(vec![w.clone()]), (Some(9), Some(9)));
    let deep = estimate_workflows(vec![w.with(|w| {
        w.limits.max_depth = u32::MAX;
        w.limits.max_steps = u32::MAX;
    })]);
    assert_eq!(deep.spending.calls.default, Some(65));
    assert_eq!(deep.notes, ["`w` inside itself is counted 64 levels deep"]);
    let wide =
        workflow("w", &["start /0 -> start b", "b /0 -> b c", "c /0 -> c d", "d ! -> d stop", "stop ."]);
    assert_eq!(calls(vec![wide]), (None, Some(200)));
}

#[test]
fn errors_and_limits_lead_somewhere_too() {
    let w = workflow("w", &["start ! -> stop", "mend ! -> start", "stop ."]);
    assert_eq!(calls(vec![w.clone()]).1, Some(1));
    let go = |w: Workflow| calls(vec![w]).1;
    assert_eq!(go(w.clone().with(|w| w.on_error = OnError::Go(StateIx(1)))), Some(50));
    assert_eq!(go(w.clone().with(|w| w.on_limit = Some(StateIx(1)))), Some(50));
    assert_eq!(go(w.clone().with(|w| w.states[0].on_limit = Some(StateIx(1)))), Some(50));
    assert_eq!(go(w.with(|w| w.resume = Some(StateIx(1)))), Some(2));
}

#[test]
fn what_is_not_known_is_said() {
    let mut w = workflow("w", LINE);
    w.agents[0].choice.price = None;
    w.agents[0].choice.parameters.max_output_tokens = None;
    let found = estimate_workflows(vec![w.clone()]);
    assert_eq!((found.spending.answer_tokens, found.spending.cost_usd), (None, None));
    assert_eq!(found.notes.len(), 2, "{:?}", found.notes);
    assert!(found.notes[1].ends_with(" m"), "{:?}", found.notes);
    w.agents[0].choice.price = Some(TokenPrice { input: 1_000.0, output: 9.0, ..TokenPrice::default() });
    let cost = estimate_workflows(vec![w.clone()]).spending.cost_usd.unwrap();
    assert!((cost.declared.unwrap() - 0.2).abs() < 1e-9, "{cost:?}");
    // a model's window bounds what can be asked
    w.agents[0].choice.context_size = Some(30);
    assert_eq!(estimate_workflows(vec![w.clone()]).spending.prompt_tokens.declared, Some(60));
    w.budget = Budget { tokens: BudgetCap { soft: None, hard: Some(10) }, ..Budget::default() };
    assert_eq!(estimate_workflows(vec![w]).spending.prompt_tokens.declared, Some(40));
    let idle = estimate_workflows(vec![workflow("w", &["start - -> stop", "stop ."])]);
    assert_eq!((idle.spending.calls.declared, idle.states.len(), idle.notes.len()), (Some(0), 0, 0));
}

/// 2,000 states in a row, each with a way back to the first: nothing recurses over the states.
#[test]
fn long_workflows_are_no_trouble() {
    let states: Vec<String> = (0..2_000)
        .map(|at| {
            let next = if at == 1_999 { "stop".to_owned() } else { format!("s{}", at + 1) };
            format!("s{at} ! -> {next} s0")
        })
        .chain(["stop .".to_owned()])
        .collect();
    let states: Vec<&str> = states.iter().map(String::as_str).collect();
    assert_eq!(calls(vec![workflow("w", &states)]), (None, Some(200)));
}

#[test]
fn an_agent_s_budget_ends_its_calls_earlier() {
    let mut w = workflow("w", &["start ! - end", "end ! - stop", "stop . -"]);
    let before = estimate_workflows(vec![w.clone()]).spending;
    w.agents[0].budget.cost_usd = BudgetCap { soft: None, hard: Some(0.000_001) };
    let after = estimate_workflows(vec![w]).spending;
    let usd = |spending: &WorstCaseUsage| spending.cost_usd.and_then(|usd| usd.default).unwrap();
    assert!(usd(&after) < usd(&before), "{after:?} {before:?}");
    assert_eq!(after.calls, before.calls, "dollars say nothing of the number of calls");
}
