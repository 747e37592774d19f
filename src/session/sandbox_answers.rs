//! The sandbox as users see it: the policy in force, and what it says of one path.

use std::collections::BTreeSet;
use std::path::Path;

use synthdev_bootstrap::sandbox_setup::CommandSandbox;
use synthdev_cli::sandbox::{PathAccessExplanation, SandboxReport, explain_path};
use synthdev_settings::catalog::ConfigCatalog;

/// The policy, and whether something holds it.
pub fn sandbox_report(sandbox: &CommandSandbox, catalog: &ConfigCatalog) -> SandboxReport {
    let (layer, gaps, problem) = match sandbox.prepare_current() {
        Ok(Some(ready)) => (Some(ready.working_layer().name()), ready.working_layer().gap_texts(), None),
        Ok(None) => (None, &[][..], None),
        Err(problem) => (None, &[][..], Some(problem)),
    };
    let policy = sandbox.policy();
    SandboxReport {
        mode: policy.mode.as_str(),
        network: policy.network.as_str(),
        layer,
        gap_texts: gaps.iter().map(|gap| (*gap).to_owned()).collect(),
        problem,
        rules: sandbox.description_text(),
        ports: declared_ports(sandbox, catalog),
    }
}

/// By workflow. None where they are not what decides: closed ports, or a network that is open anyway.
fn declared_ports(sandbox: &CommandSandbox, catalog: &ConfigCatalog) -> Vec<(String, BTreeSet<u16>)> {
    let declared = catalog.workflows().iter().filter_map(|entry| {
        let program = catalog.program(&entry.name).ok()?;
        let ports = &program.workflows.first()?.loopback_ports;
        let open = sandbox.open_ports(sandbox.settings().reach_for(None, ports));
        (!open.is_empty()).then(|| (entry.name.clone(), open.clone()))
    });
    declared.collect()
}

/// What a command may do with a path of the project or elsewhere.
pub fn explain_path_access(sandbox: &CommandSandbox, project: &Path, path: &Path) -> PathAccessExplanation {
    let (access, reason) = sandbox.explain_access(&project.join(path));
    explain_path(path, access.as_str(), reason, sandbox.settings().mode.as_str())
}
