//! What the card of a state says, and what the pane of the graph knows of the run: its drawing, its breakpoints.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::body::plain_text;
use super::shown_graph::ShownGraph;
use crate::model::UiModel;
use crate::run_view::RunView;
use crate::run_view::pane_data::RunDefinitionState;
use crate::run_view::run_graph::{GraphStateRef, RunGraphDrawing};
use crate::text::{
    clean_text, display_width, format_count, format_dollars, format_duration, format_thousands, wrap_line,
};
use crate::theme::ColorTheme;
use synthdev_service::definition_views::graph::{GraphEdge, GraphNode, WorkflowGraph};
use synthdev_service::run_steering::Breakpoint;

/// The drawing of the run that the panes show.
pub fn watched_drawing(model: &UiModel) -> Option<(&RunView, &RunGraphDrawing)> {
    let run = model.watched_run()?;
    match &run.pane_data.definition {
        RunDefinitionState::Known(drawing) => Some((run, drawing)),
        RunDefinitionState::Unasked | RunDefinitionState::Asked | RunDefinitionState::Unknown(_) => None,
    }
}

/// The graph of the run that the panes show.
pub fn watched_graph(model: &UiModel) -> Option<ShownGraph<'_>> {
    let (run, drawing) = watched_drawing(model)?;
    Some(ShownGraph {
        drawing,
        visits: &run.pane_data.visits,
        roster: &run.roster,
        breakpoints: breakpoints_of(model, run),
        state: &model.panes.graph,
        is_over: run.is_over,
    })
}

/// Breakpoints of a run, or those of the next one if it is over.
pub fn breakpoints_of<'m>(model: &'m UiModel, run: &'m RunView) -> &'m [Breakpoint] {
    if run.is_over { &model.breakpoints.points } else { &run.breakpoints.points }
}

/// The position of the breakpoint before a state.
pub fn breakpoint_position(points: &[Breakpoint], node: &GraphNode) -> Option<usize> {
    let is_end = |path: &str, end: &str| {
        path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    points.iter().position(|point| match point {
        Breakpoint::State { state } => is_end(&node.name, state) || is_end(state, &node.name),
        Breakpoint::Tool { .. } | Breakpoint::Spend { .. } | Breakpoint::Now => false,
    })
}

/// What is known of the chosen state: its definition, its transitions, its visits.
pub fn card_lines(shown: &ShownGraph<'_>, theme: ColorTheme, columns: usize) -> Vec<Line<'static>> {
    let ShownGraph { drawing, .. } = *shown;
    let Some(chosen) = shown.state.chosen else { return Vec::new() };
    let (Some(graph), Some(node)) = (drawing.graph(chosen.workflow), drawing.node(chosen)) else {
        return Vec::new();
    };
    let mut card = CardText { columns: columns.max(8), lines: Vec::new() };
    let visits = visit_text(node);
    card.push(
        &visits,
        if node.tally.is_some_and(|tally| tally.count > 0) { theme.good_style() } else { theme.dim_style() },
    );
    for line in visit_times(shown, chosen) {
        card.push(&line, theme.dim_style());
    }
    if breakpoint_position(shown.breakpoints, node).is_some() {
        card.push("● the run stops before this state", theme.bad_style());
    }
    if node.details.fields.is_empty() {
        card.push(&node.about, theme.text());
    }
    for field in &node.details.fields {
        card.push_field(field.name, &field.text, theme);
    }
    for (name, text) in transition_texts(graph, chosen.node) {
        card.push_field(name, &text, theme);
    }
    card.lines
}

fn visit_text(node: &GraphNode) -> String {
    let Some(tally) = node.tally.filter(|tally| tally.count > 0) else {
        return "not visited yet".to_owned();
    };
    let mut text = format_count(u64::from(tally.count), "visit");
    if tally.tokens > 0 {
        let cost = format_dollars(tally.cost_usd);
        text.push_str(&format!(" · {} tokens · {cost}", format_thousands(tally.tokens)));
    }
    text
}

/// `visited at 1:02.3 s for 4.2 s`
fn visit_times(shown: &ShownGraph<'_>, chosen: GraphStateRef) -> Vec<String> {
    let Some(node) = shown.drawing.node(chosen) else { return Vec::new() };
    let Some(log) = shown.visits.log(shown.drawing.scope(chosen.workflow), &node.name) else {
        return Vec::new();
    };
    let visit = |(start, took): &(u64, Option<u64>)| match took {
        Some(ms) => format!("  after {}: {}", format_duration(*start), format_duration(*ms)),
        None if shown.is_over => format!("  after {}", format_duration(*start)),
        None => format!("  after {}: runs", format_duration(*start)),
    };
    let total = (log.visits.len() > 1).then(|| format!("  together {}", format_duration(log.total_ms)));
    log.visits.iter().map(visit).chain(total).collect()
}

/// The last step in the chosen state.
pub fn last_step_of_chosen(shown: &ShownGraph<'_>) -> Option<u32> {
    let chosen = shown.state.chosen?;
    let node = shown.drawing.node(chosen)?;
    shown.visits.last_step_of(shown.drawing.scope(chosen.workflow), &node.name)
}

/// The card of the chosen state as text, its name first.
pub fn card_text(shown: &ShownGraph<'_>, theme: ColorTheme) -> String {
    let name = shown.state.chosen.and_then(|chosen| Some(shown.drawing.node(chosen)?.name.clone()));
    let lines: Vec<String> = card_lines(shown, theme, COPIED).iter().map(plain_text).collect();
    format!("{}\n{}", name.unwrap_or_default(), lines.join("\n"))
}

/// `to`, or `on failure to`, with the target and the condition.
fn transition_texts(graph: &WorkflowGraph, node: usize) -> Vec<(&'static str, String)> {
    let text = |edge: &GraphEdge| {
        let name = graph.nodes.get(edge.to).map_or("", |node| &node.label);
        let count = edge.tally.filter(|tally| tally.count > 0).map(|tally| {
            let spent = match tally.cost_usd {
                _ if tally.tokens == 0 => String::new(),
                None => format!(" · {} tokens", format_thousands(tally.tokens)),
                cost => format!(" · {}", format_dollars(cost)),
            };
            format!(" ×{}{spent}", tally.count)
        });
        let when = if edge.label.is_empty() { String::new() } else { format!(" — {}", edge.label) };
        let kind = if edge.kind.is_exception() { "failure" } else { "to" };
        (kind, format!("▸ {name}{}{when}", count.unwrap_or_default()))
    };
    graph.outgoing_edges(node).map(text).collect()
}

/// Columns of a card that is copied.
const COPIED: usize = 100;
/// Columns of the names of fields.
const NAMES: usize = 12;

struct CardText {
    columns: usize,
    lines: Vec<Line<'static>>,
}

impl CardText {
    fn push(&mut self, text: &str, style: Style) {
        let text = clean_text(text);
        for range in wrap_line(&text, self.columns) {
            self.lines.push(Line::styled(text[range].trim_end().to_owned(), style));
        }
    }

    /// The name at the left, the text beside it, all of it.
    fn push_field(&mut self, name: &str, text: &str, theme: ColorTheme) {
        let names = NAMES.min(self.columns / 3);
        let room = self.columns.saturating_sub(names).max(4);
        let mut shown = name.to_owned();
        for line in text.lines() {
            let line = clean_text(line);
            for range in wrap_line(&line, room) {
                let blanks = " ".repeat(names.saturating_sub(display_width(&shown)));
                let head = format!("{}{blanks}", std::mem::take(&mut shown));
                self.lines.push(Line::from(vec![
                    Span::styled(head, theme.dim_style()),
                    Span::styled(line[range].trim_end().to_owned(), theme.text()),
                ]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use synthdev_service::definition_views::graph::{
        EdgeKind, GraphNodeDetails, GraphVisitStatus, GraphVisitTally, NodeKind,
    };

    use super::*;

    #[test]
    fn a_way_says_what_its_visits_cost() {
        let node = |name: &str| GraphNode {
            name: name.to_owned(),
            label: name.to_owned(),
            kind: NodeKind::Agent,
            about: String::new(),
            group: None,
            calls: None,
            reachable: true,
            hidden: false,
            tally: None,
            details: GraphNodeDetails::default(),
        };
        let check = |count: u32, tokens: u64, cost_usd: Option<f64>, expected: &str| {
            let standing = GraphVisitStatus::Done;
            let edge = GraphEdge {
                from: 0,
                to: 1,
                kind: EdgeKind::Transition,
                order: 1,
                label: "good".to_owned(),
                tally: Some(GraphVisitTally { count, tokens, cost_usd, standing }),
            };
            let graph = WorkflowGraph {
                workflow: "w".to_owned(),
                description: String::new(),
                start: 0,
                nodes: vec![node("fix"), node("stop")],
                edges: vec![edge],
                groups: Vec::new(),
                handlers: Vec::new(),
            };
            assert_eq!(transition_texts(&graph, 0), [("to", expected.to_owned())]);
        };
        check(0, 0, Some(0.0), "▸ stop — good");
        check(2, 0, Some(0.0), "▸ stop ×2 — good");
        check(2, 1_200, Some(0.25), "▸ stop ×2 · $0.25 — good");
        check(2, 1_200, None, "▸ stop ×2 · 1,200 tokens — good");
    }
}
