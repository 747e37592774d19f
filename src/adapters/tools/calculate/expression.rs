//! From the text of an expression to its value, in one pass.
//! Errors name the place by its column, counted from 1.

use std::f64::consts;

use super::exact_number::ExactNumber;

pub(super) const CONSTANTS: [(&str, f64); 3] = [("pi", consts::PI), ("e", consts::E), ("tau", consts::TAU)];

pub(super) const FUNCTIONS: [&str; 28] = [
    "abs",
    "ceil",
    "floor",
    "round",
    "trunc",
    "sign",
    "min",
    "max",
    "sum",
    "avg",
    "sqrt",
    "cbrt",
    "exp",
    "ln",
    "log10",
    "log2",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "factorial",
];

/// Most parentheses, signs and powers inside of each other.
const DEPTH: usize = 100;

/// # Errors
/// What cannot be understood or has no value, with its column.
pub(super) fn evaluate_expression(text: &str) -> Result<ExactNumber, String> {
    let mut parser = ExpressionParser { text, at: 0, depth: 0 };
    let value = parser.parse_sum()?;
    parser.skip_space();
    match parser.rest().chars().next() {
        None => Ok(value),
        Some(found) => Err(parser.problem(&match found {
            ')' => "there is a `)` without a `(`".to_owned(),
            ',' => "a `,` only separates the arguments of a function; a decimal point is a dot".to_owned(),
            '=' | '<' | '>' | '&' | '|' => {
                format!("`{found}` is no arithmetic operator; use execute_script for comparisons and logic")
            }
            other => format!("an operator is missing before `{other}`"),
        })),
    }
}

struct ExpressionParser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> ExpressionParser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes the first of these that stands here.
    fn take_symbol(&mut self, symbols: &[&'static str]) -> Option<&'static str> {
        self.skip_space();
        let found = symbols.iter().copied().find(|symbol| self.rest().starts_with(symbol))?;
        self.at += found.len();
        Some(found)
    }

    fn problem(&self, what: &str) -> String {
        self.problem_at(self.at, what)
    }

    fn problem_at(&self, at: usize, what: &str) -> String {
        let column = self.text.get(..at).unwrap_or(self.text).chars().count() + 1;
        format!("`expression`, column {column}: {what}")
    }

    fn parse_sum(&mut self) -> Result<ExactNumber, String> {
        let mut value = self.parse_product()?;
        while let Some(operator) = self.take_symbol(&["+", "-", "−"]) {
            let right = self.parse_product()?;
            value = value.add(if operator == "+" { right } else { right.negate() });
        }
        self.check_value(value, self.at)
    }

    fn parse_product(&mut self) -> Result<ExactNumber, String> {
        let mut value = self.parse_sign()?;
        loop {
            self.skip_space();
            let at = self.at;
            let Some(operator) = self.take_symbol(&["*", "/", "%", "×", "÷", "·"]) else {
                return Ok(value);
            };
            let right = self.parse_sign()?;
            let result = match operator {
                "/" | "÷" => value.divide(right),
                "%" => value.remainder(right),
                _ => Some(value.multiply(right)),
            };
            value = result.ok_or_else(|| self.problem_at(at, "division by zero"))?;
        }
    }

    /// A sign binds less than a power.
    fn parse_sign(&mut self) -> Result<ExactNumber, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.problem(&format!("more than {DEPTH} levels inside of each other")));
        }
        let value = match self.take_symbol(&["+", "-", "−"]) {
            Some("+") => self.parse_sign(),
            Some(_) => self.parse_sign().map(ExactNumber::negate),
            None => self.parse_power(),
        };
        self.depth -= 1;
        value
    }

    fn parse_power(&mut self) -> Result<ExactNumber, String> {
        let base = self.parse_operand()?;
        self.skip_space();
        let at = self.at;
        if self.take_symbol(&["**", "^"]).is_none() {
            return Ok(base);
        }
        // from the right: 2^3^2 is 2^9
        let exponent = self.parse_sign()?;
        let value = base.power(exponent);
        let value =
            value.ok_or_else(|| self.problem_at(at, "zero to a negative power is a division by zero"))?;
        self.check_value(value, at)
    }

    fn parse_operand(&mut self) -> Result<ExactNumber, String> {
        if self.take_symbol(&["("]).is_some() {
            let value = self.parse_sum()?;
            return match self.take_symbol(&[")"]) {
                Some(_) => Ok(value),
                None => Err(self.problem("a `)` is missing")),
            };
        }
        let start = self.at;
        match self.rest().chars().next() {
            None => Err(self.problem("a number is missing at the end")),
            Some(first) if first.is_ascii_digit() || first == '.' => self.parse_number(start),
            Some(first) if first.is_alphabetic() => self.parse_name(start),
            Some(first) => Err(self.problem(&format!("a number is missing before `{first}`"))),
        }
    }

    fn parse_number(&mut self, start: usize) -> Result<ExactNumber, String> {
        let bytes = self.text.as_bytes();
        let mut end = start;
        while let Some(byte) = bytes.get(end) {
            let is_exponent = matches!(byte, b'e' | b'E')
                && bytes
                    .get(end + 1)
                    .is_some_and(|next| next.is_ascii_digit() || matches!(next, b'+' | b'-'));
            let is_sign =
                matches!(byte, b'+' | b'-') && matches!(bytes.get(end - 1), Some(b'e' | b'E')) && end > start;
            if !(byte.is_ascii_digit() || matches!(byte, b'.' | b'_') || is_exponent || is_sign) {
                break;
            }
            end += 1;
        }
        self.at = end;
        let literal = self.text.get(start..end).unwrap_or_default();
        ExactNumber::from_literal(literal)
            .ok_or_else(|| self.problem_at(start, &format!("`{literal}` is no number")))
    }

    fn parse_name(&mut self, start: usize) -> Result<ExactNumber, String> {
        let name: String = self.rest().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        self.at += name.len();
        if self.take_symbol(&["("]).is_some() {
            let arguments = self.parse_arguments(&name)?;
            let value = call_function(&name, &arguments).map_err(|what| self.problem_at(start, &what))?;
            return self.check_value(value, start);
        }
        let constant = CONSTANTS.iter().find(|(known, _)| *known == name);
        constant.map(|(_, value)| ExactNumber::Float(*value)).ok_or_else(|| {
            let what = if FUNCTIONS.contains(&name.as_str()) {
                format!("`{name}` needs its arguments in parentheses")
            } else {
                let known = CONSTANTS.map(|(known, _)| known).join(", ");
                format!("there is no constant `{name}`; there are {known}, and no variables")
            };
            self.problem_at(start, &what)
        })
    }

    fn parse_arguments(&mut self, function: &str) -> Result<Vec<ExactNumber>, String> {
        let mut arguments = Vec::new();
        if self.take_symbol(&[")"]).is_some() {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.parse_sum()?);
            match self.take_symbol(&[",", ")"]) {
                Some(",") => {}
                Some(_) => return Ok(arguments),
                None => {
                    return Err(
                        self.problem(&format!("a `)` is missing after the arguments of `{function}`"))
                    );
                }
            }
        }
    }

    fn check_value(&self, value: ExactNumber, at: usize) -> Result<ExactNumber, String> {
        match value {
            ExactNumber::Float(number) if number.is_nan() => {
                Err(self.problem_at(at, "the result is no real number"))
            }
            ExactNumber::Float(number) if number.is_infinite() => {
                Err(self.problem_at(at, "the result is larger than any number here (1.8e308)"))
            }
            value => Ok(value),
        }
    }
}

fn call_function(name: &str, arguments: &[ExactNumber]) -> Result<ExactNumber, String> {
    let float = |function: fn(f64) -> f64| match arguments {
        [only] => Ok(ExactNumber::Float(function(only.to_float()))),
        _ => Err(format!("`{name}` takes one argument")),
    };
    match name {
        "round" => round_number(arguments),
        "min" | "max" | "sum" | "avg" => fold_list(name, arguments),
        "log" | "atan2" => call_with_two(name, arguments),
        "abs" | "ceil" | "floor" | "trunc" | "sign" | "sqrt" | "factorial" => match arguments {
            [only] => call_exact(name, *only),
            _ => Err(format!("`{name}` takes one argument")),
        },
        "cbrt" => float(f64::cbrt),
        "exp" => float(f64::exp),
        "ln" => float(f64::ln),
        "log10" => float(f64::log10),
        "log2" => float(f64::log2),
        "sin" => float(f64::sin),
        "cos" => float(f64::cos),
        "tan" => float(f64::tan),
        "asin" => float(f64::asin),
        "acos" => float(f64::acos),
        "atan" => float(f64::atan),
        "sinh" => float(f64::sinh),
        "cosh" => float(f64::cosh),
        "tanh" => float(f64::tanh),
        _ => Err(format!("there is no function `{name}`; there are {}", FUNCTIONS.join(", "))),
    }
}

/// Functions whose result is exact where their argument is.
fn call_exact(name: &str, value: ExactNumber) -> Result<ExactNumber, String> {
    let zero = ExactNumber::integer(0);
    Ok(match name {
        "abs" if value.is_less(zero) => value.negate(),
        "abs" => value,
        "ceil" => value.to_whole(f64::ceil, 1),
        "floor" => value.to_whole(f64::floor, -1),
        "trunc" => value.to_whole(f64::trunc, 0),
        "sign" if value.is_less(zero) => ExactNumber::integer(-1),
        "sign" => ExactNumber::integer(zero.is_less(value).into()),
        "sqrt" => match value.to_integer().filter(|whole| *whole >= 0) {
            Some(whole) if whole.isqrt() * whole.isqrt() == whole => ExactNumber::integer(whole.isqrt()),
            _ => ExactNumber::Float(value.to_float().sqrt()),
        },
        _ => match value.to_integer() {
            Some(whole @ 0..=170) => {
                (2..=whole).map(ExactNumber::integer).fold(ExactNumber::integer(1), ExactNumber::multiply)
            }
            _ => return Err("`factorial` takes a whole number from 0 to 170".to_owned()),
        },
    })
}

fn round_number(arguments: &[ExactNumber]) -> Result<ExactNumber, String> {
    let (value, digits) = match arguments {
        [value] => (value, 0),
        [value, digits] => match digits.to_integer().and_then(|digits| i32::try_from(digits).ok()) {
            Some(digits @ -30..=30) => (value, digits),
            _ => return Err("the second argument of `round` is a whole number from -30 to 30".to_owned()),
        },
        _ => return Err("`round` takes a number and, if you like, the digits after the point".to_owned()),
    };
    Ok(value.round_to(digits))
}

fn fold_list(name: &str, arguments: &[ExactNumber]) -> Result<ExactNumber, String> {
    let Some((first, others)) = arguments.split_first() else {
        return Err(format!("`{name}` takes at least one argument"));
    };
    let pick = |best: ExactNumber, next: &ExactNumber| match name {
        "min" if next.is_less(best) => *next,
        "max" if best.is_less(*next) => *next,
        "sum" | "avg" => best.add(*next),
        _ => best,
    };
    let value = others.iter().fold(*first, pick);
    let count = i128::try_from(arguments.len()).unwrap_or(1);
    Ok(if name == "avg" { value.divide(ExactNumber::integer(count)).unwrap_or(value) } else { value })
}

fn call_with_two(name: &str, arguments: &[ExactNumber]) -> Result<ExactNumber, String> {
    let [first, second] = arguments else {
        return Err(match name {
            "log" => "`log` takes a number and a base: log(8, 2); else use ln, log10 or log2".to_owned(),
            _ => format!("`{name}` takes two arguments"),
        });
    };
    let (first, second) = (first.to_float(), second.to_float());
    Ok(ExactNumber::Float(match name {
        "log" => first.log(second),
        _ => first.atan2(second),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("0.1 + 0.2", "0.3"),
            ("1.10 * 3", "3.3"),
            ("199.99 * 1.19", "237.9881"),
            ("round(199.99 * 1.19, 2)", "237.99"),
            ("-2^2", "-4"),
            ("2^3^2", "512"),
            ("2 ** -2", "0.25"),
            ("2^64 - 1", "18446744073709551615"),
            ("2^120", "1329227995784915872903807060280344576"),
            ("10^40", "1e40"),
            ("7 % 3 - -7 % 3", "2"),
            ("5.5 % 2", "1.5"),
            ("1 / 8", "0.125"),
            ("1 / 3", "0.333333333333333"),
            ("1e3 + 1.5e-3", "1000.0015"),
            ("1_000 * .5", "500"),
            ("sqrt(2)^2", "2"),
            ("sqrt(144)", "12"),
            ("log(1024, 2)", "10"),
            ("sin(pi / 2) + cos(0)", "2"),
            ("min(3, 1.5, 2) + max(3, 1.5)", "4.5"),
            ("avg(1, 2, 4, 5)", "3"),
            ("floor(-1.5) + ceil(-1.5) + trunc(1.9)", "-2"),
            ("round(-2.5) + round(2.5)", "0"),
            ("round(1234.5, -2)", "1200"),
            ("abs(-0.05)", "0.05"),
            ("factorial(20)", "2432902008176640000"),
            ("6 ÷ 4 × 2 − 1", "2"),
            ("1.2e300 * 2", "2.4e300"),
        ] {
            match evaluate_expression(text) {
                Ok(value) => assert_eq!(value.to_string(), expected, "{text}"),
                Err(problem) => panic!("{text}: {problem}"),
            }
        }
    }

    #[test]
    fn what_has_no_value_is_named_with_its_column() {
        let deep = format!("{}1", "(".repeat(200));
        for (text, expected) in [
            ("", "column 1: a number is missing at the end"),
            ("1 +", "column 4: a number is missing at the end"),
            ("1 2", "column 3: an operator is missing before `2`"),
            ("2x", "column 2: an operator is missing before `x`"),
            ("(1 + 2", "column 7: a `)` is missing"),
            ("1)", "column 2: there is a `)` without a `(`"),
            ("1,5 + 2", "column 2: a `,` only separates"),
            ("1.2.3", "column 1: `1.2.3` is no number"),
            ("3 / (2 - 2)", "column 3: division by zero"),
            ("3 % 0", "column 3: division by zero"),
            ("0 ^ -1", "column 3: zero to a negative power"),
            ("sqrt(-1)", "column 1: the result is no real number"),
            ("(-8) ^ 0.5", "column 6: the result is no real number"),
            ("exp(1000)", "column 1: the result is larger"),
            ("10^300 * 10^300", "the result is larger"),
            ("price * 2", "column 1: there is no constant `price`"),
            ("1 + system(1)", "column 5: there is no function `system`"),
            ("sin", "column 1: `sin` needs its arguments"),
            ("log(8)", "column 1: `log` takes a number and a base"),
            ("sqrt(1, 2)", "column 1: `sqrt` takes one argument"),
            ("min()", "at least one argument"),
            ("factorial(2.5)", "whole number from 0 to 170"),
            ("1 < 2", "column 3: `<` is no arithmetic operator"),
            ("ü + * 2", "column 1: there is no constant `ü`"),
            (&deep, "more than 100 levels"),
        ] {
            match evaluate_expression(text) {
                Err(problem) => assert!(problem.contains(expected), "{text}: {problem}"),
                Ok(value) => panic!("{text} gave {value}"),
            }
        }
    }
}
