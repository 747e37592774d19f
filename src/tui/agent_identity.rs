//! The colour and the mark of each agent of a run: the same in the conversation, graph, timeline, costs and side panel.
//!
//! An agent keeps what it has: agents that come later never change it. Refuses: to choose colours, which `theme` does.

use std::collections::HashMap;

use ratatui::style::Style;
use serde::{Deserialize, Serialize};

use crate::text::one_line;
use crate::theme::{AGENT_COLORS, ColorTheme};

/// Shapes, one column wide each, so that agents differ where there is no colour.
const MARKS: [&str; 12] = ["●", "▲", "■", "◆", "★", "▼", "○", "△", "□", "◇", "☆", "▽"];

/// The mark of an agent that the run does not know.
const UNKNOWN_MARK: &str = "·";

/// The place of an agent among those of its run, which decides its colour and its mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct AgentIdentity(Option<u32>);

/// The agents of a run: declared ones in their order, then called workflows' and started ones as they come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentRoster {
    places: HashMap<String, u32>,
}

impl AgentIdentity {
    /// The run knows the agent.
    pub fn is_known(self) -> bool {
        self.0.is_some()
    }

    /// One column wide.
    pub fn mark(self) -> &'static str {
        self.0.map_or(UNKNOWN_MARK, |place| MARKS[place as usize % MARKS.len()])
    }

    /// For the name and the mark, also for a bar in a chart. Without colours it is bold.
    pub fn style(self, theme: ColorTheme) -> Style {
        let Some(place) = self.0 else { return theme.bold_style() };
        let place = place as usize;
        // after each round of marks the colours are shifted, so that the pairs differ
        theme.agent_style((place + place / MARKS.len()) % AGENT_COLORS)
    }
}

impl AgentRoster {
    /// The agents of a workflow in the order in which its file declares them.
    pub fn from_declared<'a>(agents: impl IntoIterator<Item = &'a str>) -> Self {
        let mut roster = Self::default();
        roster.add_all(agents);
        roster
    }

    /// Adds those that are new, in this order.
    pub fn add_all<'a>(&mut self, agents: impl IntoIterator<Item = &'a str>) {
        agents.into_iter().for_each(|agent| self.add_agent(agent));
    }

    /// Adds an agent unless it is known. An empty name is no agent.
    pub fn add_agent(&mut self, agent: &str) {
        if agent.is_empty() || self.places.contains_key(agent) {
            return;
        }
        let place = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.entry(one_line(agent)).or_insert(place);
    }

    /// What an agent looks like; a neutral look, if it was never added.
    pub fn identity(&self, agent: &str) -> AgentIdentity {
        AgentIdentity(self.places.get(agent).copied())
    }

    /// Shorthand for the mark of [`Self::identity`].
    pub fn mark(&self, agent: &str) -> &'static str {
        self.identity(agent).mark()
    }

    /// Shorthand for the style of [`Self::identity`].
    pub fn style(&self, theme: ColorTheme, agent: &str) -> Style {
        self.identity(agent).style(theme)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::text::display_width;
    use crate::theme::TerminalEnvironment;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("agent {at}")).collect()
    }

    #[test]
    fn marks_are_one_column_wide_and_differ() {
        assert!(MARKS.iter().chain([&UNKNOWN_MARK]).all(|mark| display_width(mark) == 1));
        assert_eq!(MARKS.iter().collect::<HashSet<_>>().len(), MARKS.len());
    }

    #[test]
    fn agents_differ_in_colour_or_mark_in_every_theme() {
        let terminal = TerminalEnvironment { term: Some("xterm-256color".into()), ..Default::default() };
        let check = |theme: &str, agents: usize, colours: usize| {
            let theme = ColorTheme::find_theme(theme, &terminal).unwrap();
            let names = names(agents);
            let roster = AgentRoster::from_declared(names.iter().map(String::as_str));
            let looks: HashSet<_> =
                names.iter().map(|name| (roster.mark(name), roster.style(theme, name))).collect();
            assert_eq!(looks.len(), agents, "{}", theme.name());
            let styles: HashSet<_> = looks.iter().map(|(_, style)| style).collect();
            assert_eq!(styles.len(), colours, "{}", theme.name());
        };
        for theme in ["dark", "light", "dark16", "light16", "high-contrast"] {
            check(theme, MARKS.len() * AGENT_COLORS, AGENT_COLORS);
        }
        check("plain", MARKS.len(), 1);
    }

    #[test]
    fn an_agent_keeps_its_look_when_others_come() {
        let mut roster = AgentRoster::from_declared(["coder", "reviewer"]);
        let before = [roster.identity("coder"), roster.identity("reviewer")];
        roster.add_all(["helper", "coder", ""]);
        assert_eq!([roster.identity("coder"), roster.identity("reviewer")], before);
        assert_eq!(roster.mark("helper"), MARKS[2]);
        assert_eq!((roster.mark("unlisted"), roster.mark("")), (UNKNOWN_MARK, UNKNOWN_MARK));
    }
}
