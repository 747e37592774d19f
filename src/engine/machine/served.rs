//! The model that a server says has answered: another one than was asked for is told, once (MODEL-4).

use super::Machine;
use crate::domain::model::{ModelChoice, ModelReply, is_same_model};

impl Machine {
    pub(super) fn tell_substitution(&mut self, choice: &ModelChoice, reply: &ModelReply) {
        let Some(served) = reply.model.as_deref() else { return };
        // scripted words come from no server
        if choice.base_url.is_empty() || is_same_model(&choice.model, served) {
            return;
        }
        let pair = (choice.model.clone(), served.to_owned());
        if self.substituted.insert(pair) {
            let (asked, provider) = (&choice.model, &choice.provider);
            let text =
                format!("{provider} was asked for the model `{asked}` and says that `{served}` answered");
            self.warn("model_substituted", text);
        }
    }
}
