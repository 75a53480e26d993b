//! Reducing a steel block of 100 000 DOFs held at one end, 24 interface DOFs, 50
//! modes: one pass, with processor time and peak memory.
//!
//! `taskset -c 0 cargo bench -p twinrig-model --bench large_reduction` is one
//! thread on one core; without `taskset` all cores are used. `TWINRIG_ELEMENTS`
//! ("69,21,21") takes another block, `TWINRIG_EXPORT` names a folder that gets
//! the matrices for `benches/peer/cholmod_arpack.c`.

mod block;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use model::fem::Mesh;
use model::reduction::{ModeChoice, Recipe, reduce};
use numerics::sparse::SparseMatrix;

use block::block;

fn main() {
    let elements = elements();
    let (mesh, interface) = block(elements);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{} DOFs, {} interface DOFs, 50 modes, {cores} core(s)",
        mesh.nodes.len() * 3,
        interface.len()
    );
    if let Some(folder) = std::env::var_os("TWINRIG_EXPORT") {
        export(&mesh, &interface, Path::new(&folder)).expect("the folder can be written");
        return;
    }
    let recipe = Recipe::rubin(interface, ModeChoice::Number(50));
    let before = processor_seconds();
    let start = Instant::now();
    let reduction = reduce(&mesh.component, &recipe).expect("the block can be reduced");
    let elapsed = start.elapsed().as_secs_f64();
    let spent = processor_seconds() - before;
    let facts = &reduction.facts;
    println!("elapsed {elapsed:.2} s, processor {spent:.2} s, peak memory {:.2} GiB", peak_gib());
    println!(
        "factor {:.3} GB, {} Krylov vectors, {} solutions",
        1e-9 * facts.factor_bytes as f64,
        facts.krylov_vectors,
        facts.solves
    );
    let omega = &reduction.model.omega_rad_s;
    for k in [0, omega.len() / 2, omega.len() - 1] {
        println!("omega {:2}: {:.12e} rad/s", k + 1, omega[k]);
    }
}

fn elements() -> [usize; 3] {
    let Ok(text) = std::env::var("TWINRIG_ELEMENTS") else { return [69, 21, 21] };
    let counts: Vec<usize> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    counts.try_into().expect("TWINRIG_ELEMENTS is three numbers: 69,21,21")
}

/// Lower triangles as rows, entries, column starts, row of each entry (all 64-bit
/// integers) and values; the interface DOFs as integers.
fn export(mesh: &Mesh, interface: &[usize], folder: &Path) -> std::io::Result<()> {
    for (name, matrix) in
        [("k", &mesh.component.matrices.stiffness), ("m", &mesh.component.matrices.mass)]
    {
        write_lower(matrix, &folder.join(format!("{name}.bin")))?;
    }
    let interface: Vec<i64> = interface.iter().map(|&dof| dof as i64).collect();
    fs::write(folder.join("interface.bin"), bytes(&interface))
}

fn write_lower(matrix: &SparseMatrix, path: &Path) -> std::io::Result<()> {
    let n = matrix.rows();
    let (mut starts, mut rows, mut values) = (vec![0_i64], Vec::new(), Vec::new());
    for column in 0..n {
        for (row, value) in matrix.column(column).filter(|&(row, _)| row >= column) {
            rows.push(row as i64);
            values.push(value);
        }
        starts.push(rows.len() as i64);
    }
    let mut file = BufWriter::new(fs::File::create(path)?);
    file.write_all(&bytes(&[n as i64, rows.len() as i64]))?;
    file.write_all(&bytes(&starts))?;
    file.write_all(&bytes(&rows))?;
    file.write_all(&values.iter().flat_map(|value: &f64| value.to_le_bytes()).collect::<Vec<_>>())
}

fn bytes(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// User and system time of this process; 0 where `/proc` is not.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks =
        |place| after_name.split_whitespace().nth(place).and_then(|t| t.parse::<f64>().ok());
    // The kernel counts in hundredths of a second for user space.
    ticks(11).zip(ticks(12)).map_or(0.0, |(user, system)| 0.01 * (user + system))
}

fn peak_gib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / (1024.0 * 1024.0)
}
