//! calculate, get_time.

use serde_json::json;

use super::Project;

#[tokio::test]
async fn expressions_and_times() {
    let project = Project::new(&[]);
    let sum = project.expect_success("calculate", json!({"expression": "0.1 + 0.2"}), "\n0.3").await;
    assert_eq!(sum.summary, "0.1 + 0.2 = 0.3");
    assert!(!sum.content.contains("approximate"), "{}", sum.content);
    project.expect_success("calculate", json!({"expression": "1 / 3"}), "\"approximate\":true").await;
    for (expression, why) in [
        ("2 +", "column 4: a number is missing at the end"),
        ("require('fs')", "column 9: a number is missing before `'`"),
        ("1 / 0", "division by zero"),
    ] {
        project.expect_failure("calculate", json!({"expression": expression}), why).await;
    }
    project.expect_failure("calculate", json!({"expression": ""}), "must not be empty").await;
    project.expect_failure("calculate", json!({"expression": 5}), "must be a string").await;
    let long = "1+".repeat(6000);
    project.expect_failure("calculate", json!({"expression": long}), "more than 10000 characters").await;
    let noon = json!({"at": "2026-03-01T12:00:00Z", "time_zone": "UTC"});
    project.expect_success("get_time", noon, "\n2026-03-01T12:00:00+00:00").await;
    project.expect_success("get_time", json!({}), "\"utc_offset\":").await;
    project.expect_failure("get_time", json!({"time_zone": "Mars"}), "`Mars` is not in the time zone").await;
    project.expect_failure("get_time", json!({"zone": "UTC"}), "`zone` is not an argument").await;
}
