use super::*;

const LONG: u64 = 1_000;

fn at(ms: i64) -> Timestamp {
    Timestamp(ms)
}

fn queue(steps: &[(u64, i32, &[u64])]) -> Leases<u64> {
    let mut leases = Leases::default();
    for (step, priority, after) in steps {
        leases.enqueue(*step, *priority, after, LONG).unwrap();
    }
    leases
}

/// Hands out and completes until nothing is ready.
fn order(leases: &mut Leases<u64>) -> Vec<u64> {
    let mut done = Vec::new();
    while let Some(lease) = leases.lease("w", at(0)) {
        assert!(leases.complete(lease.step));
        done.push(lease.step);
    }
    done
}

#[test]
fn larger_priorities_come_first_and_equal_ones_in_the_order_of_arrival() {
    let rows: [(&[(u64, i32, &[u64])], &[u64]); 5] = [
        (&[], &[]),
        (&[(1, 0, &[]), (2, 0, &[]), (3, 0, &[])], &[1, 2, 3]),
        (&[(1, 0, &[]), (2, 5, &[]), (3, -1, &[]), (4, 5, &[])], &[2, 4, 1, 3]),
        // however urgent, what it needs comes first
        (&[(1, 0, &[]), (2, 9, &[1]), (3, 0, &[])], &[1, 2, 3]),
        (&[(1, 0, &[]), (2, 0, &[1, 1]), (3, 0, &[1, 2]), (4, 0, &[7])], &[1, 4, 2, 3]),
    ];
    for (steps, expected) in rows {
        assert_eq!(order(&mut queue(steps)), expected, "{steps:?}");
    }
}

#[test]
fn a_worker_gets_the_same_step_until_it_is_done_and_others_get_others() {
    let mut leases = queue(&[(1, 0, &[]), (2, 0, &[])]);
    let first = leases.lease("a", at(0)).unwrap();
    assert_eq!(first, Lease { step: 1, attempt: 1, expires: at(1_000), lasts_ms: LONG });
    assert_eq!(leases.lease("a", at(500)), Some(first));
    assert_eq!(leases.lease("b", at(500)).map(|lease| lease.step), Some(2));
    assert_eq!(leases.lease("c", at(500)), None);
    assert_eq!((leases.open(), leases.in_progress()), (2, 2));
    assert!(leases.complete(1) && !leases.complete(1));
    assert_eq!(leases.lease("a", at(600)), None);
    assert_eq!((leases.open(), leases.in_progress(), leases.completed()), (1, 1, 1));
}

#[test]
fn a_lease_that_runs_out_is_given_to_whoever_comes_next_three_times() {
    let mut leases = queue(&[(1, 0, &[]), (2, 0, &[])]);
    for attempt in 1..=ATTEMPTS {
        let now = at(i64::from(attempt) * 10_000);
        assert_eq!(leases.lease("a", now).map(|lease| (lease.step, lease.attempt)), Some((1, attempt)));
        assert_eq!(leases.standing(1, "a"), Standing::Theirs);
        assert_eq!(leases.standing(1, "b"), Standing::Lost);
        assert!(leases.expire(at(now.0 + 999)).is_empty());
        let spent = attempt == ATTEMPTS;
        assert_eq!(leases.expire(at(now.0 + 1_000)), [Expired { step: 1, spent }]);
        let late = if spent { Standing::Lost } else { Standing::Theirs };
        assert_eq!(leases.standing(1, "b"), late, "nobody has it");
    }
    assert_eq!(
        leases.lease("a", at(99_000)).map(|lease| lease.step),
        Some(2),
        "one that is spent is not given again"
    );
    assert_eq!(leases.standing(3, "a"), Standing::Unknown);
}

#[test]
fn nothing_is_dropped_silently() {
    let mut leases = Leases::new(3);
    for step in 0..3 {
        leases.enqueue(step, 0, &[], LONG).unwrap();
    }
    assert_eq!(leases.enqueue(3, 0, &[], LONG), Err(Refused::Full));
    assert_eq!(leases.enqueue(1, 0, &[], LONG), Err(Refused::Known));
    assert_eq!(order(&mut leases), [0, 1, 2]);
    assert_eq!(leases.enqueue(3, 0, &[], LONG), Ok(()));
}

#[test]
fn what_waited_for_a_step_that_is_withdrawn_goes_on() {
    let mut leases = queue(&[(1, 0, &[]), (2, 0, &[1]), (3, 0, &[])]);
    assert_eq!(leases.standing(2, "w"), Standing::Blocked);
    assert!(leases.withdraw(1));
    assert_eq!(leases.standing(1, "w"), Standing::Unknown);
    assert_eq!(order(&mut leases), [3, 2]);
}

/// Whatever is done in whatever order: each step is done once, never before what it waits for, and no two workers have
/// the same one.
#[test]
fn any_order_of_operations_loses_and_doubles_nothing() {
    for seed in 1..200_u64 {
        let mut luck = seed;
        let mut draw = |most: u64| {
            luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (luck >> 33) % most
        };
        let (mut leases, mut now) = (Leases::new(40), 0);
        let (mut added, mut done, mut spent) = (Vec::<(u64, Vec<u64>)>::new(), Vec::new(), Vec::new());
        for _ in 0..300 {
            match draw(4) {
                0 => {
                    let step = added.len() as u64;
                    let after: Vec<u64> =
                        (0..draw(3)).filter_map(|_| step.checked_sub(draw(5) + 1)).collect();
                    let priority = i32::try_from(draw(3)).unwrap();
                    if leases.enqueue(step, priority, &after, 50).is_ok() {
                        added.push((step, after));
                    }
                }
                1 => now += i64::try_from(draw(20)).unwrap(),
                2 => {
                    let over = leases.expire(at(now));
                    spent.extend(over.iter().filter(|over| over.spent).map(|over| over.step));
                }
                _ => {
                    let worker = format!("w{}", draw(4));
                    let Some(lease) = leases.lease(&worker, at(now)) else { continue };
                    let (_, after) = &added[usize::try_from(lease.step).unwrap()];
                    assert!(after.iter().all(|before| done.contains(before)), "seed {seed}");
                    assert!(!done.contains(&lease.step) && !spent.contains(&lease.step), "seed {seed}");
                    if draw(3) > 0 {
                        assert_eq!(leases.standing(lease.step, &worker), Standing::Theirs);
                        assert!(leases.complete(lease.step));
                        done.push(lease.step);
                    }
                }
            }
        }
        assert_eq!(done.len() + leases.open(), added.len(), "seed {seed}");
    }
}
