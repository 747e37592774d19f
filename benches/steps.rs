//! Handing out steps (S4.23): 100,000 operations are to take less than 50 ms.

use criterion::{Criterion, criterion_group, criterion_main};
use synthdev::domain::ids::Timestamp;
use synthdev::runtime::leases::Leases;

const OPERATIONS: u64 = 100_000;

fn steps(c: &mut Criterion) {
    c.bench_function("100,000 operations of a step queue", |bench| {
        bench.iter(|| {
            let mut leases = Leases::new(usize::MAX);
            for step in 0..OPERATIONS / 4 {
                let priority = i32::try_from(step % 5).unwrap_or(0);
                let _ = leases.enqueue(step, priority, &[], 1_000);
            }
            let mut done = 0_u64;
            while let Some(lease) = leases.lease("w", Timestamp(0)) {
                leases.standing(lease.step, "w");
                done += u64::from(leases.complete(lease.step));
            }
            assert_eq!(done, OPERATIONS / 4);
        });
    });
}

criterion_group!(benches, steps);
criterion_main!(benches);
