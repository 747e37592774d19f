//! Resume tokens in the store: used once, with the rows, or not at all.

use synthdev::domain::journal::{TokenRecord, TokenRedeemOutcome};

use super::*;

fn token(hash: &str, run: &str, call: u64, created: i64) -> TokenRecord {
    TokenRecord {
        hash: hash.to_owned(),
        run: RunId::from(run),
        call: CallId(call),
        definition_hash: "ab12".to_owned(),
        created: Timestamp(created),
        expires: Timestamp(created + 1_000),
        tries: 0,
        used: None,
        results_hash: None,
        answer: None,
    }
}

/// A paused run `r` that another process has left, with one token `t1` of call 3.
fn paused_run() -> (Place, SqliteStore) {
    let place = Place::new();
    let first = place.store();
    first.create(&header("r", 1)).unwrap();
    first.append(&RunId::from("r"), &[row(None, "1")], Some(&run_progress(RunStatus::Paused))).unwrap();
    first.issue_token(&token("t1", "r", 3, 100)).unwrap();
    let store = place.store();
    (place, store)
}

fn rows(store: &SqliteStore) -> usize {
    store.load(&RunId::from("r")).unwrap().1.len()
}

#[test]
fn a_token_is_kept_until_it_is_used() {
    let (place, store) = paused_run();
    assert_eq!(store.token("t1").unwrap().unwrap(), token("t1", "r", 3, 100));
    assert_eq!(store.token("t2").unwrap(), None);
    store.issue_token(&token("t0", "r", 3, 200)).unwrap();
    store.issue_token(&token("t2", "r", 4, 50)).unwrap();
    let open = |store: &SqliteStore| -> Vec<String> {
        store.open_tokens(&RunId::from("r")).unwrap().into_iter().map(|token| token.hash).collect()
    };
    assert_eq!(open(&store), ["t2", "t1", "t0"]);
    assert_eq!(store.open_tokens(&RunId::from("other")).unwrap(), []);
    let now = Timestamp(300);
    assert_eq!(
        store.redeem("t1", "x", "ok", now, &[row(Some(3), "2")], None).unwrap(),
        TokenRedeemOutcome::Accepted
    );
    assert_eq!(open(&place.store()), ["t2"], "the other token of the same pause is used up too");
    store.append(&RunId::from("r"), &[row(None, "3")], None).unwrap();
    assert_eq!(open(&store), ["t2"]);
    tamper_database(
        &place.path,
        "CREATE TRIGGER no BEFORE DELETE ON tokens BEGIN SELECT raise(ABORT, 'no'); END",
    );
    let end = |text| store.append_and_end_tokens(&RunId::from("r"), &[row(None, text)], None, &[], None);
    end("4").unwrap_err();
    assert_eq!(
        (open(&store), rows(&store)),
        (vec!["t2".to_owned()], 3),
        "the rows and the tokens, or neither"
    );
    tamper_database(&place.path, "DROP TRIGGER no");
    end("4").unwrap();
    assert_eq!((open(&store), rows(&store)), (Vec::new(), 4));
    assert_eq!(store.token("t2").unwrap(), None);
    let used = store.token("t1").unwrap().unwrap();
    assert_eq!((used.used, used.results_hash.as_deref()), (Some(now), Some("x")));
    store.append_and_end_tokens(&RunId::from("r"), &[], None, &[CallId(3)], None).unwrap();
    assert_eq!(store.token("t1").unwrap(), None, "the run went back behind its answer");
}

#[test]
fn the_same_results_get_the_same_answer_and_others_a_conflict() {
    let (_place, store) = paused_run();
    store.issue_token(&token("t0", "r", 3, 100)).unwrap();
    let use_it = |hash, results, at| {
        store.redeem(
            hash,
            results,
            "first",
            Timestamp(at),
            &[row(Some(3), "2")],
            Some(&run_progress(RunStatus::Running)),
        )
    };
    assert_eq!(use_it("t1", "x", 200).unwrap(), TokenRedeemOutcome::Accepted);
    assert_eq!(store.find("r").unwrap().progress.status, RunStatus::Running);
    for (hash, results, at, expected) in [
        ("t1", "x", 201, TokenRedeemOutcome::Duplicate { answer: "first".to_owned() }),
        ("t1", "x", 99_999, TokenRedeemOutcome::Duplicate { answer: "first".to_owned() }),
        ("t1", "y", 202, TokenRedeemOutcome::Conflict),
        ("t0", "x", 203, TokenRedeemOutcome::Duplicate { answer: "first".to_owned() }),
        ("t0", "y", 204, TokenRedeemOutcome::Conflict),
    ] {
        assert_eq!(use_it(hash, results, at).unwrap(), expected, "{hash} {results} {at}");
    }
    assert_eq!(rows(&store), 2, "the rows went in once");
    store.append(&RunId::from("r"), &[row(None, "3")], None).unwrap();
}

#[test]
fn of_many_that_answer_at_once_one_is_accepted() {
    let (place, store) = paused_run();
    let answers: Vec<TokenRedeemOutcome> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|number| {
                let store = place.store();
                let results = format!("{}", number % 2);
                let written = [row(Some(3), results.as_str())];
                scope.spawn(move || {
                    store.redeem("t1", &results, &results, Timestamp(200), &written, None).unwrap()
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let count =
        |wanted: fn(&TokenRedeemOutcome) -> bool| answers.iter().filter(|answer| wanted(answer)).count();
    assert_eq!(count(|answer| *answer == TokenRedeemOutcome::Accepted), 1);
    assert_eq!(count(|answer| matches!(answer, TokenRedeemOutcome::Duplicate { .. })), 3);
    assert_eq!(count(|answer| *answer == TokenRedeemOutcome::Conflict), 4);
    assert_eq!(rows(&store), 2);
}

#[test]
fn what_cannot_be_accepted_changes_nothing() {
    let (place, store) = paused_run();
    let redeem = |hash, at| store.redeem(hash, "x", "ok", Timestamp(at), &[row(Some(3), "2")], None);
    for (hash, at, words) in
        [("forged", 200, "not known"), ("", 200, "not known"), ("t1", 1_100, "has expired")]
    {
        let error = redeem(hash, at).unwrap_err();
        assert!(error.message.contains(words) && error.hint.is_some(), "{hash}: {error}");
    }
    assert_eq!((store.count_failed_try("t1").unwrap(), store.count_failed_try("t1").unwrap()), (1, 2));
    assert!(store.count_failed_try("forged").unwrap_err().message.contains("not known"));
    assert!(store.issue_token(&token("t1", "r", 5, 1)).unwrap_err().message.contains("already in use"));
    assert!(store.issue_token(&token("t9", "nobody", 5, 1)).unwrap_err().message.contains("no run `nobody`"));
    assert_eq!(rows(&store), 1);
    assert_eq!(store.token("t1").unwrap().unwrap(), TokenRecord { tries: 2, ..token("t1", "r", 3, 100) });

    let driver = place.store();
    driver.claim(&RunId::from("r")).unwrap();
    assert!(redeem("t1", 200).unwrap_err().message.contains("is running in process"));
    assert_eq!(rows(&store), 1);
}

#[test]
fn who_claimed_the_run_may_use_its_token() {
    let (_place, store) = paused_run();
    store.claim(&RunId::from("r")).unwrap();
    assert_eq!(
        store.redeem("t1", "x", "ok", Timestamp(200), &[row(Some(3), "2")], None).unwrap(),
        TokenRedeemOutcome::Accepted
    );
    store.append(&RunId::from("r"), &[row(None, "3")], None).unwrap();
    assert_eq!(rows(&store), 3);
}

#[test]
fn a_former_driver_does_not_see_a_token_pass_by() {
    let (place, store) = paused_run();
    let driver = place.store();
    driver.claim(&RunId::from("r")).unwrap();
    driver.append(&RunId::from("r"), &[], Some(&run_progress(RunStatus::Paused))).unwrap();
    store.redeem("t1", "x", "ok", Timestamp(200), &[row(Some(3), "2")], None).unwrap();
    let error = driver.append(&RunId::from("r"), &[row(None, "late")], None).unwrap_err();
    assert!(error.message.contains("now driven by"), "{error}");
}
