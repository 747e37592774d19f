//! What is asked of the admin address of a Restate server: hosts, where their services are called, and lists of runs.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::host_directory::{HostDescription, HostDirectory, by_free_slots};
use super::journaled_step::{ProjectPlace, SERVICE, StepRefusal};
use super::run_host_names::service_uri;
use super::server_client::{PlacedRun, RestateClient, server_refusal};
use synthdev_domain::ids::RunId;

/// How long the server may take to reach a host that lives.
const REACH_PATIENCE: Duration = Duration::from_millis(500);

const REPEATED_QUERIES: u32 = 25;
const BETWEEN_QUERIES: Duration = Duration::from_millis(200);

/// Each call of a list of invocations.
const AT_ONCE: usize = 16;

/// A run as the server lists it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ServerRun {
    pub run: String,
    /// In the server's words: `running`, `suspended` (waits for an answer), `backing-off`, `completed` and others.
    pub status: String,
    /// Of one that is completed: `success` or `failure` of its workflow at the server.
    pub result: Option<String>,
    pub created: String,
    /// How often the server called a worker for it since it last got a step.
    pub attempts: Option<u64>,
    /// What the last of them came to.
    pub failure: Option<String>,
    pub service: String,
    /// The host that drives it; `None`: it is not known any more.
    #[serde(default)]
    pub host: Option<String>,
}

#[derive(Deserialize)]
struct ServerRows<T> {
    rows: Vec<T>,
}

#[derive(Deserialize)]
struct ServiceCount {
    service: String,
    active: usize,
}

#[derive(Deserialize)]
struct ServerTime {
    ms: i64,
}

#[derive(Deserialize)]
struct InvocationId {
    id: String,
}

#[derive(Deserialize)]
struct RunService {
    service: String,
}

impl RestateClient {
    /// All hosts that have registered.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn directory(&self) -> Result<HostDirectory, StepRefusal> {
        let url = self.admin_url("deployments");
        let (status, text) = self.send::<Value>(Method::GET, &url, None).await?;
        if !status.is_success() {
            return Err(server_refusal("list its hosts", status, &text));
        }
        HostDirectory::read(&text)
    }

    /// Tells the server where a host answers for its service. Doing it again renews what it said.
    ///
    /// # Errors
    /// The server or, from there, the host cannot be reached.
    pub async fn register_host(
        &self,
        base: &str,
        service: &str,
        description: &HostDescription,
    ) -> Result<(), StepRefusal> {
        let uri = service_uri(base, &description.host_id, service);
        let body = json!({"uri": uri, "force": true, "metadata": description});
        let (status, text) = self.send(Method::POST, &self.admin_url("deployments"), Some(&body)).await?;
        if status.is_success() { Ok(()) } else { Err(server_refusal("register this worker", status, &text)) }
    }

    /// Whether the server reaches the host of an entry. One that does not answer at once counts as gone.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn reaches(&self, uri: &str) -> Result<bool, StepRefusal> {
        self.reaches_within(uri, REACH_PATIENCE).await
    }

    pub(crate) async fn reaches_within(&self, uri: &str, patience: Duration) -> Result<bool, StepRefusal> {
        let body = json!({"uri": uri, "force": true, "dry_run": true});
        let url = self.admin_url("deployments");
        let asked = self.send(Method::POST, &url, Some(&body));
        match tokio::time::timeout(patience, asked).await {
            Ok(answered) => answered.map(|(status, _)| status.is_success()),
            Err(_) => Ok(false),
        }
    }

    /// Tells the host of a service to give its runs up: it stops them between two inputs and begins none again.
    ///
    /// # Errors
    /// The server cannot be reached, or the host not from there.
    pub async fn ask_to_leave(&self, service: &str) -> Result<(), StepRefusal> {
        self.tell_host(service, "leave").await
    }

    /// Tells the host to which a service was moved that it answers for it.
    ///
    /// # Errors
    /// The server cannot be reached, or the host not from there.
    pub async fn ask_to_take(&self, service: &str) -> Result<(), StepRefusal> {
        self.tell_host(service, "take").await
    }

    async fn tell_host(&self, service: &str, what: &str) -> Result<(), StepRefusal> {
        let placed = PlacedRun { service: service.to_owned(), id: RunId::from("host") };
        let (status, text) = self.send::<Value>(Method::POST, &self.handler_url(&placed, what), None).await?;
        if status.is_success() { Ok(()) } else { Err(server_refusal("reach the host", status, &text)) }
    }

    /// From now on the server calls a service there.
    ///
    /// # Errors
    /// The server cannot be reached, or has no such deployment.
    pub async fn move_service(&self, deployment: &str, uri: &str) -> Result<(), StepRefusal> {
        let url = self.admin_url(&format!("deployments/{deployment}"));
        let (status, text) = self.send(Method::PATCH, &url, Some(&json!({"uri": uri}))).await?;
        if status.is_success() { Ok(()) } else { Err(server_refusal("move the runs", status, &text)) }
    }

    /// Makes the server call again at once what it would call again later; how many calls.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn hasten(&self, service: &str) -> Result<usize, StepRefusal> {
        let query = format!(
            "SELECT id FROM sys_invocation WHERE target_service_name = '{service}' AND status IN \
             ('backing-off', 'paused')"
        );
        let waiting: Vec<InvocationId> = self.query(&query).await?;
        for some in waiting.chunks(AT_ONCE) {
            let calls = some.iter().map(|found| async move {
                let url = self.admin_url(&format!("invocations/{}/resume", found.id));
                // one that went on by itself is as well
                let _ = self.send::<Value>(Method::PATCH, &url, None).await;
            });
            futures_util::future::join_all(calls).await;
        }
        Ok(waiting.len())
    }

    /// How many runs of each service are under way; those that wait for an answer are not.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn active_runs(&self) -> Result<HashMap<String, usize>, StepRefusal> {
        let query = format!(
            "SELECT target_service_name AS service, count(*) AS active FROM sys_invocation WHERE \
             target_service_name LIKE '{SERVICE}.%' AND target_handler_name = 'run' AND status IN \
             ('pending', 'ready', 'running', 'backing-off') GROUP BY target_service_name"
        );
        let counts: Vec<ServiceCount> = self.query(&query).await?;
        Ok(counts.into_iter().map(|found| (found.service, found.active)).collect())
    }

    /// The service of the host that takes a new run: one with a free slot that the server reaches, if there is one.
    ///
    /// # Errors
    /// No host has this project, or the server cannot be reached.
    pub async fn choose_host(&self, project: &ProjectPlace) -> Result<String, StepRefusal> {
        let directory = self.directory().await?;
        let takers = directory.takers(&project.identity);
        let Some(only) = takers.first().map(|entry| entry.service.clone()) else {
            return Err(no_host(project, &directory));
        };
        if takers.len() == 1 {
            return Ok(only);
        }
        let active = self.active_runs().await?;
        let ranked = by_free_slots(takers, |service| active.get(service).copied().unwrap_or(0));
        for (entry, _) in &ranked {
            if self.reaches(&entry.uri).await? {
                return Ok(entry.service.clone());
            }
        }
        Ok(only)
    }

    /// The service that has a run.
    ///
    /// # Errors
    /// The server has no such run, or cannot be reached.
    pub async fn find_run(&self, run: &RunId) -> Result<PlacedRun, StepRefusal> {
        let id = run.as_str();
        if !id.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
            return Err(unknown_run(run));
        }
        let query = format!(
            "SELECT target_service_name AS service FROM sys_invocation WHERE target_service_key = '{id}' AND \
             target_service_name LIKE '{SERVICE}.%' AND target_handler_name = 'run' ORDER BY created_at DESC LIMIT 1"
        );
        let found: Vec<RunService> = self.query(&query).await?;
        let service = found.into_iter().next().ok_or_else(|| unknown_run(run))?.service;
        Ok(PlacedRun { service, id: run.clone() })
    }

    /// The newest runs of the server.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn list(&self, limit: usize) -> Result<Vec<ServerRun>, StepRefusal> {
        let query = format!(
            "SELECT target_service_key AS run, status, completion_result AS result, created_at AS created, \
             retry_count AS attempts, last_failure AS failure, target_service_name AS service FROM \
             sys_invocation WHERE target_service_name LIKE '{SERVICE}.%' AND target_handler_name = 'run' \
             ORDER BY created_at DESC"
        );
        let mut runs: Vec<ServerRun> = self.query(&query).await?;
        // one that was handed over is also at its first host
        let mut seen = std::collections::HashSet::new();
        runs.retain(|run| seen.insert(run.run.clone()));
        if limit > 0 {
            runs.truncate(limit);
        }
        let directory = self.directory().await?;
        for run in &mut runs {
            let entry = directory.of_service(&run.service);
            run.host = entry.map(|entry| entry.answering_host().to_owned());
        }
        Ok(runs)
    }

    /// The rows of an SQL query of the server's own tables.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the query, or the rows are of another type.
    pub async fn query<T: DeserializeOwned>(&self, query: &str) -> Result<Vec<T>, StepRefusal> {
        let url = self.admin_url("query");
        let body = json!({"query": query});
        let (mut status, mut text) = self.send(Method::POST, &url, Some(&body)).await?;
        for _ in 0..REPEATED_QUERIES {
            if !status.is_server_error() {
                break;
            }
            // a server that has just started does not know its parts yet
            tokio::time::sleep(BETWEEN_QUERIES).await;
            (status, text) = self.send(Method::POST, &url, Some(&body)).await?;
        }
        if !status.is_success() {
            return Err(server_refusal("list its runs", status, &text));
        }
        let read = serde_json::from_str(&text).map(|ServerRows { rows }| rows);
        read.map_err(|error| StepRefusal {
            message: format!("the server's list cannot be read: {error}"),
            hint: None,
        })
    }

    /// # Errors
    /// The address for runs does not answer.
    pub async fn ingress_answers(&self) -> Result<(), StepRefusal> {
        let url = self.ingress_url("restate/health");
        let (status, text) = self.send::<Value>(Method::GET, &url, None).await?;
        if status.is_success() { Ok(()) } else { Err(server_refusal("take runs", status, &text)) }
    }

    /// The clock of the server.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn server_time_ms(&self) -> Result<i64, StepRefusal> {
        let query = "SELECT CAST(to_timestamp_millis(now()) AS BIGINT) AS ms";
        let rows: Vec<ServerTime> = self.query(query).await?;
        rows.first().map(|row| row.ms).ok_or_else(|| StepRefusal {
            message: "the Restate server does not say what time it is".to_owned(),
            hint: Some("`synthdev backend doctor` says whether it is of the right version".to_owned()),
        })
    }

    /// The clock of the host of a service.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn host_time_ms(&self, service: &str) -> Result<i64, StepRefusal> {
        let placed = PlacedRun { service: service.to_owned(), id: RunId::from("host") };
        let (status, text) =
            self.send::<Value>(Method::POST, &self.handler_url(&placed, "clock"), None).await?;
        match text.trim().parse() {
            Ok(time) if status.is_success() => Ok(time),
            _ => Err(server_refusal("reach the host", status, &text)),
        }
    }

    /// How long the server lets a step of a service last; `None`: it does not say.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn longest_step_seconds(&self, service: &str) -> Result<Option<u64>, StepRefusal> {
        let url = self.admin_url(&format!("services/{service}"));
        let (status, text) = self.send::<Value>(Method::GET, &url, None).await?;
        if !status.is_success() {
            return Err(server_refusal("tell the times of the host", status, &text));
        }
        let told: Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(told["abort_timeout"].as_str().and_then(parse_seconds))
    }

    /// The version of the server.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn server_version(&self) -> Result<String, StepRefusal> {
        let (status, text) = self.send::<Value>(Method::GET, &self.admin_url("version"), None).await?;
        if status != StatusCode::OK {
            return Err(server_refusal("tell its version", status, &text));
        }
        let told: Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(told["version"].as_str().unwrap_or("unknown").to_owned())
    }
}

/// As the server writes a time: `2h`, `1h 30m`, `90s`, also `2 hours` and `PT2H`.
fn parse_seconds(text: &str) -> Option<u64> {
    let text = text.trim_start_matches("PT").to_lowercase();
    let (mut seconds, mut number) = (0, None::<u64>);
    let mut letters = text.chars().filter(|letter| !letter.is_whitespace()).peekable();
    while let Some(letter) = letters.next() {
        if let Some(digit) = letter.to_digit(10) {
            number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit))?);
            continue;
        }
        let mut unit = letter.to_string();
        while let Some(more) = letters.next_if(|more| more.is_alphabetic()) {
            unit.push(more);
        }
        let factor = match unit.as_str() {
            "ms" => 0,
            unit if unit.starts_with('d') => 86_400,
            unit if unit.starts_with('h') => 3_600,
            unit if unit.starts_with('m') => 60,
            unit if unit.starts_with('s') => 1,
            _ => return None,
        };
        seconds = number.take()?.checked_mul(factor)?.checked_add(seconds)?;
    }
    number.is_none().then_some(seconds)
}

fn no_host(project: &ProjectPlace, directory: &HostDirectory) -> StepRefusal {
    let mut known: Vec<&str> =
        directory.entries.iter().map(|entry| entry.description.project.path.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let known = if let Some(unreadable) = directory.unreadable.first() {
        unreadable.message.clone()
    } else if known.is_empty() {
        "no worker has registered with this server".to_owned()
    } else {
        format!("its workers serve {}", known.join(", "))
    };
    StepRefusal {
        message: format!("no worker of the Restate server has the project {}: {known}", project.path),
        hint: Some("start one in a copy of the project with `synthdev worker`".to_owned()),
    }
}

fn unknown_run(run: &RunId) -> StepRefusal {
    StepRefusal {
        message: format!("the Restate server has no run {run}"),
        hint: Some("`synthdev runs list --backend restate` shows those that it has".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_server_are_read() {
        for (text, seconds) in [
            ("2h", Some(7_200)),
            ("1h 30m", Some(5_400)),
            ("2 hours", Some(7_200)),
            ("PT10M", Some(600)),
            ("90s", Some(90)),
            ("1m500ms", Some(60)),
            ("soon", None),
            ("7", None),
            ("9223372036854775807d", None),
        ] {
            assert_eq!(parse_seconds(text), seconds, "{text}");
        }
    }
}
