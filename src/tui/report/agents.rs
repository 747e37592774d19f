//! `/agents`, `/agent NAME`, `/budget`.

use std::fmt::Write as _;

use super::align_table;
use crate::run_view::{AgentActivity, AgentLine, RunView};
use crate::text::{format_count, format_dollars, format_duration, format_thousands};
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::limits::Budget;

/// Messages of an agent that are shown.
const LAST: usize = 5;

/// Every agent of every run of the session, the newest run last.
pub fn all_agents_text(runs: &[RunView], now: Timestamp) -> String {
    let mut text = String::new();
    for run in runs {
        let state = if run.is_over { "over".to_owned() } else { run.state.clone() };
        let place = if state.is_empty() { String::new() } else { format!(" · {state}") };
        let _ = writeln!(text, "{} {}{place}", run.workflow, run.id);
        if run.agents.is_empty() {
            text.push_str("  no agent was asked yet\n");
        }
        let rows: Vec<Vec<String>> = run
            .agents
            .iter()
            .map(|agent| {
                vec![
                    format!("  {}", agent.name),
                    agent_activity(run, agent),
                    agent.model.clone(),
                    format!("{} tok", format_thousands(agent.usage.total())),
                ]
            })
            .collect();
        text.push_str(&align_table(&rows));
        for line in run.pane_data.tree.lines() {
            let _ = writeln!(text, "  {}{}", line.connector, line.text);
        }
        for line in run.pane_data.running_commands.lines(now) {
            let _ = writeln!(text, "  in the background: {line}");
        }
    }
    text
}

/// An agent with its last reply; `None`: the run has no such agent.
pub fn agent_text<'a>(
    run: &RunView,
    name: &str,
    items: impl DoubleEndedIterator<Item = &'a TranscriptItem>,
) -> Option<String> {
    let agent = run.agents.iter().find(|agent| agent.name == name)?;
    let mut text = format!(
        "of {} {}, {} seat, {}\n",
        run.workflow,
        run.id,
        agent.side.as_str(),
        agent_activity(run, agent)
    );
    let asked =
        agent.requested_model.as_ref().map(|asked| format!(" ({asked} was asked for)")).unwrap_or_default();
    let _ = writeln!(text, "model {}{asked}", agent.model);
    let _ = write!(text, "{} tokens", format_thousands(agent.usage.total()));
    if let Some(sum) = run.pane_data.run_costs.agents.get(&agent.name) {
        let _ = write!(text, " · {} · {}", format_dollars(sum.cost_usd), format_count(sum.calls, "call"));
    }
    let said = items.rev().filter_map(|item| match item {
        TranscriptItem::Reply(reply) if reply.agent == name && !reply.text.trim().is_empty() => {
            Some(reply.text.trim())
        }
        _ => None,
    });
    let mut said: Vec<&str> = said.take(LAST).collect();
    said.reverse();
    for words in said {
        let _ = write!(text, "\n\n{words}");
    }
    Some(text)
}

/// What a run may spend and has spent.
pub fn budget_text(run: &RunView) -> String {
    let Budget { tokens, cost_usd, duration_ms } = run.budget;
    let used = run.ledger.usage().total();
    let of = |end: Option<String>| end.map_or_else(|| "no end set".to_owned(), |end| format!("of {end}"));
    let rows = vec![
        vec!["tokens".to_owned(), format_thousands(used), of(tokens.hard.map(format_thousands))],
        vec![
            "dollars".to_owned(),
            format_dollars(run.ledger.cost_usd()),
            of(cost_usd.hard.map(|end| format_dollars(Some(end)))),
        ],
        vec![
            "time".to_owned(),
            run.describe_elapsed(run.last_event_at).unwrap_or_else(|| "none yet".to_owned()),
            of(duration_ms.hard.map(format_duration)),
        ],
    ];
    format!("{} {}\n{}", run.workflow, run.id, align_table(&rows))
}

fn agent_activity(run: &RunView, agent: &AgentLine) -> String {
    match &agent.activity {
        AgentActivity::Nothing if run.is_over => "done".to_owned(),
        AgentActivity::Nothing => "idle".to_owned(),
        AgentActivity::Thinks => "thinks".to_owned(),
        AgentActivity::Writes => "writes".to_owned(),
        AgentActivity::Runs(tool) => format!("runs {tool}"),
        AgentActivity::WaitsFor(tool) => format!("waits for your yes to {tool}"),
    }
}
