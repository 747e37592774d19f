//! `sandbox.ports`: ports of the machine's loopback that the commands of a workflow reach although the network is off.

use std::collections::BTreeSet;

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{List, Port};
use super::super::key_declaration::{ObjectDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::fields::{check_object, non_null_member, report_wrong_type};

pub(super) const SANDBOX: ObjectDeclaration = ObjectDeclaration {
    name: "workflow_sandbox",
    noun: "`sandbox` of a workflow",
    description: "What the commands of a workflow reach besides.",
    keys: &[declared_key("ports")
        .with_value(
            List(&Port),
            "Ports (1024 to 65535, at most 16) of this machine's loopback that they reach although the \
         network is off, as those of a database. A workflow that it calls has its own.",
        )
        .with_example("[5432]")],
    future_keys: &[],
};

/// Every command listens at each of them.
const MOST: usize = 16;

/// A program listens at a lower port only with a right that no command has.
const LOWEST: u16 = 1024;

/// What to do if a workflow declares too many.
const FEWER: &str =
    "declare only what the commands of this workflow need; a workflow that it calls has its own";

pub(super) fn read_ports(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> BTreeSet<u16> {
    let Some(sandbox) = non_null_member(node, "sandbox") else { return BTreeSet::new() };
    if check_object(sandbox, &SANDBOX, findings).is_none() {
        return BTreeSet::new();
    }
    non_null_member(sandbox, "ports").map(|list| read_port_list(list, FEWER, findings)).unwrap_or_default()
}

/// The ports of a list `sandbox.ports`, of a workflow or of a tool; `too_many`: what to do then.
pub fn read_port_list(list: &JsonNode, too_many: &str, findings: &mut FileDiagnostics<'_>) -> BTreeSet<u16> {
    let mut ports = BTreeSet::new();
    let Some(items) = list.items() else {
        report_wrong_type(list, "`sandbox.ports` must be a list of ports", findings);
        return ports;
    };
    for item in items {
        let Some(port) = parse_port(item) else {
            let message = format!("`sandbox.ports` cannot hold {}", item.to_value());
            findings.add_error("E10", item.span.clone(), message, Some(hint(item)));
            continue;
        };
        if !ports.insert(port) {
            let message = format!("the port {port} is declared twice");
            findings.add_error("E13", item.span.clone(), message, Some("remove one of the two".to_owned()));
        }
    }
    if ports.len() > MOST {
        let message = format!("`sandbox.ports` holds {} ports, at most {MOST} are opened", ports.len());
        findings.add_error("E10", list.span.clone(), message, Some(too_many.to_owned()));
    }
    ports
}

fn parse_port(item: &JsonNode) -> Option<u16> {
    number(item).filter(|port| *port >= LOWEST)
}

fn number(item: &JsonNode) -> Option<u16> {
    match &item.kind {
        JsonNodeKind::Number(text) => text.parse().ok(),
        _ => None,
    }
}

fn hint(item: &JsonNode) -> String {
    match number(item) {
        Some(port) if port > 0 => format!(
            "the system lets only root listen at ports below {LOWEST}, and a command listens at each declared port; let \
             your server listen at a port from {LOWEST} to 65535"
        ),
        _ => format!("a port is a whole number from {LOWEST} to 65535, such as 5432"),
    }
}
