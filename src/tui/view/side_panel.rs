//! The side panel: the run's position, its agents, its cost. One line on narrow screens.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::draw_helpers::put_line;
use crate::model::UiModel;
use crate::pane::costs;
use crate::run_view::RunView;
use crate::text::{display_width, fit_to_columns, format_count, format_dollars, short_number};

pub fn draw_side_panel(model: &UiModel, area: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    for y in area.y..area.bottom() {
        put_line(frame, area.x, y, &Line::styled("│", theme.dim_style()), 1);
    }
    let columns = usize::from(area.width.saturating_sub(2));
    let lines = match model.watched_run() {
        Some(run) => run_lines(model, run, columns),
        None => facts_lines(model),
    };
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        put_line(frame, area.x + 2, y, &line, area.width.saturating_sub(2));
    }
}

/// `coder_reviewer ▸ review · 4 min 10 s · run 1.2k tok · $0.01 · 2 agents`
pub fn draw_header(model: &UiModel, area: Rect, frame: &mut Frame<'_>) {
    let Some(run) = model.watched_run() else { return };
    let columns = usize::from(area.width);
    let mut parts = header_parts(model, run).into_iter();
    let mut text = parts.next().and_then(|forms| forms.into_iter().next()).unwrap_or_default();
    // half a number says the wrong thing
    for forms in parts {
        if let Some(part) =
            forms.iter().find(|form| display_width(&text) + display_width(form) + 3 <= columns)
        {
            text = format!("{text} · {part}");
        }
    }
    let text = format!("{:columns$}", fit_to_columns(&text, columns));
    put_line(frame, area.x, area.y, &Line::styled(text, model.theme.selected_style()), area.width);
}

/// What is known of a run in a line, the most important first: each in its longest form, then in shorter ones.
fn header_parts(model: &UiModel, run: &RunView) -> Vec<Vec<String>> {
    let mut name = format!(" {}", run.workflow);
    if model.has_several_live_runs() && !run.chat {
        // two may have the same name
        name.push_str(&format!(" {}", run.id));
    }
    if !run.state.is_empty() && !run.chat {
        name.push_str(&format!(" ▸ {}", run.state));
    }
    let mut parts = vec![vec![name]];
    let ended = if run.is_paused { "paused" } else { "over" };
    parts.extend(run.is_over.then(|| vec![ended.to_owned()]));
    parts.push(model.live_time(run));
    let total = run.ledger.usage().total();
    if total > 0 {
        let of = |end: Option<String>| end.map(|end| format!(" of {end}")).unwrap_or_default();
        let most = of(run.budget.tokens.hard.map(short_number));
        parts.push(vec![format!("run {}{most} tok", short_number(total))]);
        let most = of(run.budget.cost_usd.hard.map(|end| format_dollars(Some(end))));
        parts.push(vec![format!("{}{most}", format_dollars(run.ledger.cost_usd()))]);
    }
    parts.extend((!run.agents.is_empty()).then(|| vec![format_count(run.agents.len() as u64, "agent")]));
    parts
}

fn run_lines(model: &UiModel, run: &RunView, columns: usize) -> Vec<Line<'static>> {
    let theme = model.theme;
    let cut = |text: &str, less: usize| fit_to_columns(text, columns.saturating_sub(less)).into_owned();
    let mut lines = vec![
        Line::styled(cut(&title_text(model, run, columns), 0), theme.dim_style()),
        Line::styled(cut(&run.workflow, 0), theme.bold_style()),
    ];
    if model.has_several_live_runs() && !run.chat {
        lines.push(Line::styled(cut(run.id.as_str(), 0), theme.dim_style()));
    }
    lines.push(Line::default());
    if !run.chat && !run.path.is_empty() {
        lines.push(Line::styled("path", theme.dim_style()));
        let skip = run.path.len().saturating_sub(8);
        if skip > 0 {
            lines.push(Line::styled(format!("  … {skip} before"), theme.dim_style()));
        }
        for (at, state) in run.path.iter().enumerate().skip(skip) {
            let here = at + 1 == run.path.len() && !run.is_over;
            let (mark, style) = if here { ("▸ ", theme.accent_style()) } else { ("  ", theme.text()) };
            lines.push(Line::styled(format!("{mark}{}", cut(state, 2)), style));
        }
        lines.push(Line::default());
    }
    if !run.agents.is_empty() {
        lines.push(Line::styled("agents", theme.dim_style()));
        for agent in &run.agents {
            let mark = run.roster.mark(&agent.name);
            lines.push(Line::from(vec![
                Span::styled(
                    format!("{mark} {}", cut(&agent.name, 14)),
                    run.roster.style(theme, &agent.name),
                ),
                Span::styled(format!(" {}", agent.side.as_str()), theme.dim_style()),
            ]));
            let tokens = short_number(agent.usage.total());
            lines.push(Line::raw(format!("  {} · {tokens} tok", cut(&agent.model, 9 + tokens.len()))));
        }
        lines.push(Line::default());
    }
    let usage = run.ledger.usage();
    let what = if run.chat { "tokens so far" } else { "tokens of this run" };
    lines.push(Line::styled(cut(what, 0), theme.dim_style()));
    lines.push(Line::raw(cut(
        &format!("{} in · {} out", short_number(usage.prompt), short_number(usage.completion)),
        0,
    )));
    lines.push(Line::raw(format_dollars(run.ledger.cost_usd())));
    lines.extend(costs::budget_rows(run, columns, theme).into_iter().map(|row| row.line));
    if let Some(snapshot) = &run.snapshot {
        lines.push(Line::default());
        lines.push(Line::styled("snapshot", theme.dim_style()));
        lines.push(Line::raw(cut(snapshot, 0)));
    }
    lines
}

/// `workflow · 4 min 10 s, 3 min 00 s of it waiting`: what it is, and how long it has run.
fn title_text(model: &UiModel, run: &RunView, columns: usize) -> String {
    let kind = if run.chat { "conversation" } else { "workflow" };
    let over = if run.is_over { " (over)" } else { "" };
    let mut titles = model.live_time(run).into_iter().map(|time| format!("{kind}{over} · {time}"));
    titles.find(|title| display_width(title) <= columns).unwrap_or_else(|| format!("{kind}{over}"))
}

fn facts_lines(model: &UiModel) -> Vec<Line<'static>> {
    let facts = &model.facts;
    let mut lines = Vec::new();
    for (name, value) in [
        ("role", facts.role.clone()),
        ("model", facts.model.clone()),
        ("tools", format!("{} of {}", facts.tools_available, facts.tools_total)),
        ("branch", facts.branch.clone().unwrap_or_else(|| "no git".to_owned())),
    ] {
        lines.push(Line::styled(name, model.theme.dim_style()));
        lines.push(Line::raw(value));
    }
    lines
}
