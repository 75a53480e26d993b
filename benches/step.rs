//! The cost of a tick, by transfer system: `cargo bench -p twinrig --bench step`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use model::transfer::{ServoHydraulic, TransferSystem};
use twinrig::assembly::{Assembly, Coupling, LoopOptions, Recording};
use twinrig::reproduce::Ground;
use twinrig::reproduce::galmez::{benchmark, delayed};

const TICKS: usize = 16_384;

fn run(assembly: &Assembly) -> u64 {
    let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
    let plant = assembly.plant().expect("the benchmark can be built");
    let mut hybrid = assembly.hybrid_loop(plant, assembly.load(), options);
    while !hybrid.is_over() {
        hybrid.tick();
    }
    hybrid.ticks()
}

fn ticks(criterion: &mut Criterion) {
    let delay = benchmark(&Ground::Synthetic).and_then(|test| delayed(test, 29));
    let delay = delay.expect("the benchmark can be built");
    let mut delay = delay.assembly().expect("the benchmark can be built").clone();
    delay.ticks = TICKS;
    let mut servo = delay.clone();
    servo.transfer_system = TransferSystem::ServoHydraulic(ServoHydraulic::BENCHMARK);
    let mut rigid = delay.clone();
    rigid.transfer_system = TransferSystem::Ideal;
    rigid.coupling = Coupling::Continuous;
    let mut group = criterion.benchmark_group("tick");
    group.throughput(Throughput::Elements(TICKS as u64));
    for (name, assembly) in [("delay", &delay), ("servo", &servo), ("ideal", &rigid)] {
        group.bench_function(name, |bencher| bencher.iter(|| run(assembly)));
    }
    group.finish();
}

criterion_group!(benches, ticks);
criterion_main!(benches);
