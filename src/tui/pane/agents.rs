//! The agents of a run: name, seat, model, usage and current activity.

use ratatui::text::{Line, Span};

use super::body::PaneRow;
use crate::run_view::{AgentActivity, AgentLine, RunView};
use crate::text::{display_width, fit_to_columns, format_count, format_dollars, short_number};
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;

pub fn agents_pane_rows(run: &RunView, now: Timestamp, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let mut rows = Vec::new();
    for agent in &run.agents {
        if !rows.is_empty() {
            rows.push(PaneRow::default());
        }
        agent_rows(run, agent, columns, theme, &mut rows);
    }
    let tree = run.pane_data.tree.lines();
    if !tree.is_empty() && !rows.is_empty() {
        rows.push(PaneRow::default());
    }
    for line in tree {
        let text = fit_to_columns(&format!("{}{}", line.connector, line.text), columns).into_owned();
        let style = if line.is_working { theme.warning_style() } else { theme.dim_style() };
        rows.push(PaneRow::new(Line::styled(text, style)).with_copy_text(line.text));
    }
    let running = &run.pane_data.running_commands;
    if let Some(id) = running.first_id() {
        if !rows.is_empty() {
            rows.push(PaneRow::default());
        }
        let title = format!("in the background (/stop {id} stops {id})");
        let title = fit_to_columns(&title, columns).into_owned();
        rows.push(PaneRow::new(Line::styled(title, theme.dim_style())));
    }
    for line in running.lines(now) {
        let text = fit_to_columns(&format!("  {line}"), columns).into_owned();
        rows.push(PaneRow::new(Line::styled(text, theme.warning_style())).with_copy_text(line));
    }
    rows
}

fn agent_rows(run: &RunView, agent: &AgentLine, columns: usize, theme: ColorTheme, rows: &mut Vec<PaneRow>) {
    let (mark, seat) = (run.roster.mark(&agent.name), format!("  {}", agent.side.as_str()));
    let room = columns.saturating_sub(display_width(&seat) + display_width(mark) + 1);
    rows.push(
        PaneRow::new(Line::from(vec![
            Span::styled(
                format!("{mark} {}", fit_to_columns(&agent.name, room)),
                run.roster.style(theme, &agent.name),
            ),
            Span::styled(seat, theme.dim_style()),
        ]))
        .with_copy_text(agent.name.clone()),
    );
    let model = fit_to_columns(&agent.model, columns.saturating_sub(2)).into_owned();
    rows.push(PaneRow::new(format!("  {model}")).with_copy_text(agent.model.clone()));
    if let Some(asked) = &agent.requested_model {
        let text = format!("  ! {asked} was asked for");
        rows.push(PaneRow::new(Line::styled(
            fit_to_columns(&text, columns).into_owned(),
            theme.warning_style(),
        )));
    }
    let sum = run.pane_data.run_costs.agents.get(&agent.name);
    let tokens = format!("{} tok", short_number(agent.usage.total()));
    let more =
        sum.map(|sum| format!(" · {} · {}", format_dollars(sum.cost_usd), format_count(sum.calls, "call")));
    let text = format!("  {tokens}{}", more.unwrap_or_default());
    rows.push(PaneRow::new(fit_to_columns(&text, columns).into_owned()));
    let (text, style) = match &agent.activity {
        AgentActivity::Nothing if run.is_over => return,
        AgentActivity::Nothing => ("idle".to_owned(), theme.dim_style()),
        AgentActivity::Thinks => ("thinks".to_owned(), theme.warning_style()),
        AgentActivity::Writes => ("writes".to_owned(), theme.warning_style()),
        AgentActivity::Runs(tool) => (format!("runs {tool}"), theme.warning_style()),
        AgentActivity::WaitsFor(tool) => (format!("waits for your yes to {tool}"), theme.user_attention()),
    };
    rows.push(PaneRow::new(Line::styled(fit_to_columns(&format!("  {text}"), columns).into_owned(), style)));
}
