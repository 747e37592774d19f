//! What `synthdev sandbox` and `/sandbox` say.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use synthdev_domain::sandbox::WITHOUT_LAYER;

/// What becomes of commands where no layer works.
pub const WITHOUT_IT: &str = "on screen, synthdev asks before each command; without a screen, it executes \
    none";

pub struct SandboxReport {
    pub mode: &'static str,
    pub network: &'static str,
    /// `None`: there is no sandbox, or nothing holds it.
    pub layer: Option<&'static str>,
    /// What the layer does not hold.
    pub gap_texts: Vec<String>,
    pub problem: Option<String>,
    /// Paths and what commands may do with them.
    pub rules: String,
    /// Ports of this machine that workflows declare and their commands reach with the network off.
    pub ports: Vec<(String, BTreeSet<u16>)>,
}

impl SandboxReport {
    pub fn text(&self) -> String {
        if self.mode == "off" {
            return "sandbox: off. Commands of agents and workflows can access everything that you can \
                access."
                .to_owned();
        }
        let held = match (&self.layer, &self.problem) {
            (Some(layer), _) => format!("enforced by: {layer}\n"),
            (None, Some(problem)) => format!("not enforced: {problem}\n{WITHOUT_IT}\n{WITHOUT_LAYER}\n"),
            (None, None) => String::new(),
        };
        let gaps: String = self.gap_texts.iter().map(|gap| format!("  {gap}\n")).collect();
        let gaps = if gaps.is_empty() { gaps } else { format!("what it does not enforce:\n{gaps}") };
        format!("{held}{}{}{gaps}", self.rules, self.port_lines()).trim_end().to_owned()
    }

    fn port_lines(&self) -> String {
        let line = |(workflow, ports): &(String, BTreeSet<u16>)| {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            format!("  {workflow}: {}\n", ports.join(", "))
        };
        let lines: String = self.ports.iter().map(line).collect();
        if lines.is_empty() { lines } else { format!("ports of this machine, by workflow:\n{lines}") }
    }

    pub fn json(&self) -> Value {
        json!({
            "mode": self.mode,
            "network": self.network,
            "layer": self.layer,
            "gaps": self.gap_texts,
            "problem": self.problem,
        })
    }
}

/// What a command may do with one path, and why.
pub struct PathAccessExplanation {
    path: String,
    access: &'static str,
    reason: &'static str,
    mode: &'static str,
}

pub fn explain_path(
    path: &Path,
    access: &'static str,
    reason: &'static str,
    mode: &'static str,
) -> PathAccessExplanation {
    let (access, reason) =
        if mode == "off" { ("read and write", "there is no sandbox") } else { (access, reason) };
    PathAccessExplanation { path: path.display().to_string(), access, reason, mode }
}

impl PathAccessExplanation {
    pub fn text(&self) -> String {
        format!("{}: {} ({}, policy {})", self.path, self.access, self.reason, self.mode)
    }

    pub fn json(&self) -> Value {
        json!({"path": self.path, "access": self.access, "reason": self.reason, "mode": self.mode})
    }
}
