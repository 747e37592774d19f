//! Who takes part: name, seat, model, what it used and what it does now.

use ratatui::text::{Line, Span};

use super::body::PaneRow;
use crate::run_view::{AgentActivity, AgentLine, RunView};
use crate::text::{dollars, fit, format_count, short_number, width};
use crate::theme::ColorTheme;

pub fn rows(run: &RunView, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let mut rows = Vec::new();
    for agent in &run.agents {
        if !rows.is_empty() {
            rows.push(PaneRow::default());
        }
        agent_rows(run, agent, columns, theme, &mut rows);
    }
    let tree = run.watch.tree.lines();
    if !tree.is_empty() {
        rows.push(PaneRow::default());
    }
    for line in tree {
        let text = fit(&format!("{}{}", line.joint, line.text), columns).into_owned();
        let style = if line.works { theme.warning() } else { theme.dim() };
        rows.push(PaneRow::new(Line::styled(text, style)).copied(line.text));
    }
    rows
}

fn agent_rows(run: &RunView, agent: &AgentLine, columns: usize, theme: ColorTheme, rows: &mut Vec<PaneRow>) {
    let seat = format!("  {}", agent.side.as_str());
    rows.push(
        PaneRow::new(Line::from(vec![
            Span::styled(
                fit(&agent.name, columns.saturating_sub(width(&seat))).into_owned(),
                theme.seat(agent.side),
            ),
            Span::styled(seat, theme.dim()),
        ]))
        .copied(agent.name.clone()),
    );
    let model = fit(&agent.model, columns.saturating_sub(2)).into_owned();
    rows.push(PaneRow::new(format!("  {model}")).copied(agent.model.clone()));
    if let Some(asked) = &agent.instead_of {
        let text = format!("  ! {asked} was asked for");
        rows.push(PaneRow::new(Line::styled(fit(&text, columns).into_owned(), theme.warning())));
    }
    let sum = run.watch.spending.agents.get(&agent.name);
    let tokens = format!("{} tok", short_number(agent.usage.total()));
    let more = sum.map(|sum| format!(" · {} · {}", dollars(sum.cost_usd), format_count(sum.calls, "call")));
    let text = format!("  {tokens}{}", more.unwrap_or_default());
    rows.push(PaneRow::new(fit(&text, columns).into_owned()));
    let (text, style) = match &agent.doing {
        AgentActivity::Nothing if run.over => return,
        AgentActivity::Nothing => ("idle".to_owned(), theme.dim()),
        AgentActivity::Thinks => ("thinks".to_owned(), theme.warning()),
        AgentActivity::Writes => ("writes".to_owned(), theme.warning()),
        AgentActivity::Runs(tool) => (format!("runs {tool}"), theme.warning()),
        AgentActivity::WaitsFor(tool) => (format!("waits for your yes to {tool}"), theme.human()),
    };
    rows.push(PaneRow::new(Line::styled(fit(&format!("  {text}"), columns).into_owned(), style)));
}
