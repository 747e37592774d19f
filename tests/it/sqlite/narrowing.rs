//! Lists filtered by the user's query.

use synthdev::domain::journal::{RunOrigin, RunOriginKind};
use synthdev::domain::snapshot::RunWorktree;

use super::*;

/// Five runs of different kinds; a capital letter in the id only for the one with a cost that is unknown.
fn filled_store() -> (Place, SqliteStore) {
    let place = Place::new();
    let store = place.store();
    let rows = [
        ("a1", "coder", "Add a parser", "/p/one", RunStatus::Completed, Some(0.1), None),
        (
            "a2",
            "coder",
            "fix the GRÖSSE",
            "/p/two",
            RunStatus::Failed,
            Some(0.2),
            Some(("a1", RunOriginKind::Fork)),
        ),
        ("b3", "planner", "plan", "/p/one", RunStatus::Paused, Some(0.3), Some(("a1", RunOriginKind::Child))),
        ("B4", "planner", "x_y 100%", "/p/one", RunStatus::Running, None, None),
        (
            "b5",
            "planner",
            "plan",
            "/p/one",
            RunStatus::Running,
            Some(0.5),
            Some(("zz", RunOriginKind::Import)),
        ),
    ];
    for (at, (id, workflow, input, project, status, cost_usd, origin)) in (1..).zip(rows) {
        let origin = origin.map(|(run, kind)| RunOrigin { run: RunId::from(run), kind, step: Some(7) });
        let worktree = (id == "b5").then(|| RunWorktree {
            path: "/w/b5".to_owned(),
            branch: "runs/b5".to_owned(),
            base: "c0ffee".to_owned(),
        });
        let run = RunHeader {
            workflow: workflow.to_owned(),
            input: input.to_owned(),
            project: project.to_owned(),
            origin,
            worktree,
            ..header(id, at * 10)
        };
        store.create(&run).unwrap();
        store.append(&run.id, &[], Some(&RunProgress { cost_usd, ..run_progress(status) })).unwrap();
        assert_eq!(store.load(&run.id).unwrap().0, run);
    }
    tamper_database(
        &place.path,
        "UPDATE progress SET process = 'an earlier boot 1' WHERE run = (SELECT key FROM runs WHERE id = 'b5')",
    );
    (place, store)
}

#[test]
fn every_filter_alone_and_some_together() {
    let (_place, store) = filled_store();
    let all = RunQuery::default;
    let words = |words: &str| RunQuery { words: Some(words.to_owned()), ..all() };
    let of = |statuses: &[RunStatus]| RunQuery { statuses: statuses.to_vec(), ..all() };
    let planner = RunQuery { workflow: Some("planner".to_owned()), ..all() };
    let rows: [(RunQuery, &[&str]); 30] = [
        (all(), &["b5", "B4", "b3", "a2", "a1"]),
        (RunQuery { limit: 2, ..all() }, &["b5", "B4"]),
        (RunQuery { limit: 2, offset: 1, ..all() }, &["B4", "b3"]),
        (RunQuery { offset: 4, ..all() }, &["a1"]),
        (RunQuery { offset: 9, ..all() }, &[]),
        (planner.clone(), &["b5", "B4", "b3"]),
        (RunQuery { project: Some("/p/two".to_owned()), ..all() }, &["a2"]),
        (of(&[RunStatus::Running]), &["B4"]),
        (of(&[RunStatus::Interrupted]), &["b5"]),
        (of(&[RunStatus::Interrupted, RunStatus::Running]), &["b5", "B4"]),
        (of(&[RunStatus::Completed, RunStatus::Failed]), &["a2", "a1"]),
        (of(&[RunStatus::Completed, RunStatus::Interrupted]), &["b5", "a1"]),
        (of(&[RunStatus::Cancelled]), &[]),
        (RunQuery { since: Some(Timestamp(30)), ..all() }, &["b5", "B4", "b3"]),
        (RunQuery { until: Some(Timestamp(30)), ..all() }, &["b3", "a2", "a1"]),
        (RunQuery { since: Some(Timestamp(20)), until: Some(Timestamp(20)), ..all() }, &["a2"]),
        (RunQuery { min_cost: Some(0.3), ..all() }, &["b5", "b3"]),
        (RunQuery { max_cost: Some(0.2), ..all() }, &["a2", "a1"]),
        (RunQuery { origin_run: Some(RunId::from("a1")), ..all() }, &["b3", "a2"]),
        (RunQuery { origin_run: Some(RunId::from("b5")), ..all() }, &[]),
        (words("  "), &["b5", "B4", "b3", "a2", "a1"]),
        (words("PARSER"), &["a1"]),
        (words("größe"), &[]),
        (words("grösse"), &["a2"]),
        (words("b"), &["b5", "B4", "b3"]),
        (words("Planner"), &["b5", "B4", "b3"]),
        (words("%"), &["B4"]),
        (words("x_y 1"), &["B4"]),
        (
            RunQuery {
                limit: 1,
                offset: 1,
                words: Some("plan".to_owned()),
                ..of(&[RunStatus::Paused, RunStatus::Running, RunStatus::Interrupted])
            },
            &["B4"],
        ),
        (
            RunQuery {
                statuses: vec![RunStatus::Paused],
                min_cost: Some(0.1),
                words: Some("'; DROP TABLE runs".to_owned()),
                ..planner
            },
            &[],
        ),
    ];
    for (query, expected) in rows {
        let found: Vec<String> = store.list(&query).unwrap().into_iter().map(|run| run.id.0).collect();
        assert_eq!(found, expected, "{query:?}");
    }
}

#[test]
fn where_a_run_came_from_and_works_is_shown() {
    let (_place, store) = filled_store();
    let run = store.find("b5").unwrap();
    assert_eq!(
        run.origin.unwrap(),
        RunOrigin { run: RunId::from("zz"), kind: RunOriginKind::Import, step: Some(7) }
    );
    assert_eq!(run.worktree.unwrap().branch, "runs/b5");
    let run = store.find("a1").unwrap();
    assert_eq!((run.origin, run.worktree), (None, None));
}

#[test]
fn pages_behind_the_last_start_meet_every_run_once() {
    let place = Place::new();
    let store = place.store();
    for at in 0..23 {
        // four begin at the same moment
        store.create(&header(&format!("r{at:02}"), at / 4)).unwrap();
    }
    let mut seen: Vec<(String, Timestamp)> = Vec::new();
    loop {
        let until = seen.last().map(|(_, started)| *started);
        let offset = seen.iter().rev().take_while(|(_, started)| Some(*started) == until).count();
        let query = RunQuery { limit: 5, until, offset, ..RunQuery::default() };
        let page = store.list(&query).unwrap();
        if page.is_empty() {
            break;
        }
        seen.extend(page.into_iter().map(|run| (run.id.0, run.started)));
    }
    let expected: Vec<String> = (0..23).rev().map(|at| format!("r{at:02}")).collect();
    assert_eq!(seen.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), expected);
}

#[test]
fn whether_anybody_wrote_is_seen() {
    let place = Place::new();
    assert_eq!(place.store().change_counter(), Ok(0), "nothing is made by asking");
    assert!(!place.path.exists());
    let store = place.store();
    store.create(&header("a", 1)).unwrap();
    let before = store.change_counter().unwrap();
    assert_eq!(store.change_counter(), Ok(before));
    store.create(&header("b", 2)).unwrap();
    let own = store.change_counter().unwrap();
    assert_ne!(own, before);
    place.store().create(&header("c", 3)).unwrap();
    assert_ne!(store.change_counter().unwrap(), own);
}
