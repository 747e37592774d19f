//! What every request to a model must hold, whatever the run did before, and an ear
//! that remembers the requests of a run.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use synthdev::domain::message::{ChatMessage, ChatRole};
use synthdev::domain::model::{ModelError, ModelReply, ModelRequest, ToolChoice};
use synthdev::ports::model::{DeltaSink, ModelPort};

/// Passes every call on and keeps its request.
pub struct Recorder {
    inner: Arc<dyn ModelPort>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl Recorder {
    pub fn new(inner: Arc<dyn ModelPort>) -> Self {
        Self { inner, requests: Mutex::default() }
    }

    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl ModelPort for Recorder {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        self.inner.call(request, sink)
    }
}

/// The first thing wrong with a request; `None` if any provider would take it.
pub fn request_fault(request: &ModelRequest) -> Option<String> {
    if let ToolChoice::Named(name) = &request.tool_choice
        && !request.parsing_tools.iter().any(|tool| tool.name == *name)
        && !request.tools.iter().any(|tool| tool.name == *name)
    {
        return Some(format!("the choice is forced to `{name}`, which is not offered"));
    }
    messages_fault(&request.messages)
}

fn messages_fault(messages: &[ChatMessage]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let said = format!("message {at} ({})", message.role.as_str());
        if message.role == ChatRole::Tool {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            if open.first() != Some(&id) {
                return Some(format!("{said} answers `{id}`, open are {open:?}"));
            }
            open.remove(0);
        } else if !open.is_empty() {
            return Some(format!("{said} stands before the answers of {open:?}"));
        }
        // Later system messages are a script's; what a wire makes of them is its adapter's business.
        if message.tool_calls.is_empty() {
            if message.content.trim().is_empty() {
                return Some(format!("{said} is empty"));
            }
        } else if message.role != ChatRole::Assistant {
            return Some(format!("{said} holds calls"));
        }
        open.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
        let mut unique = open.clone();
        unique.sort_unstable();
        unique.dedup();
        if unique.len() != open.len() {
            return Some(format!("{said} holds a call twice: {open:?}"));
        }
    }
    (!open.is_empty()).then(|| format!("nothing answers {open:?}"))
}
