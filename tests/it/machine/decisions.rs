//! The ways to a decision that an agent does not give as a call: how each request asks for it, and what comes of it.

use super::*;
use synthdev::domain::decision_source::DecisionSource;
use synthdev::domain::model::{ModelRequest, ToolChoice};
use synthdev::engine::run_spec::SHORTENS_DECISIONS_SINCE;

/// What the model answers.
enum Said {
    Text(&'static str),
    /// A text that ends at the output limit.
    Cut(&'static str),
    /// A call of `verdict` with these arguments.
    Call(&'static str),
    CutCall(&'static str),
    Fails(ModelError),
}

const WHOLE: Said = Said::Text("{\"good\": true}");
const WORDS: Said = Said::Text("It looks good.");
const ENDLESS: Said = Said::Cut("{\"good\": true, \"why\": \"so so so");
const BROKEN_CALL: Said = Said::CutCall("{\"good\": true, \"why\": \"so so so");

struct Row {
    about: &'static str,
    version: u32,
    /// Where the catalogue says that this model decides.
    start: DecisionSource,
    said: Vec<Said>,
    /// How each request asks: `free`, `forced`, `structured`, or `short` (without the optional member).
    asked: &'static [&'static str],
    /// Code, detail and hint of the error, by what they hold. `None`: the run completes.
    failure: Option<[&'static str; 3]>,
}

fn row(about: &'static str, said: Vec<Said>, asked: &'static [&'static str]) -> Row {
    Row { about, version: MACHINE_VERSION, start: DecisionSource::Call, said, asked, failure: None }
}

impl Row {
    fn known(mut self) -> Self {
        self.start = DecisionSource::StructuredOutput;
        self
    }

    fn before_it_was_shortened(mut self) -> Self {
        self.version = SHORTENS_DECISIONS_SINCE - 1;
        self
    }

    fn fails(mut self, code: &'static str, detail: &'static str, hint: &'static str) -> Self {
        self.failure = Some([code, detail, hint]);
        self
    }
}

fn way_of_asking(request: &ModelRequest) -> &'static str {
    let is_short = request.parsing_tools[0].parameters["properties"]["why"].is_null();
    match (&request.tool_choice, is_short) {
        (ToolChoice::Auto, false) => "free",
        (ToolChoice::Named(_), false) => "forced",
        (ToolChoice::Structured(_), false) => "structured",
        (ToolChoice::Structured(_), true) => "short",
        other => panic!("{other:?}"),
    }
}

fn input_of(said: &Said, call: CallId) -> Input {
    let called = |arguments: &str| {
        let (id, name, arguments) = ("c".to_owned(), "verdict".to_owned(), arguments.to_owned());
        ModelReply {
            tool_calls: vec![ToolCall { id, name, arguments, original: None }],
            finish: FinishReason::ToolCalls,
            ..text_reply("", 10)
        }
    };
    let cut = |reply: ModelReply| ModelReply { finish: FinishReason::Length, ..reply };
    let reply = match said {
        Said::Text(text) => text_reply(text, 10),
        Said::Cut(text) => cut(text_reply(text, 10)),
        Said::Call(arguments) => called(arguments),
        Said::CutCall(arguments) => cut(called(arguments)),
        Said::Fails(error) => {
            let (error, used) = (error.clone(), Vec::new());
            return Input::ModelFailed { call, error, attempts: 1, used, again: false };
        }
    };
    Input::Replied { call, reply }
}

fn check(row: Row) {
    let about = row.about;
    let mut start = state("start", agent_state(), 1);
    start.expects = owned_names(&["verdict"]);
    let mut one = workflow(vec![start]);
    one.agents[0].choice.decision_start = row.start;
    one.agents[0].parsing_tools = serde_json::from_value(json!([
        {"name": "verdict", "description": "", "parameters": {
            "type": "object", "required": ["good"],
            "properties": {"good": {"type": "boolean"}, "why": {"type": "string"}}}}
    ]))
    .unwrap();
    let mut play = Play::from_spec(RunSpec { machine_version: row.version, ..spec(vec![one], true) });
    let mut asked = Vec::new();
    for said in &row.said {
        let effect = play.take_effect(|effect| matches!(effect, Effect::CallModel { .. }));
        let Effect::CallModel { call, request } = effect else { panic!("{about}") };
        asked.push(way_of_asking(&request));
        play.feed_input(input_of(said, call));
    }
    assert_eq!(asked, row.asked, "{about}");
    let Some([code, detail, hint]) = row.failure else {
        let lines = play.finish_and_replay();
        assert_eq!(lines.last().map(String::as_str), Some("end completed"), "{about}: {lines:?}");
        return;
    };
    let question = play.take_effect(|effect| matches!(effect, Effect::AskPerson { .. }));
    let Effect::AskPerson { question: UserQuestion::Failed { failure }, .. } = question else {
        panic!("{about}: {question:?}")
    };
    assert_eq!(failure.code, code, "{about}");
    assert!(failure.detail.contains(detail), "{about}: {}", failure.detail);
    let told = failure.hint.clone().unwrap_or_default();
    assert!(told.contains(hint), "{about}: {told}");
}

const FREE_TO_SHORT: &[&str] = &["free", "forced", "structured", "short"];

#[test]
fn a_decision_that_was_cut_is_asked_for_in_short() {
    let repeats = || ModelError::Repetition { detail: "the same again and again".to_owned() };
    let late = || ModelError::CallTimeout { detail: "it took too long".to_owned() };
    for row in [
        row("at the end of the ways", vec![WORDS, WORDS, ENDLESS, WHOLE], FREE_TO_SHORT),
        row("at once", vec![ENDLESS, WHOLE], &["structured", "short"]).known(),
        row(
            "words in short",
            vec![ENDLESS, WORDS, Said::Call("{\"good\": true}")],
            &["structured", "short", "forced"],
        )
        .known(),
        row("a loop", vec![WORDS, WORDS, Said::Fails(repeats()), WHOLE], FREE_TO_SHORT),
        row("too late", vec![Said::Fails(late()), WHOLE], &["structured", "short"]).known(),
        row(
            "in calls",
            vec![BROKEN_CALL, BROKEN_CALL, BROKEN_CALL, WHOLE],
            &["free", "free", "free", "short"],
        ),
        // what follows the object does not matter
        row("whole all the same", vec![Said::Cut("{\"good\": true}\n\n\n")], &["structured"]).known(),
    ] {
        check(row);
    }
}

#[test]
fn a_decision_that_does_not_come_says_why() {
    let limit = "max_output_tokens";
    let role = "systemMessage";
    let refusal = || Said::Fails(ModelError::Protocol { detail: "no response_format here".to_owned() });
    let silence = || Said::Fails(ModelError::Empty { detail: "the model answered nothing".to_owned() });
    let loops = || Said::Fails(ModelError::Repetition { detail: "the same again and again".to_owned() });
    for row in
        [
            row("cut twice", vec![WORDS, WORDS, ENDLESS, ENDLESS], FREE_TO_SHORT).fails(
                "parsing_tool_missing",
                "structured output does not fit: not valid JSON",
                limit,
            ),
            row("cut twice, then words", vec![ENDLESS, ENDLESS, WORDS], &["structured", "short", "forced"])
                .known()
                .fails(
                    "parsing_tool_missing",
                    "also when it was reminded, and its structured output does not",
                    limit,
                ),
            row("unfit, then words", vec![Said::Text("{}"), WORDS], &["structured", "forced"]).known().fails(
                "parsing_tool_missing",
                "also when it was reminded, and its structured output does not fit: \"good\"",
                role,
            ),
            row("refused, then words", vec![refusal(), WORDS], &["structured", "forced"]).known().fails(
                "parsing_tool_missing",
                "and its server refuses structured output: no response_format here",
                role,
            ),
            row("refused at the end", vec![WORDS, WORDS, refusal()], &["free", "forced", "structured"])
                .fails("parsing_tool_missing", "never called verdict, and its server refuses", role),
            row(
                "a loop, then words",
                vec![loops(), Said::Text("{}"), WORDS],
                &["structured", "short", "forced"],
            )
            .known()
            .fails("parsing_tool_missing", "also when it was reminded", role),
            row("nothing at the end", vec![WORDS, WORDS, silence()], &["free", "forced", "structured"])
                .fails("model.empty", "answered nothing", ""),
        ]
    {
        check(row);
    }
}

#[test]
fn refused_calls_stay_in_the_error_of_what_follows() {
    let refusal = Said::Fails(ModelError::Protocol { detail: "no response_format here".to_owned() });
    let silence = Said::Fails(ModelError::Empty { detail: "the model answered nothing".to_owned() });
    let limit = "max_output_tokens";
    for row in [
        row(
            "cut calls, then the server refuses",
            vec![BROKEN_CALL, BROKEN_CALL, BROKEN_CALL, refusal],
            &["free", "free", "free", "short"],
        )
        .fails("parsing_tool_invalid", "verdict: not valid JSON", limit),
        row(
            "calls that do not fit, then nothing",
            vec![Said::Call("{}"), Said::Call("{}"), Said::Call("{}"), silence],
            &["free", "free", "free", "structured"],
        )
        .fails(
            "parsing_tool_invalid",
            "its structured output did not come",
            "simplify the tool's schema",
        ),
        row(
            "cut calls, cut in short",
            vec![BROKEN_CALL, BROKEN_CALL, BROKEN_CALL, ENDLESS],
            &["free", "free", "free", "short"],
        )
        .fails("parsing_tool_invalid", "verdict: not valid JSON", limit),
        row(
            "calls that do not fit",
            vec![Said::Call("{}"), Said::Call("{}"), Said::Call("{}"), Said::Text("{}")],
            &["free", "free", "free", "structured"],
        )
        .fails("parsing_tool_invalid", "verdict: ", "simplify the tool's schema"),
    ] {
        check(row);
    }
}

#[test]
fn structured_output_that_fails_at_once_leaves_the_reminder() {
    let silence = || Said::Fails(ModelError::Empty { detail: "the model answered nothing".to_owned() });
    for first in [silence(), Said::Text("{}"), Said::Fails(ModelError::Refused { detail: "no".to_owned() })] {
        let said = vec![first, Said::Call("{\"good\": true}")];
        check(row("reminded", said, &["structured", "forced"]).known());
    }
}

#[test]
fn a_run_of_an_earlier_version_asks_as_it_did() {
    let words = "answered in words twice and never called verdict";
    for row in [
        row("cut", vec![WORDS, WORDS, ENDLESS], &["free", "forced", "structured"]).fails(
            "parsing_tool_missing",
            "its structured output does not fit",
            "systemMessage",
        ),
        row("cut, then words", vec![ENDLESS, WORDS], &["structured", "forced"]).known().fails(
            "parsing_tool_missing",
            words,
            "systemMessage",
        ),
        row("calls", vec![BROKEN_CALL, BROKEN_CALL, BROKEN_CALL], &["free", "free", "free"]).fails(
            "parsing_tool_invalid",
            "not valid JSON",
            "max_output_tokens",
        ),
        row(
            "a loop",
            vec![Said::Fails(ModelError::Repetition { detail: "again".to_owned() })],
            &["structured"],
        )
        .known()
        .fails("model.repetition", "again", ""),
    ] {
        check(row.before_it_was_shortened());
    }
}
