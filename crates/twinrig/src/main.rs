//! The command line.
fn main() {
    let g = match std::env::args().nth(1) {
        Some(p) => twinrig::reproduce::galmez::Ground::File(p.into()),
        None => twinrig::reproduce::galmez::Ground::Synthetic,
    };
    let t = std::time::Instant::now();
    match twinrig::reproduce::galmez::reproduce(&g, |_| {}) {
        Ok(r) => {
            for row in r.rows {
                println!("{:24} {:?} {:?} {}", row.id, row.paper, row.ours, row.unit);
            }
        }
        Err(e) => println!("{e}"),
    }
    println!("{:?}", t.elapsed());
}
