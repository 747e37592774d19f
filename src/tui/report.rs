//! Answers to commands as text: tables of workflows, roles, tools, runs and costs; values in one line.

use std::fmt::Write as _;

pub mod agents;
mod cost;
pub mod history;

pub use cost::cost_report;

pub use crate::json_text::{arguments_line, value_text};

use crate::text::{display_width, format_count, one_line};
use synthdev_domain::approval::ToolPermission;
use synthdev_domain::tool::{ASK_PERSON, ToolRisk};
use synthdev_service::definition_views::did_you_mean::closest_word;
use synthdev_service::session::{RoleLine, StatusFacts, ToolLine, WorkflowLine};

/// A hint of the runtime, which knows the command line only, as it is done here.
pub fn adapt_hint(hint: &str) -> String {
    if hint.contains("--yes") {
        return "allow it when you are asked again, or in settings: \"approvals\"".to_owned();
    }
    hint.replace("`synthdev resume`", "/resume")
}

/// The start line.
pub fn start_line(facts: &StatusFacts) -> String {
    let mut parts = vec![format!("role {}", facts.role), facts.model.clone(), tool_count(facts)];
    if !facts.environment.is_empty() {
        parts.push(format!("environment {}", facts.environment.join(", ")));
    }
    parts.extend(facts.branch.iter().map(|branch| format!("branch {branch}")));
    parts.join(" · ")
}

/// `19 of 20 tools: /tools says why`
fn tool_count(facts: &StatusFacts) -> String {
    let (available, total) = (facts.tools_available, facts.tools_total);
    if available < total {
        format!("{available} of {}: /tools says why", format_count(total as u64, "tool"))
    } else {
        format_count(available as u64, "tool")
    }
}

pub fn workflow_list(list: &[WorkflowLine]) -> String {
    if list.is_empty() {
        return "none found".to_owned();
    }
    let mut text = String::new();
    for line in list {
        let _ = write!(text, "{} ({})", line.name, line.layer);
        if let Some(reason) = &line.error {
            let _ = write!(text, "\n    ✗ {}", one_line(reason));
        } else {
            if !line.description.is_empty() {
                let _ = write!(text, "\n    {}", one_line(&line.description));
            }
            let start = if line.waits_for_input { " · starts on your next text" } else { "" };
            let input = if line.input.is_empty() { "none".to_owned() } else { one_line(&line.input) };
            let _ = write!(text, "\n    input: {input}{start}");
        }
        text.push('\n');
    }
    text
}

/// Roles without a group, of one group, or all.
/// # Errors
/// There is no such group.
pub fn role_list(list: &[RoleLine], group: &str, current: &str) -> Result<String, String> {
    let shown: Vec<&RoleLine> = list
        .iter()
        .filter(|role| group == "all" || role.group == group || role_name(role) == group)
        .collect();
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|role| {
            let mark = if role_name(role) == current { "▸ " } else { "  " };
            vec![
                format!("{mark}{}", role_name(role)),
                role.level.clone(),
                role.model.clone(),
                format_count(role.tools as u64, "tool"),
                role.layer.to_string(),
            ]
        })
        .collect();
    let mut text = String::new();
    for (line, role) in align_table(&rows).lines().zip(&shown) {
        let _ = writeln!(text, "{line}");
        if !role.description.is_empty() {
            let _ = writeln!(text, "      {}", one_line(&role.description));
        }
    }
    let mut groups: Vec<&str> =
        list.iter().map(|role| role.group.as_str()).filter(|g| !g.is_empty()).collect();
    groups.sort_unstable();
    groups.dedup();
    if shown.is_empty() && !group.is_empty() && group != "all" {
        let known = closest_word(group, groups.iter().copied());
        let tail = known
            .map_or_else(|| "/roles all lists every role".to_owned(), |name| format!("did you mean {name}?"));
        return Err(format!("no group or role {group} — {tail}"));
    }
    if shown.is_empty() {
        text.push_str("none\n");
    }
    if !groups.is_empty() && group != "all" {
        let _ = write!(text, "groups: {} · /roles all", groups.join(", "));
    }
    Ok(text)
}

/// `group.name`, or the plain name.
pub fn role_name(role: &RoleLine) -> String {
    if role.group.is_empty() { role.name.clone() } else { format!("{}.{}", role.group, role.name) }
}

/// `total`: the tools that there are; what the start line counts.
pub fn tool_list(list: &[ToolLine], total: usize) -> String {
    if list.is_empty() {
        return "this role may use no tools".to_owned();
    }
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|tool| {
            let risk = match tool.risk {
                ToolRisk::Read => "read",
                ToolRisk::Write => "write",
                ToolRisk::Execute => "execute",
            };
            let approval = match tool.approval {
                ToolPermission::Allow => "allowed",
                ToolPermission::Ask => "asks",
                ToolPermission::Deny => "denied",
            };
            vec![tool.name.clone(), risk.into(), approval.into(), first_sentence(&tool.description)]
        })
        .collect();
    let mut text = String::new();
    for (line, tool) in align_table(&rows).lines().zip(list) {
        let _ = writeln!(text, "{line}");
        if !tool.parameters.is_empty() {
            let _ = writeln!(text, "    {}", tool.parameters);
        }
    }
    if list.len() < total {
        let asks = list.iter().any(|tool| tool.name == ASK_PERSON);
        let named_only = if asks {
            String::new()
        } else {
            format!(" · {ASK_PERSON} is only for roles that name it in includedTools")
        };
        let _ = write!(
            text,
            "\n{} of {total} tools: includedTools or excludedTools of the role leave out the others{named_only} · /mcp \
             lists servers that give none",
            list.len()
        );
    }
    text
}

/// Descriptions are written for models; their first sentence is enough for the user.
fn first_sentence(text: &str) -> String {
    let text = one_line(text);
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}

/// A wider cell is not aligned.
const CELL: usize = 32;

/// Columns aligned by their widest cell; the last one flows.
fn align_table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            rows.iter()
                .filter_map(|row| row.get(at))
                .map(|cell| display_width(cell))
                .filter(|wide| *wide <= CELL)
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if at + 1 < row.len() {
                line.push_str(&" ".repeat(widths[at].saturating_sub(display_width(cell)) + 2));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_line_says_where_a_missing_tool_is_explained() {
        let check = |tools_available: usize, tools_total: usize, expected: &str| {
            let facts = StatusFacts {
                role: "coder".into(),
                model: "m".into(),
                tools_available,
                tools_total,
                ..StatusFacts::default()
            };
            assert_eq!(start_line(&facts), format!("role coder · m · {expected}"));
        };
        check(19, 20, "19 of 20 tools: /tools says why");
        check(20, 20, "20 tools");
        check(1, 1, "1 tool");
        check(0, 0, "0 tools");
    }

    #[test]
    fn tools_that_a_role_lacks_are_explained() {
        let tool = |name: &str| ToolLine {
            name: name.to_owned(),
            risk: ToolRisk::Read,
            approval: ToolPermission::Allow,
            description: "Reads.".to_owned(),
            parameters: String::new(),
        };
        let named_only = "is only for roles that name it in includedTools";
        let check = |names: &[&str], total: usize, expected: &[&str], absent: &str| {
            let list: Vec<ToolLine> = names.iter().map(|name| tool(name)).collect();
            let text = tool_list(&list, total);
            assert!(expected.iter().all(|part| text.contains(part)) && !text.contains(absent), "{text}");
        };
        check(&["read_files"], 2, &["1 of 2 tools: includedTools", ASK_PERSON, named_only], "\n\n\n");
        check(&["read_files", ASK_PERSON], 3, &["2 of 3 tools: includedTools"], named_only);
        check(&["read_files"], 1, &["read_files"], "of 1 tool");
    }
}
