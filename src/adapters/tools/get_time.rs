//! `get_time`: what time it is, or a given time elsewhere.
//! The answer is a tool's result like any other: a resumed run reads it from its journal and does not ask again.

use jiff::fmt::{rfc2822, strtime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::Deserialize;
use serde_json::json;

use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::tool_answer::ToolAnswer;
use super::truncated_output::shorten_line;

pub(super) const NAME: &str = "get_time";

#[derive(Deserialize)]
pub(super) struct GetTimeArguments {
    time_zone: Option<String>,
    format: Option<String>,
    at: Option<String>,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Get the current date and time, or convert a given time to another time zone. Examples: {} for now \
            in the time zone of this machine, {\"time_zone\": \"Asia/Tokyo\"}, {\"format\": \"%A, %d %B %Y\"}, \
            {\"at\": \"2026-03-01T09:00[Europe/Berlin]\", \"time_zone\": \"UTC\"}."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": [],
            "properties": {
                "time_zone": {"type": "string", "minLength": 1, "default": "local",
                    "description": "A name of the IANA database such as `Europe/Berlin`, `UTC`, or `local`."},
                "format": {"type": "string", "minLength": 1, "default": "iso",
                    "description": "`iso`, `rfc2822`, `unix` (seconds), or a pattern of strftime such as `%Y-%m-%d %H:%M`."},
                "at": {"type": "string", "minLength": 1,
                    "description": "The time to show, with its offset or time zone: `2026-03-01T09:00:00Z`, \
                        `2026-03-01T09:00[Asia/Tokyo]`; or seconds since 1970. Now when left out."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

pub(super) fn run_tool(arguments: &GetTimeArguments, now: Timestamp) -> ToolAnswer {
    match describe_time(arguments, now) {
        Ok((shown, time)) => ToolAnswer::success(shorten_line(&shown, 200))
            .with_fact("time_zone", time.time_zone().iana_name().unwrap_or("fixed offset"))
            .with_fact("utc_offset", time.offset().to_string())
            .with_fact("weekday", time.strftime("%A").to_string())
            .with_fact("unix", time.timestamp().as_second())
            .body(shown),
        Err(problem) => ToolAnswer::failure(problem),
    }
}

fn describe_time(arguments: &GetTimeArguments, now: Timestamp) -> Result<(String, Zoned), String> {
    let zone = find_zone(arguments.time_zone.as_deref().unwrap_or("local"))?;
    let time = match &arguments.at {
        Some(text) => parse_time(text.trim())?,
        None => now,
    }
    .to_zoned(zone);
    let shown = match arguments.format.as_deref().unwrap_or("iso") {
        "iso" => time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        "unix" => time.timestamp().as_second().to_string(),
        "rfc2822" => rfc2822::to_string(&time).map_err(|error| format!("`format`: {error}"))?,
        pattern if pattern.contains('%') => {
            strtime::format(pattern, &time).map_err(|error| format!("`format`: {error}"))?
        }
        other => {
            return Err(format!(
                "`format` is iso, rfc2822, unix or a pattern with `%` such as `%Y-%m-%d`, not `{other}`"
            ));
        }
    };
    Ok((shown, time))
}

fn find_zone(name: &str) -> Result<TimeZone, String> {
    match name {
        "local" => Ok(TimeZone::system()),
        "UTC" | "utc" | "Z" => Ok(TimeZone::UTC),
        name => TimeZone::get(name).map_err(|_| {
            format!(
                "`time_zone`: `{name}` is not in the time zone database of this machine; names are like \
                 `Europe/Berlin`, `UTC` or `local`"
            )
        }),
    }
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    let seconds = || Timestamp::from_second(text.parse().ok()?).ok();
    let zoned = || Some(text.parse::<Zoned>().ok()?.timestamp());
    text.parse().ok().or_else(zoned).or_else(seconds).ok_or_else(|| {
        format!(
            "`at`: `{text}` is no time with an offset or time zone; write `2026-03-01T09:00:00Z`, \
             `2026-03-01T09:00+01:00`, `2026-03-01T09:00[Europe/Berlin]` or seconds since 1970"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_asked() {
        let now = Timestamp::from_second(1_772_355_600).unwrap();
        let check = |zone: Option<&str>, format: Option<&str>, at: Option<&str>, expected: &str| {
            let given = GetTimeArguments {
                time_zone: zone.map(str::to_owned),
                format: format.map(str::to_owned),
                at: at.map(str::to_owned),
            };
            match describe_time(&given, now) {
                Ok((shown, _)) => assert_eq!(shown, expected),
                Err(problem) => assert!(problem.contains(expected), "wanted {expected}\nin {problem}"),
            }
        };
        let utc = Some("UTC");
        check(utc, None, None, "2026-03-01T09:00:00+00:00");
        check(utc, Some("unix"), None, "1772355600");
        check(utc, Some("rfc2822"), None, "Sun, 1 Mar 2026 09:00:00 +0000");
        check(utc, Some("%A, %d %B %Y"), None, "Sunday, 01 March 2026");
        check(utc, None, Some("2026-07-01T09:00-04:00"), "2026-07-01T13:00:00+00:00");
        check(utc, None, Some("1772355600"), "2026-03-01T09:00:00+00:00");
        check(Some("Europe/Atlantis"), None, None, "`Europe/Atlantis` is not in the time zone database");
        check(utc, Some("nice"), None, "`format` is iso, rfc2822, unix or a pattern");
        check(utc, Some("%Y %!"), None, "`format`: ");
        check(utc, None, Some("tomorrow"), "`at`: `tomorrow` is no time with an offset");
        check(utc, None, Some("2026-03-01 09:00"), "is no time with an offset");
    }
}
