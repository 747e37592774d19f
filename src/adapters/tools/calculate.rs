//! `calculate`: the value of an arithmetic expression, because models guess at sums.
//! Whole numbers and decimals are exact up to 38 digits. Refuses variables, and results that are no real number.

mod exact_number;
mod expression;

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::tool_answer::ToolAnswer;
use super::truncated_output::shorten_line;

pub(super) const NAME: &str = "calculate";

/// Most characters of an expression.
const LONGEST: usize = 10_000;

#[derive(Deserialize)]
pub(super) struct CalculateArguments {
    expression: String,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: format!(
            "Calculate the value of an arithmetic expression. Whole numbers and decimals are exact up to 38 digits \
             (0.1 + 0.2 is 0.3); everything else has 15 digits and is marked as approximate. Operators: + - * / % \
             (remainder) ^ or ** (power, before a sign: -2^2 is -4). Constants: {}. Functions: {}. Angles are in \
             radians. Examples: `(17 * 23 + 4) / 5`, `2^64 - 1`, `round(199.99 * 1.19, 2)`, `log(1024, 2)`.",
            expression::CONSTANTS.map(|(name, _)| name).join(", "),
            expression::FUNCTIONS.join(", ")
        ),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["expression"],
            "properties": {
                "expression": {"type": "string", "minLength": 1,
                    "description": "The expression, such as `3 * (4 + 5)`. A decimal point is a dot."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

pub(super) fn run_tool(arguments: &CalculateArguments) -> ToolAnswer {
    let text = arguments.expression.trim();
    if text.chars().count() > LONGEST {
        return ToolAnswer::failure(format!(
            "`expression` has more than {LONGEST} characters; use execute_script for long lists"
        ));
    }
    match expression::evaluate_expression(text) {
        Ok(value) => {
            let result = value.to_string();
            let answer = ToolAnswer::success(shorten_line(&format!("{text} = {result}"), 200));
            let answer = if value.is_exact() { answer } else { answer.with_fact("approximate", true) };
            answer.body(result)
        }
        Err(problem) => ToolAnswer::failure(problem),
    }
}
