//! One press of the stop counts once, however often it is sent.

use std::sync::Mutex;

use crate::lock::lock;

/// Longer names of a press are none.
const MOST_CHARS: usize = 64;

/// The last press that had a name, and how often the stop was pressed with it; `None` while it is
/// under way.
#[derive(Default)]
pub(crate) struct LastPress(Mutex<Option<(String, Option<u64>)>>);

/// What a press is that has just come.
#[derive(Debug, PartialEq)]
pub(crate) enum Press {
    /// One to be done.
    New,
    /// Sent again while it is under way.
    UnderWay,
    /// Sent again because its answer was lost.
    Done(u64),
}

impl LastPress {
    pub(crate) fn begin(&self, name: Option<&str>) -> Press {
        let Some(name) = name.filter(|name| name.len() <= MOST_CHARS) else { return Press::New };
        let mut last = lock(&self.0);
        match &*last {
            Some((known, None)) if known == name => Press::UnderWay,
            Some((known, Some(presses))) if known == name => Press::Done(*presses),
            _ => {
                *last = Some((name.to_owned(), None));
                Press::New
            }
        }
    }

    /// What became of it; one that failed may be tried again.
    pub(crate) fn end(&self, name: Option<&str>, presses: Option<u64>) {
        let mut last = lock(&self.0);
        if last.as_ref().is_some_and(|(known, _)| Some(known.as_str()) == name) {
            *last = last.take().zip(presses).map(|((known, _), presses)| (known, Some(presses)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_that_is_sent_again_counts_once() {
        let last = LastPress::default();
        assert_eq!(last.begin(Some("a")), Press::New);
        assert_eq!(last.begin(Some("a")), Press::UnderWay);
        last.end(Some("a"), None);
        assert_eq!(last.begin(Some("a")), Press::New, "it failed");
        last.end(Some("a"), Some(1));
        assert_eq!(last.begin(Some("a")), Press::Done(1));
        assert_eq!(last.begin(Some("b")), Press::New, "a second press");
        last.end(Some("a"), Some(9));
        assert_eq!(last.begin(Some("b")), Press::UnderWay);
        // Without a name each is one.
        assert_eq!(last.begin(None), Press::New);
        assert_eq!(last.begin(None), Press::New);
    }
}
