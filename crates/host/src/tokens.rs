//! The two tokens of a host, and what each lets its owner do.

use runtime::host::Token;
use serde::Serialize;
use utoipa::ToSchema;

/// What a token lets its owner do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Read.
    Viewer,
    /// Also write, study, control and stop.
    Operator,
}

/// The two tokens.
pub(crate) struct Tokens {
    pub(crate) operator: Token,
    pub(crate) viewer: Token,
}

impl Tokens {
    /// Whose token these bytes are.
    pub(crate) fn role(&self, said: &[u8]) -> Option<Role> {
        let (operator, viewer) = (self.operator.is(said), self.viewer.is(said));
        if operator { Some(Role::Operator) } else { viewer.then_some(Role::Viewer) }
    }
}
