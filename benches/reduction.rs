//! Reducing a steel block held at one end, 24 interface DOFs, 50 modes:
//! `cargo bench -p twinrig --bench reduction`. The 100 000 DOFs of the issue take
//! `TWINRIG_LARGE=1`.

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use model::fem::{Brick, Direction, Material, Mesh, brick};
use model::reduction::{ModeChoice, Recipe, reduce};

fn block(elements: [usize; 3]) -> (Mesh, Vec<usize>) {
    let size_m = elements.map(|count| 0.01 * count as f64);
    let block = Brick { material: Material::STEEL, size_m, elements, held: true };
    let mesh = brick(&block).expect("the block can be built");
    let [x, y, z] = size_m;
    let corners = [0.0, 0.5, 1.0].map(|b| [0.0, 0.5, 1.0].map(|c| [x, b * y, c * z]));
    let nodes = corners.iter().flatten().enumerate().filter(|(k, _)| *k != 4);
    let nodes: Vec<usize> = nodes.map(|(_, point)| mesh.nearest(*point)).collect();
    let directions = [Direction::X, Direction::Y, Direction::Z];
    let dofs = nodes.iter().flat_map(|&node| directions.map(|way| mesh.dof(node, way)));
    let interface = dofs.flatten().collect();
    (mesh, interface)
}

fn reductions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reduction");
    group.sample_size(10).measurement_time(Duration::from_secs(20));
    let mut sizes = vec![[16, 8, 8], [30, 10, 10]];
    if std::env::var_os("TWINRIG_LARGE").is_some() {
        sizes.push([69, 21, 21]);
    }
    for elements in sizes {
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
