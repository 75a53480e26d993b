//! Facts of the machine a test ran on.

use std::fs;

/// Name and value of each fact that could be found.
pub fn facts() -> Vec<(String, String)> {
    let first_line = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        Some(text.lines().next()?.trim().to_owned()).filter(|line| !line.is_empty())
    };
    let processor = || {
        let text = fs::read_to_string("/proc/cpuinfo").ok()?;
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cores = || std::thread::available_parallelism().ok().map(|cores| cores.to_string());
    [
        ("system", Some(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH))),
        ("kernel", first_line("/proc/sys/kernel/osrelease")),
        ("real-time kernel", first_line("/sys/kernel/realtime")),
        ("processor", processor()),
        ("cores", cores()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}
