use super::*;

const LONG: u64 = 1_000;

fn at(ms: i64) -> Timestamp {
    Timestamp(ms)
}

/// A step, its priority, and what it waits for.
type EnqueueRow = (u64, i32, &'static [u64]);

fn queue(steps: &[EnqueueRow]) -> LeaseQueue<u64> {
    let mut leases = LeaseQueue::default();
    for (step, priority, after) in steps {
        leases.enqueue(*step, *priority, after, LONG).unwrap();
    }
    leases
}

/// Hands out and completes until nothing is ready.
fn order(leases: &mut LeaseQueue<u64>) -> Vec<u64> {
    let mut done = Vec::new();
    while let Some(lease) = leases.lease("w", at(0)) {
        assert!(leases.complete(lease.step));
        done.push(lease.step);
    }
    done
}

#[test]
fn larger_priorities_come_first_and_equal_ones_in_the_order_of_arrival() {
    let rows: [(&[EnqueueRow], &[u64]); 5] = [
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
    assert_eq!(first, StepLease { step: 1, attempt: 1, expires_at: at(1_000), lease_ms: LONG });
    assert_eq!(leases.lease("a", at(500)), Some(first));
    assert_eq!(leases.lease("b", at(500)).map(|lease| lease.step), Some(2));
    assert_eq!(leases.lease("c", at(500)), None);
    assert_eq!((leases.open_count(), leases.in_progress()), (2, 2));
    assert!(leases.complete(1) && !leases.complete(1));
    assert_eq!(leases.lease("a", at(600)), None);
    assert_eq!((leases.open_count(), leases.in_progress(), leases.completed_count()), (1, 1, 1));
}

#[test]
fn a_lease_that_runs_out_is_given_to_whoever_comes_next_three_times() {
    let mut leases = queue(&[(1, 0, &[]), (2, 0, &[])]);
    for attempt in 1..=ATTEMPTS {
        let now = at(i64::from(attempt) * 10_000);
        assert_eq!(leases.lease("a", now).map(|lease| (lease.step, lease.attempt)), Some((1, attempt)));
        assert_eq!(leases.ownership(1, "a"), LeaseOwnership::Theirs);
        assert_eq!(leases.ownership(1, "b"), LeaseOwnership::Lost);
        assert!(leases.expire_leases(at(now.0 + 999)).is_empty());
        let spent = attempt == ATTEMPTS;
        assert_eq!(leases.expire_leases(at(now.0 + 1_000)), [ExpiredLease { step: 1, is_exhausted: spent }]);
        let late = if spent { LeaseOwnership::Lost } else { LeaseOwnership::Theirs };
        assert_eq!(leases.ownership(1, "b"), late, "nobody has it");
    }
    assert_eq!(
        leases.lease("a", at(99_000)).map(|lease| lease.step),
        Some(2),
        "one that is spent is not given again"
    );
    assert_eq!(leases.ownership(3, "a"), LeaseOwnership::Unknown);
}

#[test]
fn nothing_is_dropped_silently() {
    let mut leases = LeaseQueue::new(3);
    for step in 0..3 {
        leases.enqueue(step, 0, &[], LONG).unwrap();
    }
    assert_eq!(leases.enqueue(3, 0, &[], LONG), Err(EnqueueError::Full));
    assert_eq!(leases.enqueue(1, 0, &[], LONG), Err(EnqueueError::Known));
    assert_eq!(order(&mut leases), [0, 1, 2]);
    assert_eq!(leases.enqueue(3, 0, &[], LONG), Ok(()));
}

#[test]
fn what_waited_for_a_step_that_is_withdrawn_goes_on() {
    let mut leases = queue(&[(1, 0, &[]), (2, 0, &[1]), (3, 0, &[])]);
    assert_eq!(leases.ownership(2, "w"), LeaseOwnership::Blocked);
    assert!(leases.withdraw_step(1));
    assert_eq!(leases.ownership(1, "w"), LeaseOwnership::Unknown);
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
        let (mut leases, mut now) = (LeaseQueue::new(40), 0);
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
                    let over = leases.expire_leases(at(now));
                    spent.extend(over.iter().filter(|over| over.is_exhausted).map(|over| over.step));
                }
                _ => {
                    let worker = format!("w{}", draw(4));
                    let most = usize::try_from(draw(4)).unwrap();
                    let batch = leases.lease_batch(&worker, at(now), most, |one, other| one % 3 == other % 3);
                    let again = leases.lease_batch(&worker, at(now), 9, |_, _| true);
                    assert_eq!(again, batch, "seed {seed}");
                    for lease in batch {
                        let (_, after) = &added[usize::try_from(lease.step).unwrap()];
                        assert!(after.iter().all(|before| done.contains(before)), "seed {seed}");
                        assert!(!done.contains(&lease.step) && !spent.contains(&lease.step), "seed {seed}");
                        if draw(3) == 0 {
                            continue;
                        }
                        leases.renew_batch_leases(lease.step, &worker, at(now));
                        assert_eq!(leases.ownership(lease.step, &worker), LeaseOwnership::Theirs);
                        assert!(leases.complete(lease.step));
                        done.push(lease.step);
                    }
                }
            }
        }
        assert_eq!(done.len() + leases.open_count(), added.len(), "seed {seed}");
    }
}

/// The steps that a worker gets; the kind of a step is the hundreds of its number.
fn batch(leases: &mut LeaseQueue<u64>, worker: &str, most: usize, now: i64) -> Vec<u64> {
    let alike = |one: u64, other: u64| one / 100 == other / 100;
    leases.lease_batch(worker, at(now), most, alike).iter().map(|lease| lease.step).collect()
}

#[test]
fn a_batch_is_what_would_have_come_one_by_one_as_far_as_it_is_alike() {
    let three: &[EnqueueRow] = &[(1, 0, &[]), (2, 0, &[]), (3, 0, &[])];
    let rows: [(&[EnqueueRow], usize, &[u64]); 8] = [
        (&[], 9, &[]),
        (three, 1, &[1]),
        (three, 2, &[1, 2]),
        (three, 9, &[1, 2, 3]),
        // a batch skips no step, and urgent ones come first
        (&[(1, 0, &[]), (101, 0, &[]), (2, 0, &[])], 9, &[1]),
        (&[(1, 0, &[]), (2, 5, &[]), (3, 0, &[])], 9, &[2, 1, 3]),
        (&[(1, 0, &[]), (2, 0, &[]), (101, 5, &[])], 9, &[101]),
        // what waits for another one is not ready
        (&[(1, 0, &[]), (2, 0, &[1]), (3, 0, &[])], 9, &[1, 3]),
    ];
    for (steps, most, expected) in rows {
        let mut leases = queue(steps);
        let got = batch(&mut leases, "w", most, 0);
        assert_eq!(got, expected, "{steps:?} {most}");
        assert_eq!(leases.in_progress(), expected.len());
        let one_by_one: Vec<u64> = order(&mut queue(steps));
        assert_eq!(got, one_by_one[..got.len()], "{steps:?}");
    }
}

#[test]
fn a_batch_stays_the_same_until_all_of_it_is_done() {
    let mut leases = queue(&[(1, 0, &[]), (2, 0, &[]), (3, 0, &[]), (4, 0, &[])]);
    assert_eq!(batch(&mut leases, "a", 3, 0), [1, 2, 3]);
    assert_eq!(batch(&mut leases, "a", 9, 1), [1, 2, 3], "no other effect");
    assert_eq!(leases.lease("a", at(1)).map(|lease| lease.step), Some(1));
    assert_eq!(batch(&mut leases, "b", 9, 1), [4], "others get others");
    assert_eq!(leases.ownership(2, "b"), LeaseOwnership::Lost);
    assert!(leases.complete(2));
    assert_eq!(batch(&mut leases, "a", 9, 2), [1, 3]);
    assert!(leases.complete(1) && leases.complete(3) && leases.complete(4));
    assert_eq!((batch(&mut leases, "a", 9, 3), leases.open_count(), leases.in_progress()), (vec![], 0, 0));
}

#[test]
fn steps_of_a_batch_that_was_let_go_come_one_at_a_time() {
    let mut leases = queue(&[(1, 0, &[]), (2, 0, &[]), (3, 0, &[])]);
    assert_eq!(batch(&mut leases, "a", 9, 0), [1, 2, 3]);
    assert_eq!(leases.expire_leases(at(1_000)).len(), 3);
    assert_eq!(leases.ownership(2, "a"), LeaseOwnership::Theirs, "a late result counts");
    for id in [4, 5] {
        leases.enqueue(id, 0, &[], LONG).unwrap();
    }
    let rows: [(&str, &[u64]); 4] = [("a", &[1]), ("b", &[2]), ("c", &[3]), ("d", &[4, 5])];
    for (worker, expected) in rows {
        assert_eq!(batch(&mut leases, worker, 9, 1_000), expected, "{worker}");
    }
    // a fresh one does not take such a one along
    let mut leases = queue(&[(1, 0, &[]), (2, -1, &[]), (3, -1, &[])]);
    assert_eq!((batch(&mut leases, "a", 1, 0), batch(&mut leases, "b", 1, 0)), (vec![1], vec![2]));
    assert!(leases.complete(1));
    assert_eq!(leases.expire_leases(at(1_000)).len(), 1);
    leases.enqueue(4, 0, &[], LONG).unwrap();
    assert_eq!(batch(&mut leases, "a", 9, 1_000), [4]);
}

#[test]
fn whoever_hands_in_one_step_of_a_batch_has_time_for_the_others() {
    let mut leases = queue(&[(1, 0, &[]), (2, 0, &[]), (3, 0, &[])]);
    assert_eq!(batch(&mut leases, "a", 2, 0), [1, 2]);
    assert_eq!(batch(&mut leases, "b", 1, 0), [3]);
    leases.renew_batch_leases(1, "a", at(900));
    // a worker cannot renew by a step of another one
    leases.renew_batch_leases(3, "a", at(950));
    leases.renew_batch_leases(2, "b", at(950));
    assert!(leases.complete(1));
    let over: Vec<u64> = leases.expire_leases(at(1_000)).iter().map(|over| over.step).collect();
    assert_eq!((over, leases.next_end()), (vec![3], Some(at(1_900))));
    assert_eq!(batch(&mut leases, "a", 9, 1_899), [2]);
    assert_eq!(leases.expire_leases(at(1_900)), [ExpiredLease { step: 2, is_exhausted: false }]);
}
