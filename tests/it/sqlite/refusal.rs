//! Files and calls that the store declines, in words that help, leaving them as they were.

use std::fs;

use super::*;

/// Fails with words on the file; the file keeps its bytes.
fn check_refused(place: &Place, message: &str, hint: &str) {
    let before = fs::read(&place.path).unwrap();
    for error in [
        place.store().list(&RunQuery::newest(0)).unwrap_err(),
        place.store().create(&header("new", 1)).unwrap_err(),
        place.store().append(&RunId::from("x"), &[], None).unwrap_err(),
    ] {
        assert!(error.message.contains(message), "{error}");
        assert!(error.message.contains(place.path.to_str().unwrap()), "{error}");
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{:?}", error.hint);
    }
    assert!(fs::read(&place.path).unwrap() == before, "the file was changed");
}

fn filled_place() -> Place {
    let place = Place::new();
    let store = place.store();
    for at in 0..200 {
        store.create(&header(&format!("r{at}"), at)).unwrap();
    }
    place
}

#[test]
fn a_newer_version_is_left_alone() {
    let place = filled_place();
    tamper_database(&place.path, "PRAGMA user_version = 6");
    check_refused(&place, "has version 6; this program knows versions up to 5", "update");
}

#[test]
fn another_programs_database_is_left_alone() {
    let place = Place::new();
    fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    tamper_database(&place.path, "CREATE TABLE theirs(x)");
    check_refused(&place, "another program", "left as it is");
}

#[test]
fn a_damaged_file_is_named_and_never_replaced() {
    let place = Place::new();
    fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    fs::write(&place.path, "this is not a database, it is a text".repeat(100)).unwrap();
    check_refused(&place, "is damaged", "runs salvage");
}

#[test]
fn a_truncated_file_is_named_and_never_replaced() {
    let place = filled_place();
    let whole = fs::metadata(&place.path).unwrap().len();
    assert!(whole > 8 * 4096);
    fs::OpenOptions::new().write(true).open(&place.path).unwrap().set_len(4096).unwrap();
    let error = place.store().list(&RunQuery::newest(0)).unwrap_err();
    assert!(error.message.contains("is damaged") && error.message.contains("runs.sqlite"), "{error}");
    assert_eq!(fs::metadata(&place.path).unwrap().len(), 4096);
}

#[test]
fn a_value_that_makes_no_sense_is_damage() {
    for sql in ["UPDATE progress SET status = 'dreaming'", "UPDATE progress SET path = '['"] {
        let place = filled_place();
        tamper_database(&place.path, sql);
        let error = place.store().list(&RunQuery::newest(0)).unwrap_err();
        assert!(error.message.contains("is damaged"), "{error}");
    }
}

#[test]
fn a_row_that_lost_a_part_is_damage() {
    let place = filled_place();
    let run = RunId::from("mine");
    let store = place.store();
    store.create(&header("mine", 1)).unwrap();
    store.append(&run, &[row(None, "{\"a\":1}")], None).unwrap();
    tamper_database(&place.path, "UPDATE rows SET body = '{'");
    let error = place.store().load(&run).unwrap_err();
    assert!(error.message.contains("not as long as it was written"), "{error}");
}

#[test]
fn an_id_is_taken_once_and_unknown_runs_take_nothing() {
    let place = filled_place();
    let store = place.store();
    let error = store.create(&RunHeader { input: "other".to_owned(), ..header("r7", 1) }).unwrap_err();
    assert!(error.message.contains("run r7 is already in"), "{error}");
    assert_eq!(store.find("r7").unwrap().input, "add ünicode");
    let error = store.append(&RunId::from("nobody"), &[row(None, "1")], None).unwrap_err();
    assert!(error.message.contains("no run `nobody`"), "{error}");
    assert_eq!(question(&place.path, "SELECT count(*) FROM rows"), 0);
}

/// Root may write everywhere, so the directory's place is taken by a file.
#[test]
fn a_place_that_cannot_be_written_is_named() {
    let place = Place::new();
    let directory = place.path.parent().unwrap();
    fs::write(directory, "a file").unwrap();
    let error = place.store().create(&header("x", 1)).unwrap_err();
    assert!(error.message.contains("cannot open the run history"), "{error}");
    assert!(error.hint.is_some());
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_is_an_error_unless_root_ignores_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let directory = place.path.parent().unwrap();
    fs::create_dir_all(directory).unwrap();
    fs::set_permissions(directory, fs::Permissions::from_mode(0o500)).unwrap();
    let allowed = fs::write(directory.join("probe"), "").is_ok();
    let made = place.store().create(&header("x", 1));
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(made.is_ok(), allowed, "{made:?}");
    if let Err(error) = made {
        assert!(error.message.contains("runs.sqlite") && error.hint.is_some(), "{error}");
    }
}
