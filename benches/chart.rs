//! A stability chart of the four-storey building on one thread, every point
//! computed: `cargo bench -p twinrig --bench chart`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use twinrig::chart::{Depth, Options, Refinement};
use twinrig::{Silent, Test};

const FILE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/08-stability-chart/experiment.toml");
const AXES: [&str; 2] = ["transfer_system.delay=0..0.2 ms", "partition.mass[1]=0..60 %"];

fn chart(depth: Depth) -> usize {
    let options = Options {
        size: [200, 200],
        refinement: Refinement::Full,
        depth,
        model: None,
        threads: Some(1),
        cross_check: false,
    };
    let test = Test::load(FILE).expect("the example reads");
    test.chart(AXES, &options, &mut Silent)
        .expect("the example can be charted")
        .grid
        .computed_count()
}

fn charts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chart");
    group.throughput(Throughput::Elements(40_000));
    group.sample_size(10);
    for (name, depth) in [("verdict", Depth::Verdict), ("growth", Depth::Growth)] {
        group.bench_function(name, |bencher| bencher.iter(|| chart(depth)));
    }
    group.finish();
}

criterion_group!(benches, charts);
criterion_main!(benches);
