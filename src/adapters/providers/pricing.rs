//! What a model costs that answered in the place of the one that was asked for, as far as the catalogue knows.
//! Never a guess: a model that is not listed has no price.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use synthdev_domain::cost::{AttemptUsage, TokenPrice};
use synthdev_domain::model::{DeltaKind, ModelChoice, is_same_model};
use synthdev_ports::model::DeltaSink;

/// Prices of one provider's models.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PriceList {
    pub models: Vec<(String, TokenPrice)>,
    /// Of every model that has none of its own: a server of one's own costs nothing, whatever it serves.
    pub default_price: Option<TokenPrice>,
}

/// Price lists by the provider's name.
pub type ProviderPriceLists = BTreeMap<String, PriceList>;

/// The price of what has answered; `None` where the choice's own counts, or none is known.
pub fn served_price(
    prices: &ProviderPriceLists,
    asked: &ModelChoice,
    served: Option<&str>,
) -> Option<TokenPrice> {
    let served = served.filter(|name| !name.is_empty())?;
    if asked.price.is_some() && is_same_model(&asked.model, served) {
        return None;
    }
    let list = prices.get(&asked.provider)?;
    let exact = list.models.iter().find(|(name, _)| name == served);
    // another way to write a name is no other model
    let listed = exact.or_else(|| list.models.iter().find(|(name, _)| is_same_model(served, name)));
    listed.map(|(_, price)| *price).or(list.default_price)
}

/// Adds the model's price to each usage report of an attempt.
pub struct PricingSink<'a> {
    sink: &'a dyn DeltaSink,
    prices: &'a ProviderPriceLists,
    requested_model: &'a ModelChoice,
    /// The model of the last lookup: every chunk reports its model.
    last_lookup: Mutex<Option<(String, Option<TokenPrice>)>>,
}

impl<'a> PricingSink<'a> {
    pub fn new(sink: &'a dyn DeltaSink, prices: &'a ProviderPriceLists, asked: &'a ModelChoice) -> Self {
        Self { sink, prices, requested_model: asked, last_lookup: Mutex::default() }
    }

    fn price(&self, served: &str) -> Option<TokenPrice> {
        let mut found = self.last_lookup.lock().unwrap_or_else(PoisonError::into_inner);
        match &*found {
            Some((name, price)) if name == served => *price,
            Some(_) | None => {
                let price = served_price(self.prices, self.requested_model, Some(served));
                *found = Some((served.to_owned(), price));
                price
            }
        }
    }
}

impl DeltaSink for PricingSink<'_> {
    fn delta(&self, kind: DeltaKind, text: &str) {
        self.sink.delta(kind, text);
    }

    fn report_usage(&self, used: AttemptUsage) {
        let price = used.model.as_deref().and_then(|served| self.price(served));
        self.sink.report_usage(AttemptUsage { price, ..used });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_has_a_price() {
        let price = |input| TokenPrice { input, output: input, ..TokenPrice::default() };
        let list = |names: &[(&str, f64)], others: Option<f64>| PriceList {
            models: names.iter().map(|(name, input)| ((*name).to_owned(), price(*input))).collect(),
            default_price: others.map(price),
        };
        let prices = ProviderPriceLists::from([
            ("paid".to_owned(), list(&[("gpt-4.1", 2.0), ("gpt-4.1-mini", 0.4)], None)),
            ("own".to_owned(), list(&[], Some(0.0))),
        ]);
        let rows = [
            ("paid", "gpt-4.1", Some(2.0), "gpt-4.1-2025-04-14", None),
            ("paid", "gpt-4.1", Some(2.0), "gpt-4.1-mini", Some(0.4)),
            ("paid", "gpt-4.1", Some(2.0), "gpt-4.1-mini-2025-04-14", Some(0.4)),
            ("paid", "gpt-4.1", Some(2.0), "gpt-5", None),
            ("paid", "gpt-4.1", Some(2.0), "", None),
            ("paid", "auto", None, "gpt-4.1-mini", Some(0.4)),
            ("own", "llama3.1", Some(0.0), "qwen3", Some(0.0)),
            ("own", "llama3.1", Some(0.0), "llama3.1:latest", None),
            ("unknown", "a", None, "b", None),
        ];
        for (provider, model, own, served, expected) in rows {
            let asked = ModelChoice {
                provider: provider.to_owned(),
                model: model.to_owned(),
                price: own.map(price),
                ..ModelChoice::default()
            };
            let found = served_price(&prices, &asked, Some(served)).map(|price| price.input);
            assert_eq!(found, expected, "{provider} {model} {served}");
        }
    }
}
