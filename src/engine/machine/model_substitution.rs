//! The model that a server says has answered: reports, once, that it is not the requested one.

use super::Machine;
use synthdev_domain::model::{DELEGATED_MODEL, ModelChoice, ModelReply};

impl Machine {
    pub(super) fn warn_substitution(&mut self, choice: &ModelChoice, reply: &ModelReply) {
        let Some(served) = reply.model.as_deref() else { return };
        // a sub-agent does not say which model has answered
        if served == DELEGATED_MODEL || !choice.is_substituted_by(Some(served)) {
            return;
        }
        let pair = (choice.model.clone(), served.to_owned());
        if self.reported_substitutions.insert(pair) {
            let (asked, provider) = (&choice.model, &choice.provider);
            let mut text =
                format!("{provider} was asked for the model `{asked}` and says that `{served}` answered");
            if self.core.spec.charges_every_attempt() && reply.price.is_none() && choice.price.is_some() {
                text.push_str(", whose price is not known: its calls are not counted in dollars");
            }
            self.core.emit_warning("model_substituted", text);
        }
    }
}
