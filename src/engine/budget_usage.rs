//! What was spent of a budget, by the whole run, an agent or one stay in a state; when a hard end is reached, and how
//! much of an answer there is room for before it.

use serde::{Deserialize, Serialize};
use synthdev_domain::cost::{TokenPrice, TokenUsage};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::model::LEAST_ANSWER;
use synthdev_domain::workflow::Budget;

/// The three kinds of a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BudgetUnit {
    Tokens,
    Cost,
    Duration,
}

impl BudgetUnit {
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

    /// How many counted units make one unit of the file: dollars, tokens, seconds.
    pub fn divisor(self) -> f64 {
        match self {
            Self::Tokens | Self::Cost => 1.0,
            Self::Duration => 1_000.0,
        }
    }

    /// An amount for display.
    pub fn format_amount(self, amount: f64) -> String {
        match self {
            Self::Tokens => format!("{amount:.0} tokens"),
            Self::Cost => format!("${amount:.4}"),
            Self::Duration => format!("{:.1} s", amount / 1000.0),
        }
    }

    /// The soft and the hard end of a budget. Tokens and milliseconds fit a float exactly up to 2^53.
    #[expect(clippy::cast_precision_loss, reason = "amounts stay far below 2^53")]
    pub fn soft_and_hard(self, budget: &Budget) -> (Option<f64>, Option<f64>) {
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

/// Where a budget has no soft end, its hard one warns when so much of it is used.
const WARNS_AT: f64 = 0.8;
/// Of a small budget, an answer that takes so much is worth its prompt.
const WORTH: f64 = 0.1;

/// The most that a model call can use.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CallUsageBound {
    /// Tokens, with what is known of how its model counts.
    pub prompt: u64,
    /// Tokens as they were measured.
    pub measured_tokens: u64,
    /// Tokens of the longest answer.
    pub answer: u64,
    /// No shorter answer can be asked for.
    pub min_answer: u64,
    /// The length of an answer cannot be limited.
    pub is_uncapped: bool,
    /// An unknown price counts as nothing.
    pub price: Option<TokenPrice>,
}

impl CallUsageBound {
    /// With an answer of that length.
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    pub fn estimate_with_answer(&self, answer: u64) -> CallEstimate {
        let (prompt, answer) = (self.prompt as f64, answer as f64);
        let price = self.price.unwrap_or_default();
        let cost_usd = (prompt * price.max_input_price() + answer * price.output) / 1_000_000.0;
        CallEstimate { tokens: prompt + answer, cost_usd }
    }

    /// The longest answer, up to what is asked for, that has room beside the prompt. `None`: not even the prompt has.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates here")]
    pub fn answer_within(&self, kind: BudgetUnit, room: f64) -> Option<u64> {
        let left = room - self.estimate_with_answer(0).amount(kind);
        if left < 0.0 {
            return None;
        }
        let each = Self { prompt: 0, ..*self }.estimate_with_answer(1).amount(kind);
        if self.estimate_with_answer(self.answer).amount(kind) <= room || each <= 0.0 {
            return Some(self.answer);
        }
        let longest = (left / each).floor() as u64;
        // what was divided may come out a digit too large
        Some(if self.estimate_with_answer(longest).amount(kind) <= room {
            longest
        } else {
            longest.saturating_sub(1)
        })
    }

    /// The shortest answer that is worth asking for, in a budget with that hard end.
    pub fn min_useful_answer(&self, kind: BudgetUnit, hard: f64) -> u64 {
        if self.is_uncapped {
            return self.answer;
        }
        let alone = Self { prompt: 0, ..*self };
        let part = alone.answer_within(kind, hard * WORTH).unwrap_or(0);
        LEAST_ANSWER.min(part).min(self.answer).max(self.min_answer.max(1))
    }
}

/// What a model call will use, as far as it can be known before.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CallEstimate {
    pub tokens: f64,
    pub cost_usd: f64,
}

impl CallEstimate {
    pub fn amount(self, kind: BudgetUnit) -> f64 {
        match kind {
            BudgetUnit::Tokens => self.tokens,
            BudgetUnit::Cost => self.cost_usd,
            BudgetUnit::Duration => 0.0,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BudgetUsage {
    pub started_at: Timestamp,
    /// No time has counted since.
    stopped_at: Option<Timestamp>,
    tokens: u64,
    cost_usd: f64,
    /// On top of the hard ends, by kind.
    granted_extra: [f64; 3],
    soft_limit_warned: [bool; 3],
}

/// What an agent spent, wherever it was asked. Names survive a change of the definition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AgentBudgetUsage {
    pub workflow: String,
    pub agent: String,
    pub budget_usage: BudgetUsage,
}

impl BudgetUsage {
    pub fn open(now: Timestamp) -> Self {
        Self { started_at: now, ..Self::default() }
    }

    /// An unknown price counts as nothing.
    pub fn add_usage(&mut self, usage: &TokenUsage, cost_usd: Option<f64>) {
        self.tokens = self.tokens.saturating_add(usage.total());
        self.cost_usd += cost_usd.unwrap_or(0.0);
    }

    /// So many milliseconds do not count.
    pub fn exclude_time(&mut self, gap: i64) {
        self.started_at.0 = self.started_at.0.saturating_add(gap);
    }

    /// Stops its clock.
    pub fn pause_clock(&mut self, now: Timestamp) {
        self.stopped_at.get_or_insert(now);
    }

    /// Continues its clock where it stopped.
    pub fn resume_clock(&mut self, now: Timestamp) {
        if let Some(since) = self.stopped_at.take() {
            self.exclude_time(now.0.saturating_sub(since.0));
        }
    }

    pub fn is_clock_paused(&self) -> bool {
        self.stopped_at.is_some()
    }

    #[expect(clippy::cast_precision_loss, reason = "amounts stay far below 2^53")]
    pub fn used_amount(&self, kind: BudgetUnit, now: Timestamp) -> f64 {
        match kind {
            BudgetUnit::Tokens => self.tokens as f64,
            BudgetUnit::Cost => self.cost_usd,
            BudgetUnit::Duration => now.0.saturating_sub(self.started_at.0).max(0) as f64,
        }
    }

    pub fn grant_more(&mut self, kind: BudgetUnit, more: f64) {
        self.granted_extra[kind.index()] += more;
    }

    /// The hard end with what was granted on top.
    pub fn hard_limit(&self, kind: BudgetUnit, budget: &Budget) -> Option<f64> {
        kind.soft_and_hard(budget).1.map(|hard| hard + self.granted_extra[kind.index()])
    }

    /// Once: the soft end of this kind that is reached. Without one in the file, `foresees` takes it from the hard one.
    pub fn reached_soft_limit(
        &mut self,
        kind: BudgetUnit,
        budget: &Budget,
        now: Timestamp,
        foresees: bool,
    ) -> Option<f64> {
        let (soft, hard) = kind.soft_and_hard(budget);
        let soft = soft.or(hard.filter(|_| foresees).map(|hard| hard * WARNS_AT))?;
        let reached = self.used_amount(kind, now) >= soft;
        (reached && !std::mem::replace(&mut self.soft_limit_warned[kind.index()], true)).then_some(soft)
    }
}
