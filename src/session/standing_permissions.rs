//! What the user allows for good: rules in the user's settings, and taking them out again.
//!
//! Owns what was there before a rule of this process. Refuses to touch a rule that this process has not written, or that is
//! another one since.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{TuiBackend, run_blocking};
use crate::local_setup_ports::LocalSetupPorts;
use synthdev_domain::approval::AllowRule;
use synthdev_domain::tool::ToolRisk;
use synthdev_service::model_setup::{SETTINGS_FILE, SetupPorts, plan_settings};
use synthdev_service::session::StandingPermission;
use synthdev_settings::setup::SettingChange;
use synthdev_settings::setup::edit_json::read_value;

impl TuiBackend {
    /// Writes a rule of `approvals` or `"sandbox": {"network": "on"}` into the user's settings, or takes it out of them;
    /// what starts next reads them again. The demo does not change the user's settings.
    pub(crate) fn save_permission(
        &self,
        permission: StandingPermission,
        is_allowed: bool,
    ) -> BoxFuture<'static, Result<String, String>> {
        if self.demo.is_some() || self.context.shipped_only {
            let why = "the demo leaves your settings as they are: nothing was saved";
            return Box::pin(std::future::ready(Err(why.to_owned())));
        }
        let (context, overrides) = (self.context.clone(), self.overrides.clone());
        run_blocking(move || {
            let ports = LocalSetupPorts { context, overrides };
            let done =
                if is_allowed { write_rule(&ports, &permission) } else { revoke_rule(&ports, &permission) };
            done.map_err(|error| format!("{error:#}"))
        })
    }
}

/// Each rule that this process has written, by its file and its path there, and the value that it replaced. Locked while a
/// file is changed: each change begins with what the one before has written.
static WRITTEN: Mutex<BTreeMap<SettingPlace, Option<Value>>> = Mutex::new(BTreeMap::new());

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SettingPlace {
    file: String,
    path: Vec<String>,
}

/// What a rule allows, in words.
fn rule_subject(rule: &AllowRule) -> &str {
    match rule {
        AllowRule::Tool(tool) => tool,
        AllowRule::Risk(ToolRisk::Read) => "every tool that reads",
        AllowRule::Risk(ToolRisk::Write) => "every tool that changes files",
        AllowRule::Risk(ToolRisk::Execute) => "every tool that executes commands",
    }
}

/// Blocking.
fn write_rule(ports: &LocalSetupPorts, permission: &StandingPermission) -> Result<String> {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let (path, value, what) = match permission {
        StandingPermission::Rule(rule) => (rule.setting_path(), "allow", rule_subject(rule)),
        StandingPermission::Network => {
            (["sandbox", "network"].map(str::to_owned).to_vec(), "on", "the network of commands")
        }
    };
    let (file, before) = present_value(ports, &path)?;
    let settings = vec![SettingChange { path: path.clone(), value: Some(value.into()) }];
    let saved = plan_settings(ports, settings)?.save_files(ports)?;
    Ok(match saved.first() {
        Some(name) => {
            written.insert(SettingPlace { file, path }, before);
            format!("{what} is allowed from now on: saved in {name}")
        }
        None => format!("{what} was allowed in your settings already"),
    })
}

/// Blocking. What stood there before comes back.
fn revoke_rule(ports: &LocalSetupPorts, permission: &StandingPermission) -> Result<String> {
    let StandingPermission::Rule(rule) = permission else {
        return Err(anyhow!("only a rule can be revoked"));
    };
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let path = rule.setting_path();
    let rule = format!("{} = allow", path.join("."));
    let (file, now) = present_value(ports, &path)?;
    let place = SettingPlace { file, path };
    let Some(before) = written.get(&place).cloned() else {
        return Ok(format!("{rule} stays in your settings: this session has not written it"));
    };
    if now != Some("allow".into()) {
        written.remove(&place);
        return Ok(format!("{rule} is not in your settings any more"));
    }
    let settings = vec![SettingChange { path: place.path.clone(), value: before }];
    let saved = plan_settings(ports, settings)?.save_files(ports)?;
    written.remove(&place);
    let name = saved.first().map_or("your settings", String::as_str);
    Ok(format!("{rule} is out of {name} again; runs that began with it go on with it"))
}

/// The path of the user's settings, and what stands there.
fn present_value(ports: &LocalSetupPorts, path: &[String]) -> Result<(String, Option<Value>)> {
    let file = ports.read_user_file(SETTINGS_FILE)?;
    let value = read_value(file.text.as_deref().unwrap_or_default(), path)
        .map_err(|why| anyhow!("{} is broken and was left as it is: {why}", file.path))?;
    Ok((file.path, value))
}
