//! Calls of a Restate server: its ingress, which reaches runs, and its admin address, where workers register.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde_json::Value;

use super::journaled_step::{FollowAnswer, FollowRequest, RunAnswer, RunEnd, RunSubmission, StepRefusal};
use synthdev_domain::ids::RunId;
use synthdev_domain::terminal_safe::{redact_url, redact_urls_in};

/// The server answers when a worker does: one that restarts is waited for.
const PATIENCE: Duration = Duration::from_secs(120);
/// A server that restarts is waited for: so often a request is sent again that it did not take, after a pause.
const REPEATS: u32 = 300;
const BETWEEN_REPEATS: Duration = Duration::from_millis(200);
/// One that has just started knows its workers a moment later.
const REPEATS_WITHOUT_WORKER: u32 = 25;
/// The workflow has not ended.
const NOT_READY: u16 = 470;

/// A run, and the service of the host that took it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedRun {
    pub service: String,
    pub id: RunId,
}

/// Where a server is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestateAddresses {
    pub ingress: String,
    pub admin: String,
    pub auth_token: Option<String>,
}

#[derive(Clone)]
pub struct RestateClient {
    http: reqwest::Client,
    addresses: RestateAddresses,
}

impl RestateClient {
    /// # Errors
    /// No connections can be made on this machine.
    pub fn new(addresses: RestateAddresses) -> Result<Self, StepRefusal> {
        // another part of the program may have chosen it already
        let _ = rustls::crypto::ring::default_provider().install_default();
        let built = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build();
        let http = built.map_err(|error| unreachable_server("no connection can be made", &error))?;
        Ok(Self { http, addresses })
    }

    /// Begins a run.
    ///
    /// # Errors
    /// No worker has ever registered, a run has this id, or the server cannot be reached.
    pub async fn submit(&self, run: &PlacedRun, submission: &RunSubmission) -> Result<(), StepRefusal> {
        let url = self.handler_url(run, "run/send");
        let (status, text) = self.send(Method::POST, &url, Some(submission)).await?;
        if !status.is_success() {
            return Err(server_refusal("begin the run", status, &text));
        }
        let told: Value = serde_json::from_str(&text).unwrap_or_default();
        if told["status"] == "PreviouslyAccepted" {
            return Err(StepRefusal {
                message: format!("the server has a run {} already", run.id),
                hint: None,
            });
        }
        Ok(())
    }

    /// # Errors
    /// The run cannot be read, or the server cannot be reached.
    pub async fn follow(&self, run: &PlacedRun, asked: FollowRequest) -> Result<FollowAnswer, StepRefusal> {
        let url = self.handler_url(run, "follow");
        let (status, text) = self.send_again(Method::POST, &url, Some(&asked)).await?;
        if !status.is_success() {
            return Err(server_refusal("follow the run", status, &text));
        }
        serde_json::from_str(&text).map_err(|error| StepRefusal {
            message: format!("the worker's answer cannot be read: {error}"),
            hint: Some("use the same version of the program for workers and clients".to_owned()),
        })
    }

    /// Answers a suspended run; the number of the answer. It may still turn out not to fit.
    ///
    /// # Errors
    /// It does not wait, the answer does not fit, or the server cannot be reached.
    pub async fn answer(&self, run: &PlacedRun, answer: &RunAnswer) -> Result<u64, StepRefusal> {
        let url = self.handler_url(run, "answer");
        let (status, text) = self.send(Method::POST, &url, Some(answer)).await?;
        if !status.is_success() {
            return Err(server_refusal("answer the run", status, &text));
        }
        serde_json::from_str(&text).map_err(|_| server_refusal("answer the run", status, &text))
    }

    /// Ends a run for good.
    ///
    /// # Errors
    /// It has ended, or the server cannot be reached.
    pub async fn cancel(&self, run: &PlacedRun) -> Result<(), StepRefusal> {
        let url = self.handler_url(run, "cancel");
        let (status, text) = self.send::<Value>(Method::POST, &url, None).await?;
        if status.is_success() { Ok(()) } else { Err(server_refusal("cancel the run", status, &text)) }
    }

    /// How the workflow at the server ended; `None`: it has not. One that was handed over has ended at its first host.
    ///
    /// # Errors
    /// It ended with an error, or the server cannot be reached.
    pub async fn outcome(&self, run: &PlacedRun) -> Result<Option<RunEnd>, StepRefusal> {
        let base = self.addresses.ingress.trim_end_matches('/');
        let url = format!("{base}/restate/workflow/{}/{}/output", run.service, run.id);
        let (status, text) = self.send_again::<Value>(Method::GET, &url, None).await?;
        if status.as_u16() == NOT_READY {
            return Ok(None);
        }
        if !status.is_success() {
            return Err(server_refusal("read the end of the run", status, &text));
        }
        Ok(serde_json::from_str(&text).ok())
    }

    pub(crate) fn handler_url(&self, run: &PlacedRun, handler: &str) -> String {
        format!("{}/{}/{}/{handler}", self.addresses.ingress.trim_end_matches('/'), run.service, run.id)
    }

    /// For requests that may arrive twice.
    async fn send_again<T: Serialize>(
        &self,
        method: Method,
        url: &str,
        body: Option<&T>,
    ) -> Result<(StatusCode, String), StepRefusal> {
        for repeat in 0..REPEATS {
            match self.send(method.clone(), url, body).await {
                Ok((status, text)) if !is_starting(status, &text, repeat) => return Ok((status, text)),
                Ok(_) | Err(_) => tokio::time::sleep(BETWEEN_REPEATS).await,
            }
        }
        self.send(method, url, body).await
    }

    pub(crate) fn ingress_url(&self, path: &str) -> String {
        format!("{}/{path}", self.addresses.ingress.trim_end_matches('/'))
    }

    pub(crate) fn admin_url(&self, path: &str) -> String {
        format!("{}/{path}", self.addresses.admin.trim_end_matches('/'))
    }

    pub(crate) async fn send<T: Serialize>(
        &self,
        method: Method,
        url: &str,
        body: Option<&T>,
    ) -> Result<(StatusCode, String), StepRefusal> {
        let mut request = self.http.request(method, url);
        if let Some(token) = &self.addresses.auth_token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.header("accept", "application/json").json(body);
        }
        let what = format!("the Restate server at {} does not answer", redact_url(url));
        let response = request.send().await.map_err(|error| unreachable_server(&what, &error))?;
        let status = response.status();
        let text = response.text().await.map_err(|error| unreachable_server(&what, &error))?;
        Ok((status, text))
    }
}

/// Not all parts of the server are there yet.
fn is_starting(status: StatusCode, text: &str, repeat: u32) -> bool {
    match status {
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => true,
        StatusCode::NOT_FOUND => repeat < REPEATS_WITHOUT_WORKER && text.contains("service"),
        _ => false,
    }
}

fn unreachable_server(what: &str, error: &reqwest::Error) -> StepRefusal {
    let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    StepRefusal {
        message: format!("{what}: {}", redact_urls_in(&cause)),
        hint: Some(
            "start the server (npm package @restatedev/restate-server), or set backend.restate.ingress and \
             backend.restate.admin to its addresses"
                .to_owned(),
        ),
    }
}

/// Refusals of a worker are JSON inside of the server's message.
pub(crate) fn server_refusal(what: &str, status: StatusCode, text: &str) -> StepRefusal {
    let told: Value = serde_json::from_str(text).unwrap_or_default();
    let message = told["message"].as_str().unwrap_or(text);
    if let Ok(refused) = serde_json::from_str::<StepRefusal>(message) {
        return refused;
    }
    let hint = (status == StatusCode::NOT_FOUND)
        .then(|| "no worker has registered with this server: start one with `synthdev worker`".to_owned());
    StepRefusal {
        message: format!(
            "the Restate server does not {what}: {} ({})",
            redact_urls_in(message),
            status.as_u16()
        ),
        hint,
    }
}
