//! Facts of the machine a test ran on.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

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

/// Processors that may be used.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The time now in UTC, ISO 8601 to the second.
pub fn utc_now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    utc(since.as_secs())
}

/// Seconds since 1970 in UTC.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years from March to February, so that the leap day comes last; 400 of
    // them have 146 097 days. 1970-01-01 is day 719 468 of this count.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) =
        if month < 10 { (month + 3, year + 400 * era) } else { (month - 9, year + 400 * era + 1) };
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @…`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
