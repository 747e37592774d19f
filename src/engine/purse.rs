//! What was spent of a budget, by the whole run or by one stay in a state, and when a hard end is reached.

use crate::domain::cost::Usage;
use crate::domain::ids::Timestamp;
use crate::domain::workflow::Budget;

/// The three kinds of a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Tokens,
    Cost,
    Duration,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Tokens, Self::Cost, Self::Duration];

    /// As in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Cost => "cost_usd",
            Self::Duration => "duration",
        }
    }

    /// The limit's name, for questions and errors.
    pub fn limit(self) -> &'static str {
        match self {
            Self::Tokens => "budget.tokens",
            Self::Cost => "budget.cost_usd",
            Self::Duration => "budget.duration",
        }
    }

    /// An amount for people.
    pub fn show(self, amount: f64) -> String {
        match self {
            Self::Tokens => format!("{amount:.0} tokens"),
            Self::Cost => format!("${amount:.4}"),
            Self::Duration => format!("{:.1} s", amount / 1000.0),
        }
    }

    /// The soft and the hard end of a budget. Tokens and milliseconds fit a float exactly up to 2^53.
    #[expect(clippy::cast_precision_loss, reason = "amounts stay far below 2^53")]
    pub fn of(self, budget: &Budget) -> (Option<f64>, Option<f64>) {
        let whole = |amount: Option<u64>| amount.map(|amount| amount as f64);
        match self {
            Self::Tokens => (whole(budget.tokens.soft), whole(budget.tokens.hard)),
            Self::Cost => (budget.cost_usd.soft, budget.cost_usd.hard),
            Self::Duration => (whole(budget.duration_ms.soft), whole(budget.duration_ms.hard)),
        }
    }

    fn index(self) -> usize {
        match self {
            Self::Tokens => 0,
            Self::Cost => 1,
            Self::Duration => 2,
        }
    }
}

/// What a model call will use, as far as it can be known before.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Estimate {
    pub tokens: f64,
    pub cost_usd: f64,
}

impl Estimate {
    pub fn of(self, kind: Kind) -> f64 {
        match kind {
            Kind::Tokens => self.tokens,
            Kind::Cost => self.cost_usd,
            Kind::Duration => 0.0,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Purse {
    pub began: Timestamp,
    tokens: u64,
    cost_usd: f64,
    /// On top of the hard ends, by kind.
    granted: [f64; 3],
    warned: [bool; 3],
}

impl Purse {
    pub fn open(now: Timestamp) -> Self {
        Self { began: now, ..Self::default() }
    }

    /// An unknown price counts as nothing.
    pub fn spend(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        self.tokens = self.tokens.saturating_add(usage.total());
        self.cost_usd += cost_usd.unwrap_or(0.0);
    }

    /// So many milliseconds do not count.
    pub fn skip(&mut self, gap: i64) {
        self.began.0 = self.began.0.saturating_add(gap);
    }

    #[expect(clippy::cast_precision_loss, reason = "amounts stay far below 2^53")]
    pub fn spent(&self, kind: Kind, now: Timestamp) -> f64 {
        match kind {
            Kind::Tokens => self.tokens as f64,
            Kind::Cost => self.cost_usd,
            Kind::Duration => now.0.saturating_sub(self.began.0).max(0) as f64,
        }
    }

    pub fn grant(&mut self, kind: Kind, more: f64) {
        self.granted[kind.index()] += more;
    }

    /// The hard end with what was granted on top.
    pub fn end(&self, kind: Kind, budget: &Budget) -> Option<f64> {
        kind.of(budget).1.map(|hard| hard + self.granted[kind.index()])
    }

    /// `true` once: the soft end of this kind is reached.
    pub fn warns(&mut self, kind: Kind, budget: &Budget, now: Timestamp) -> bool {
        let reached = kind.of(budget).0.is_some_and(|soft| self.spent(kind, now) >= soft);
        reached && !std::mem::replace(&mut self.warned[kind.index()], true)
    }
}
