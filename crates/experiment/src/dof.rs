//! References to degrees of freedom, by number or by name.

use std::fmt;
use std::ops::Range;

use keys::describe::{Length, Reference, Shape};
use keys::key::Declared;
use keys::tree::{Node, Value};
use keys::{Is, Read};
use serde::{Deserialize, Serialize};

use super::diagnostic::{Diagnostic, shorten};
use super::spelling::nearest;

/// A degree of freedom as the file refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DofRef {
    /// Its number or name.
    pub label: DofLabel,
    /// Where the file says so.
    pub span: Range<usize>,
}

/// How a degree of freedom is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DofLabel {
    /// By its number, counted from 1.
    Number(usize),
    /// By its name in `structure.names`.
    Name(String),
}

/// One end of an element or a deformation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeRef {
    /// What does not move relative to the ground.
    Ground,
    /// A degree of freedom.
    Dof(DofRef),
}

/// The word for [`NodeRef::Ground`], which no degree of freedom may be named.
pub(crate) const GROUND: &str = "ground";

/// What a degree of freedom is called by. Matrix files and meshes may be large.
static DOF: Reference = Reference {
    one: "a degree of freedom",
    many: "degrees of freedom",
    highest: 10_000_000,
    or: None,
};
static NODE: Reference = Reference { or: Some(GROUND), ..DOF };

/// The index from 0 of a degree of freedom in a structure of `size` degrees of
/// freedom, called `names` (empty if they have none).
pub fn resolve(dof: &DofRef, names: &[String], size: usize) -> Result<usize, Diagnostic> {
    match &dof.label {
        DofLabel::Number(number) if (1..=size).contains(number) => Ok(number - 1),
        DofLabel::Number(number) => {
            Err(Diagnostic::error(format!("there is no degree of freedom {number}"))
                .at(dof.span.clone())
                .remedy(format!("the structure has {size}, counted from 1")))
        }
        DofLabel::Name(name) => {
            let index = names.iter().position(|known| known == name);
            index.filter(|&index| index < size).ok_or_else(|| unknown_name(dof, name, names))
        }
    }
}

fn unknown_name(dof: &DofRef, name: &str, names: &[String]) -> Diagnostic {
    let error = Diagnostic::error(format!("no degree of freedom is called \"{}\"", shorten(name)))
        .at(dof.span.clone());
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => error.remedy(format!("did you mean \"{}\"?", shorten(near))),
        None if names.is_empty() => {
            error.remedy("give its number, or name every degree of freedom in structure.names")
        }
        None => {
            let shown: Vec<String> = names.iter().take(8).map(|known| shorten(known)).collect();
            let more = if names.len() > 8 { ", …" } else { "" };
            error.remedy(format!("structure.names has {}{more}", shown.join(", ")))
        }
    }
}

impl DofRef {
    /// The component that its name begins with.
    pub fn component(&self) -> Option<&str> {
        let DofLabel::Name(name) = &self.label else { return None };
        name.split_once('.').map(|(component, _)| component)
    }

    /// What its component calls it.
    pub fn local(&self) -> Option<Self> {
        let DofLabel::Name(name) = &self.label else { return None };
        let (_, rest) = name.split_once('.')?;
        let number = rest.parse().ok().filter(|_| !rest.starts_with('+'));
        let label = number.map_or_else(|| DofLabel::Name(rest.to_owned()), DofLabel::Number);
        Some(Self { label, span: self.span.clone() })
    }

    /// What the whole structure calls a DOF of a component.
    pub fn within(&self, component: &str) -> Self {
        Self { label: DofLabel::Name(format!("{component}.{self}")), span: self.span.clone() }
    }
}

impl NodeRef {
    /// The degree of freedom, if it is one.
    pub fn dof(&self) -> Option<&DofRef> {
        match self {
            Self::Ground => None,
            Self::Dof(dof) => Some(dof),
        }
    }
}

impl Read for DofRef {
    fn read(node: &Node) -> Option<Self> {
        let label = match &node.value {
            Value::Count(number) => DofLabel::Number(usize::try_from(*number).ok()?),
            Value::Text(name) => DofLabel::Name(name.clone()),
            _ => return None,
        };
        Some(Self { label, span: node.span.clone() })
    }
}

impl Is<Declared> for DofRef {
    fn shape(_: Shape, _: Option<Length>) -> Shape {
        Shape::Reference(&DOF)
    }
}

impl Read for NodeRef {
    fn read(node: &Node) -> Option<Self> {
        if node.text() == Some(GROUND) {
            return Some(Self::Ground);
        }
        DofRef::read(node).map(Self::Dof)
    }
}

impl Is<Declared> for NodeRef {
    fn shape(_: Shape, _: Option<Length>) -> Shape {
        Shape::Reference(&NODE)
    }
}

impl fmt::Display for DofRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            DofLabel::Number(number) => write!(f, "{number}"),
            DofLabel::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> DofRef {
        DofRef { label: DofLabel::Name(name.into()), span: 0..1 }
    }

    fn numbered(number: usize) -> DofRef {
        DofRef { label: DofLabel::Number(number), span: 0..1 }
    }

    #[test]
    fn references_resolve_to_indices_from_zero() {
        let names = ["floor1".to_owned(), "roof".to_owned()];
        assert_eq!(resolve(&numbered(1), &names, 2), Ok(0));
        assert_eq!(resolve(&named("roof"), &names, 2), Ok(1));
        for bad in [0, 3, usize::MAX] {
            assert!(resolve(&numbered(bad), &names, 2).is_err());
        }
        let error = resolve(&named("rof"), &names, 2).expect_err("typo");
        assert_eq!(error.remedy.as_deref(), Some("did you mean \"roof\"?"));
        let error = resolve(&named("roof"), &[], 2).expect_err("no names");
        assert!(error.remedy.expect("remedy").contains("structure.names"));
    }
}
