//! A channel of a record: its name, its unit and what it means.

/// One recorded quantity. Values are always in the stated SI unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Dotted name, for instance `measured.1` or `energy.input`.
    pub name: String,
    /// SI unit as text (`m`, `N`, `J`, `%`), empty for a pure number.
    pub unit: String,
    /// One sentence for the person who opens the record in ten years.
    pub description: String,
}

impl Channel {
    /// A channel from its three texts.
    pub fn new(
        name: impl Into<String>,
        unit: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), unit: unit.into(), description: description.into() }
    }
}
