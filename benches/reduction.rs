//! Reducing a steel block held at one end, 24 interface DOFs, 50 modes:
//! `cargo bench -p twinrig --bench reduction`. `large_reduction` takes 100 000 DOFs.

mod block;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use model::reduction::{ModeChoice, Recipe, reduce};

use block::block;

fn reductions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reduction");
    group.sample_size(10).measurement_time(Duration::from_secs(20));
    for elements in [[16, 8, 8], [30, 10, 10]] {
        let (mesh, interface) = block(elements);
        let recipe = Recipe::rubin(interface, ModeChoice::Number(50));
        let name = format!("rubin_{}_dofs", mesh.component.size());
        group.bench_function(&name, |bencher| {
            bencher.iter(|| reduce(&mesh.component, &recipe).expect("the block can be reduced"));
        });
    }
    group.finish();
}

criterion_group!(benches, reductions);
criterion_main!(benches);
