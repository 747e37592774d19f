//! What a project's own files say in vain, as this configuration finds it: values that are not taken or are wrong, names
//! that nothing reads, keys that would go astray. For the question about trust, which must not promise them.

use super::ConfigCatalog;
use crate::dotenv::parse_dotenv;
use crate::layers::rules::environment_names;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::json::JsonNode;
use synthdev_language::source::{FileDiagnostics, NOT_TAKEN, SourceFile};
use synthdev_language::workflow_file::{parse_workflow, workflow_nodes};

impl ConfigCatalog {
    /// A finding for each, at its place in a file of the project; those that loading and checking make anyway.
    pub fn project_findings_without_effect(&self) -> Vec<Diagnostic> {
        let files = &self.files;
        let of_project = |list: &[SourceFile], file: &str| {
            list.iter().any(|one| one.layer == ConfigLayer::Project && one.name == file)
        };
        let refused = self.diagnostics.iter().filter(|found| {
            let file = &found.place.file;
            let value = of_project(&files.settings, file) || of_project(&files.dotenv, file);
            found.code == NOT_TAKEN || value && found.severity == DiagnosticSeverity::Error
        });
        let mut all: Vec<Diagnostic> = refused.cloned().chain(self.unread_variables()).collect();
        let sends = |text: &str| text.contains("\"headers\"") && text.contains("\"env\"");
        for entry in self.workflows.iter().filter(|entry| entry.layer == ConfigLayer::Project) {
            let file = files.workflows.iter().find(|file| file.name == entry.place.file);
            if file.is_some_and(|file| sends(&file.text)) {
                all.extend(self.stray_keys_of(&entry.name));
            }
        }
        all.extend(files.workflows.iter().filter(|file| file.layer == ConfigLayer::Project).flat_map(forms));
        all
    }

    /// Names in the project's `.env` that are of no setting and of no provider, also where the environment has them already.
    fn unread_variables(&self) -> impl Iterator<Item = Diagnostic> {
        let of_provider = |name: &str| {
            let names = self.models.providers.iter().flat_map(|one| one.key_env.iter().chain(&one.url_env));
            names.flatten().any(|known| known == name)
        };
        let is_read =
            move |name: &str| environment_names().any(|(known, _)| known == name) || of_provider(name);
        let of_project = self.files.dotenv.iter().filter(|file| file.layer == ConfigLayer::Project);
        of_project.flat_map(move |file| {
            let unread = parse_dotenv(&file.text).0.into_iter().filter(|one| !is_read(&one.name));
            unread
                .map(|one| Diagnostic {
                    code: NOT_TAKEN.to_owned(),
                    severity: DiagnosticSeverity::Info,
                    message: format!("{} is not read: it is no setting, and no provider's", one.name),
                    place: file.location_at(one.name_range.start),
                    span: one.name_range,
                    hint: None,
                })
                .collect::<Vec<_>>()
        })
    }
}

/// Values of workflow files that are not taken are found when the whole workflow is read.
fn forms(file: &SourceFile) -> Vec<Diagnostic> {
    let mut findings = FileDiagnostics::new(file);
    if let Some(root) = JsonNode::parse(file, &mut findings) {
        for node in workflow_nodes(&root) {
            let _ = parse_workflow(node, &mut findings);
        }
    }
    findings.list.into_iter().filter(|found| found.code == NOT_TAKEN).collect()
}
