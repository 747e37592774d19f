//! A number of `calculate`: a decimal as long as it is exact, then a floating-point number.

use std::fmt;

/// Most digits after the point that a division may make before it counts as endless.
const QUOTIENT_DIGITS: u32 = 28;

/// Most digits after the point that are kept exactly.
const SCALE_LIMIT: u32 = 38;

#[derive(Clone, Copy, Debug)]
pub(super) enum ExactNumber {
    /// `mantissa` divided by ten to the power of `scale`.
    Decimal {
        mantissa: i128,
        scale: u32,
    },
    Float(f64),
}

impl ExactNumber {
    pub(super) fn integer(value: i128) -> Self {
        Self::Decimal { mantissa: value, scale: 0 }
    }

    /// From digits with at most one dot and an exponent; `None`: it is none.
    pub(super) fn from_literal(text: &str) -> Option<Self> {
        let text = text.replace('_', "");
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let approximate = text.parse::<f64>().ok()?;
        let exact = || {
            let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
            let scale = i64::try_from(fraction.len()).ok()? - exponent.parse::<i64>().ok()?;
            match u32::try_from(scale) {
                Ok(scale) => Some(Self::Decimal { mantissa, scale }.normalize()?),
                Err(_) => {
                    let factor = 10_i128.checked_pow(u32::try_from(-scale).ok()?)?;
                    Some(Self::integer(mantissa.checked_mul(factor)?))
                }
            }
        };
        Some(exact().unwrap_or(Self::Float(approximate)))
    }

    pub(super) fn is_exact(self) -> bool {
        matches!(self, Self::Decimal { .. })
    }

    #[expect(clippy::cast_precision_loss, reason = "a floating-point number is asked for")]
    pub(super) fn to_float(self) -> f64 {
        match self {
            // by its text: a division would round twice
            Self::Decimal { mantissa, scale } => {
                format!("{mantissa}e-{scale}").parse().unwrap_or(mantissa as f64)
            }
            Self::Float(value) => value,
        }
    }

    /// As a whole number, if it is one exactly.
    pub(super) fn to_integer(self) -> Option<i128> {
        match self {
            Self::Decimal { mantissa, scale: 0 } => Some(mantissa),
            Self::Decimal { .. } => None,
            #[expect(clippy::cast_possible_truncation, reason = "whole and far below the largest")]
            Self::Float(value) => (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i128),
        }
    }

    /// Without zeros at the end of the fraction. `None`: it is too small to be kept exactly.
    fn normalize(self) -> Option<Self> {
        let Self::Decimal { mut mantissa, mut scale } = self else { return Some(self) };
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        (scale <= SCALE_LIMIT).then_some(Self::Decimal { mantissa, scale })
    }

    pub(super) fn negate(self) -> Self {
        match self {
            Self::Decimal { mantissa, scale } => match mantissa.checked_neg() {
                Some(mantissa) => Self::Decimal { mantissa, scale },
                None => Self::Float(-self.to_float()),
            },
            Self::Float(value) => Self::Float(-value),
        }
    }

    pub(super) fn add(self, other: Self) -> Self {
        let exact = || {
            let (left, right, scale) = align(self, other)?;
            Self::Decimal { mantissa: left.checked_add(right)?, scale }.normalize()
        };
        exact().unwrap_or_else(|| Self::Float(self.to_float() + other.to_float()))
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        let exact = || match (self, other) {
            (Self::Decimal { mantissa: a, scale: p }, Self::Decimal { mantissa: b, scale: q }) => {
                Self::Decimal { mantissa: a.checked_mul(b)?, scale: p + q }.normalize()
            }
            _ => None,
        };
        exact().unwrap_or_else(|| Self::Float(self.to_float() * other.to_float()))
    }

    /// `None`: the divisor is zero.
    pub(super) fn divide(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let exact = || {
            let (left, right, _) = align(self, other)?;
            let (mut quotient, mut rest) = (left.checked_div(right)?, left.checked_rem(right)?);
            let mut scale = 0;
            while rest != 0 {
                if scale == QUOTIENT_DIGITS {
                    return None;
                }
                rest = rest.checked_mul(10)?;
                quotient = quotient.checked_mul(10)?.checked_add(rest / right)?;
                rest %= right;
                scale += 1;
            }
            Self::Decimal { mantissa: quotient, scale }.normalize()
        };
        Some(exact().unwrap_or_else(|| Self::Float(self.to_float() / other.to_float())))
    }

    /// With the sign of the dividend. `None`: the divisor is zero.
    pub(super) fn remainder(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let exact = || {
            let (left, right, scale) = align(self, other)?;
            Self::Decimal { mantissa: left.checked_rem(right)?, scale }.normalize()
        };
        Some(exact().unwrap_or_else(|| Self::Float(self.to_float() % other.to_float())))
    }

    /// `None`: zero to a negative power.
    pub(super) fn power(self, exponent: Self) -> Option<Self> {
        let float = Self::Float(self.to_float().powf(exponent.to_float()));
        let Some(times) = exponent.to_integer().filter(|_| exponent.is_exact() && self.is_exact()) else {
            return Some(float);
        };
        if times < 0 {
            return Self::integer(1).divide(self.power(exponent.negate())?);
        }
        let exact = || {
            let Self::Decimal { mantissa, scale } = self else { return None };
            let times = u32::try_from(times).ok()?;
            let scale = scale.checked_mul(times)?;
            Self::Decimal { mantissa: mantissa.checked_pow(times)?, scale }.normalize()
        };
        Some(exact().unwrap_or(float))
    }

    /// To a number of digits after the point; halves go away from zero.
    pub(super) fn round_to(self, digits: i32) -> Self {
        let Self::Decimal { mantissa, scale } = self else {
            let factor = 10_f64.powi(digits);
            return Self::Float((self.to_float() * factor).round() / factor);
        };
        let dropped = i64::from(scale) - i64::from(digits);
        let exact = || {
            let unit = 10_i128.checked_pow(u32::try_from(dropped).ok()?)?;
            let half = unit / 2 * mantissa.signum();
            let kept = mantissa.checked_add(half)? / unit;
            match u32::try_from(digits) {
                Ok(digits) => Self::Decimal { mantissa: kept, scale: digits }.normalize(),
                Err(_) => {
                    let factor = 10_i128.checked_pow(digits.unsigned_abs())?;
                    Some(Self::integer(kept.checked_mul(factor)?))
                }
            }
        };
        if dropped <= 0 { self } else { exact().unwrap_or(Self::integer(0)) }
    }

    /// The whole number that `direction` gives. `away`: the sign of the numbers that it takes away from zero, or 0.
    pub(super) fn to_whole(self, direction: fn(f64) -> f64, away: i128) -> Self {
        let Self::Decimal { mantissa, scale } = self else { return Self::Float(direction(self.to_float())) };
        let Some(unit) = 10_i128.checked_pow(scale) else { return Self::Float(direction(self.to_float())) };
        let (whole, rest) = (mantissa / unit, mantissa % unit);
        Self::integer(whole + if rest != 0 && rest.signum() == away { away } else { 0 })
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Decimal { mantissa, .. } => mantissa == 0,
            Self::Float(value) => value == 0.0,
        }
    }

    pub(super) fn is_less(self, other: Self) -> bool {
        match align(self, other) {
            Some((left, right, _)) => left < right,
            None => self.to_float() < other.to_float(),
        }
    }
}

/// Both mantissas at one scale; `None`: one of them is no exact number, or becomes too long.
fn align(left: ExactNumber, right: ExactNumber) -> Option<(i128, i128, u32)> {
    let (ExactNumber::Decimal { mantissa: a, scale: p }, ExactNumber::Decimal { mantissa: b, scale: q }) =
        (left, right)
    else {
        return None;
    };
    let scale = p.max(q);
    let stretch = |mantissa: i128, from: u32| mantissa.checked_mul(10_i128.checked_pow(scale - from)?);
    Some((stretch(a, p)?, stretch(b, q)?, scale))
}

impl fmt::Display for ExactNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Decimal { mantissa, scale: 0 } => write!(f, "{mantissa}"),
            Self::Decimal { mantissa, scale } => {
                let digits = format!("{:0>width$}", mantissa.unsigned_abs(), width = scale as usize + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
                write!(f, "{}{whole}.{fraction}", if mantissa < 0 { "-" } else { "" })
            }
            Self::Float(value) => {
                // the last digits of a floating-point number are noise of its calculation
                let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
                let size = rounded.abs();
                if size != 0.0 && !(1e-6..1e21).contains(&size) {
                    write!(f, "{rounded:e}")
                } else {
                    write!(f, "{rounded}")
                }
            }
        }
    }
}
