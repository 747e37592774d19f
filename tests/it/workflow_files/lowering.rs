//! What a workflow becomes, rule by rule.

use serde_json::{Value, json};
use synthdev::domain::context::{ConversationSide, MessageAuthor};
use synthdev::domain::ids::{AgentIx, ContextIx, StateIx, WorkflowIx};
use synthdev::domain::message::ChatRole;
use synthdev::domain::model::ModelChoice;
use synthdev::domain::role::Role;
use synthdev::domain::script::ScriptForm;
use synthdev::domain::workflow::{
    AgentFunction, DeclaredLimits, NoMatch, SnapshotPolicy, StateBody, ValueSource, WorkflowLimits,
    WorkflowProgram,
};
use synthdev::language::lower::chat_program;

use super::surroundings::World;
use super::{file, finding_codes, lower_single};

/// A workflow `w` with one coder; `states` and other keys are laid over it.
fn workflow_with(changes: Value) -> String {
    let mut base = json!({
        "workflow_name": "w",
        "contexts": [{"name": "talk"}],
        "agents": [{"agent_role": "coder", "context": "talk", "role": "assistant"}],
        "states": [{"name": "start", "agent": "coder", "input": {"text": "hello"}}]
    });
    for (key, value) in changes.as_object().unwrap() {
        base[key] = value.clone();
    }
    serde_json::to_string_pretty(&base).unwrap()
}

pub(super) fn lower_with(changes: Value) -> WorkflowProgram {
    let text = workflow_with(changes);
    lower_single(&text).unwrap_or_else(|found| panic!("{text}\n{found:#?}")).0
}

pub(super) fn source(program: &WorkflowProgram, input: &ValueSource) -> String {
    match input {
        ValueSource::Script(at) => program.workflows[0].scripts[at.0].source.clone(),
        ValueSource::Text(text) => format!("text: {text}"),
        ValueSource::Value(value) => format!("value: {value}"),
        ValueSource::Absent | ValueSource::Human => format!("{input:?}"),
    }
}

#[test]
fn an_input_is_an_expression_iff_it_parses_and_its_names_are_known() {
    let rows = [
        ("common_data.task", true),
        ("variables.max", true),
        ("'Task ' + common_data.index + ': ' + common_data.list[common_data.index].description", true),
        ("agents.coder.getLastResponse()", true),
        ("contexts.talk.messages[contexts.talk.messages.length - 1].content", true),
        ("`Do ${common_data.task}`", true),
        ("this.last_agent_response", true),
        ("42", true),
        ("'quoted'", true),
        ("Write a haiku", false),
        ("hello", false),
        ("Fix the bug; then test it.", false),
        ("foo.bar", false),
        ("common_data.task +", false),
        ("return 1", false),
        ("", false),
    ];
    for (input, expression) in rows {
        let program = lower_with(json!({"states": [{"name": "start", "agent": "coder", "input": input}]}));
        let StateBody::Agent { input: found, .. } = &program.workflows[0].states[0].work else { panic!() };
        let expected = if expression { input.to_owned() } else { format!("text: {input}") };
        assert_eq!(source(&program, found), expected);
    }
}

#[test]
fn explicit_input_forms_need_no_guessing() {
    for (input, expected) in [
        (json!({"text": "common_data.task"}), "text: common_data.task"),
        (json!({"expr": "common_data.task"}), "common_data.task"),
        (Value::Null, "Absent"),
    ] {
        let program = lower_with(json!({"states": [{"name": "start", "agent": "coder", "input": input}]}));
        let StateBody::Agent { input: found, .. } = &program.workflows[0].states[0].work else { panic!() };
        assert_eq!(source(&program, found), expected);
    }
}

#[test]
fn to_a19_the_work_of_a_state() {
    let agent =
        |function| StateBody::Agent { agent: AgentIx(0), function, input: ValueSource::Text("x".into()) };
    let text = json!({"text": "x"});
    let rows = [
        (json!({"name": "start"}), StateBody::None),
        (json!({"name": "start", "action": {"script": "1"}}), StateBody::None),
        (json!({"name": "start", "agent": "coder", "input": text}), agent(AgentFunction::SendUserMessage)),
        (
            json!({"name": "start", "agent": "coder", "input": text, "action": {"script": "1"}}),
            agent(AgentFunction::SendUserMessage),
        ),
        (
            json!({"name": "start", "agent": "coder", "input": text, "action": {"function": "addUserMessage"}}),
            agent(AgentFunction::AddUserMessage),
        ),
        (
            json!({"name": "start", "agent": "coder", "input": text, "action": {"function": "clearConversation"}}),
            agent(AgentFunction::ClearConversation),
        ),
        (
            json!({"name": "start", "agent": "coder", "action": {"function": "script", "script": "1"}}),
            StateBody::None,
        ),
        (
            json!({"name": "start", "agent": "coder"}),
            StateBody::Agent {
                agent: AgentIx(0),
                function: AgentFunction::SendUserMessage,
                input: ValueSource::Absent,
            },
        ),
    ];
    for (state, expected) in rows {
        let has_script = state.pointer("/action/script").is_some();
        let program = lower_with(json!({"states": [state]}));
        assert_eq!(program.workflows[0].states[0].work, expected);
        assert_eq!(program.workflows[0].states[0].script.is_some(), has_script);
    }
}

#[test]
fn stop_is_implicit_and_a_missing_list_leads_to_it() {
    let program = lower_with(json!({}));
    let workflow = &program.workflows[0];
    assert_eq!((workflow.start, workflow.stop, workflow.states.len()), (StateIx(0), StateIx(1), 2));
    assert!(workflow.states[1].terminal && workflow.states[1].output == ValueSource::Absent);
    assert_eq!(workflow.states[0].transitions.len(), 1);
    assert_eq!(workflow.states[0].transitions[0].target, StateIx(1));

    let empty = lower_with(json!({"states": [{"name": "start", "transition": []}, {"name": "stop"}]}));
    assert!(empty.workflows[0].states[0].transitions.is_empty());
    assert_eq!(empty.workflows[0].states.len(), 2);

    let output = lower_with(json!({"states": [{"name": "start"}, {"name": "stop", "input": "'done'"}]}));
    assert_eq!(source(&output, &output.workflows[0].states[1].output), "'done'");
}

#[test]
fn conditions_that_hold_always_cost_no_script() {
    for condition in [json!("true"), json!(" true "), json!("(true)"), json!(""), Value::Null, json!(true)] {
        let program = lower_with(json!({"states": [
            {"name": "start", "transition": [{"target": "stop", "condition": condition}]}]}));
        assert_eq!(program.workflows[0].states[0].transitions[0].condition, None);
        assert!(program.workflows[0].scripts.is_empty());
    }
}

#[test]
fn scripts_are_prepared_and_placed() {
    let text = workflow_with(json!({
        "agents": [{"agent_role": "reviewer", "context": "talk", "role": "user"}],
        "states": [{"name": "start", "agent": "reviewer", "input": {"text": "x"}, "transition": [
            {"target": "stop", "condition": "function.review_work.arguments.improvement_needed", "before": "const a = 1; common_data.a = a;"},
            {"target": "start"}]}]
    }));
    let (program, _) = lower_single(&text).unwrap();
    let scripts = &program.workflows[0].scripts;
    assert_eq!(scripts[0].prepared, r#"__call("review_work")?.arguments.improvement_needed"#);
    assert_eq!((scripts[0].form, scripts[1].form), (ScriptForm::Expression, ScriptForm::Statements));
    let line = text.lines().position(|line| line.contains("function.review_work")).unwrap();
    assert_eq!(scripts[0].place.line, line + 1);
    let column = text.lines().nth(line).unwrap().find("function.").unwrap();
    assert_eq!(scripts[0].place.column, column + 1);
    assert_eq!(program.workflows[0].states[0].expects, ["review_work"]);
}

#[test]
fn contexts_keep_their_limit_and_their_first_messages() {
    let program = lower_with(json!({"contexts": [{"name": "talk", "starting_messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"}]}, {"name": "other", "max_length": 7}]}));
    let workflow = &program.workflows[0];
    assert_eq!((workflow.contexts[0].max_length, workflow.contexts[1].max_length), (50_000, 7));
    let entries = &workflow.contexts[0].starting_messages;
    assert_eq!(entries.len(), 2);
    assert!(entries.iter().all(|entry| entry.pinned && entry.author == MessageAuthor::Start));
    assert_eq!((entries[0].role, entries[1].role), (ChatRole::User, ChatRole::Assistant));
    let agent = &workflow.agents[0];
    assert_eq!(agent.system_prompt, "You are coder.\n\nBe brief.");
    assert_eq!(agent.reminder.as_deref(), Some("Remember, coder."));
    assert_eq!((agent.tools.len(), agent.max_tool_rounds, agent.choice.model.as_str()), (2, 25, "m"));
}

#[test]
fn two_agents_of_one_role() {
    let program = lower_with(json!({
        "agents": [
            {"agent_role": "coder", "context": "talk", "role": "assistant"},
            {"name": "second", "agent_role": "coder", "context": "talk", "role": "user", "max_tool_rounds": 3}],
        "states": [{"name": "start", "agent": "second", "input": "agents.second.getLastResponse()"}]
    }));
    let agents = &program.workflows[0].agents;
    assert_eq!((agents[1].id.as_str(), agents[1].role.as_str()), ("second", "coder"));
    assert_eq!((agents[1].side, agents[1].max_tool_rounds), (ConversationSide::User, 3));
    assert!(matches!(program.workflows[0].states[0].work, StateBody::Agent { agent: AgentIx(1), .. }));
}

#[test]
fn max_iterations_limits_visits_unless_something_reads_it() {
    let limit = |changes: Value| {
        let (program, findings) = lower_single(&workflow_with(changes)).unwrap();
        let noted = finding_codes(&findings).contains(&"I01");
        (program.workflows[0].limits.max_visits, noted)
    };
    assert_eq!(limit(json!({"variables": {"max_iterations": 4}})), (4, true));
    assert_eq!(limit(json!({"variables": {"max_iterations": "many"}})), (25, false));
    assert_eq!(limit(json!({"variables": {"max_iterations": 4}, "limits": {"max_visits": 9}})), (9, false));
    let read = json!([{"name": "start", "transition": [
        {"target": "start", "condition": "common_data.n < variables.max_iterations"}, {"target": "stop"}]}]);
    assert_eq!(limit(json!({"variables": {"max_iterations": 4}, "states": read})), (25, false));
}

#[test]
fn workflow_settings_arrive() {
    let program = lower_with(json!({
        "$schema": "x", "x_note": {"anything": 1}, "version": "1.2.0", "description": "d",
        "limits": {"max_steps": 5, "max_visits": 6, "max_depth": 2},
        "on_no_match": "stop", "on_condition_error": "false", "snapshot": "required",
        "input": {"name": "task", "type": "string"}, "output": {"name": "task", "type": "string"},
        "variables": {"n": {"deep": [1]}}
    }));
    let workflow = &program.workflows[0];
    let declared = DeclaredLimits { steps: true, visits: true };
    let limits =
        WorkflowLimits { max_steps: 5, max_visits: 6, max_depth: 2, declared, ..WorkflowLimits::default() };
    assert_eq!(workflow.limits, limits);
    assert_eq!(
        (workflow.no_match, workflow.snapshot),
        (NoMatch::Go(workflow.stop), SnapshotPolicy::Required)
    );
    assert!(workflow.condition_errors_are_false && !workflow.conversational);
    assert_eq!(workflow.variables["n"], json!({"deep": [1]}));
    assert!(workflow.inputs[0].required);
    assert!(!workflow.output.as_ref().unwrap().required);
}

#[test]
fn children_get_their_inputs_and_recursion_needs_a_limit() {
    let child = r#"{"workflow_name": "c", "input": [{"name": "a", "type": "string"}, {"name": "b", "type": "number", "required": false}],
        "states": [{"name": "start"}]}"#;
    let parent = workflow_with(json!({"states": [{"name": "start", "action": {"sub_workflow": "c",
        "sub_workflow_input": {"a": "common_data.x", "b": {"text": "1"}}}}]}));
    let (program, _) =
        World::new(vec![file("c.json", child), file("w.json", &parent)]).lower_workflow("w").unwrap();
    let StateBody::Child { workflow, inputs } = &program.workflows[0].states[0].work else { panic!() };
    assert_eq!(*workflow, WorkflowIx(1));
    assert_eq!((inputs[0].0.as_str(), inputs[1].0.as_str()), ("a", "b"));
    assert_eq!(source(&program, &inputs[1].1), "text: 1");

    let own = json!([{"name": "start", "action": {"sub_workflow": "w"}}]);
    let found = lower_single(&workflow_with(json!({"states": own}))).unwrap_err();
    assert_eq!(finding_codes(&found), ["E08"]);
    assert_eq!(lower_with(json!({"states": own, "limits": {"max_depth": 3}})).workflows.len(), 1);
}

#[test]
fn the_hash_follows_what_is_said_and_not_where() {
    let text = workflow_with(json!({}));
    let hash = |text: &str| lower_single(text).unwrap().0.hash;
    assert_eq!(hash(&text), hash(&format!("// a comment\n\n{text}")));
    assert_ne!(hash(&text), hash(&text.replace("hello", "hallo")));
}

#[test]
fn the_chat_waits_for_the_person_for_ever() {
    let role = Role { name: "coder".into(), system_message: "You code.".into(), ..Role::default() };
    let program = chat_program(role, ModelChoice::default(), Vec::new());
    let workflow = &program.workflows[0];
    assert!(workflow.conversational);
    assert_eq!((workflow.name.as_str(), workflow.contexts[0].name.as_str()), ("chat", "chat"));
    let StateBody::Agent { input, .. } = &workflow.states[0].work else { panic!() };
    assert_eq!(*input, ValueSource::Human);
    assert_eq!(workflow.states[0].transitions[0].target, workflow.start);
    assert!(!workflow.states[0].terminal && workflow.states[workflow.stop.0].terminal);
    assert_eq!(
        (workflow.agents[0].context, workflow.agents[0].side),
        (ContextIx(0), ConversationSide::Assistant)
    );
}

#[test]
fn a_context_may_name_the_level_that_sums_up() {
    let of =
        |context: Value| lower_with(json!({"contexts": [context]})).workflows[0].contexts[0].summary.clone();
    assert_eq!(of(json!({"name": "talk", "trim": "summarize"})), None, "the agent's own");
    let named = of(json!({"name": "talk", "trim": "summarize", "summary_level": "fast"})).unwrap();
    assert_eq!(named.level, "fast");
    let found =
        lower_single(&workflow_with(json!({"contexts": [{"name": "talk", "summary_level": "none"}]})))
            .unwrap_err();
    assert!(found.iter().any(|finding| finding.code == "E05"), "{found:#?}");
}

#[test]
fn the_limit_of_a_view_is_the_smaller_one_and_the_default_is_for_those_who_say_nothing() {
    let rows = [
        (json!({}), (50_000, "max_length")),
        (json!({"max_length": 70}), (70, "max_length")),
        (json!({"max_tokens": 10}), (40, "max_tokens")),
        (json!({"max_tokens": 100_000}), (400_000, "max_tokens")),
        (json!({"max_tokens": 10, "max_length": 39}), (39, "max_length")),
        (json!({"max_tokens": 10, "max_length": 41}), (40, "max_tokens")),
    ];
    for (fields, expected) in rows {
        let mut context = json!({"name": "talk"});
        context.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let program = lower_with(json!({"contexts": [context]}));
        assert_eq!(program.workflows[0].contexts[0].limit(), expected, "{fields}");
    }
}
