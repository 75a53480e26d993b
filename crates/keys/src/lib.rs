//! How a table of a file is declared once, on the type that it fills.
//!
//! `#[derive(Keys)]` makes of a type the description of its table ([`describe`]) and the way from
//! checked values ([`tree`]) to the type itself ([`value`]). What a key holds is said with the
//! words of [`key`]: `#[key(length, positive, default = "20 mm")]`. There is no file format in
//! here: who reads one checks it along the description and makes a tree.
//!
//! ```
//! use keys::Keys;
//!
//! /// What the gate never lets through.
//! #[derive(Debug, PartialEq, Keys)]
//! struct Limits {
//!     /// Largest command, either way.
//!     #[key(length, positive)]
//!     command_m: Option<f64>,
//!     /// How long the command is held.
//!     #[key(time, not_negative, default = "0.5 s")]
//!     hold_s: f64,
//! }
//!
//! let keys: Vec<&str> = Limits::table().fields.iter().map(|field| field.key).collect();
//! assert_eq!(keys, ["command", "hold"]);
//! ```
//!
//! Slips in a declaration are errors of the compiler: a misspelt word, a quantity that the type
//! cannot hold, a key without documentation, an enum that does not say how it is told apart.
//!
//! ```compile_fail
//! # use keys::Keys;
//! /// A table.
//! #[derive(Keys)]
//! struct Table {
//!     /// A key.
//!     #[key(lenght)]
//!     one: f64,
//! }
//! ```
//! ```compile_fail
//! # use keys::Keys;
//! /// A table.
//! #[derive(Keys)]
//! struct Table {
//!     /// A key.
//!     #[key(length)]
//!     one: u64,
//! }
//! ```
//! ```compile_fail
//! # use keys::Keys;
//! /// A table.
//! #[derive(Keys)]
//! struct Table {
//!     #[key(length)]
//!     one: f64,
//! }
//! ```
//! ```compile_fail
//! # use keys::Keys;
//! /// A table.
//! #[derive(Keys)]
//! enum Table {
//!     /// A way.
//!     One(f64),
//! }
//! ```

#![forbid(unsafe_code)]

// The derived code names this crate by its name, also inside it.
extern crate self as keys;

pub mod describe;
pub mod diagnostic;
pub mod key;
pub mod quantity;
pub mod quote;
pub mod read;
pub mod tree;
pub mod units;
pub mod value;

#[cfg(test)]
mod tests;

pub use keys_derive::Keys;
pub use read::{Is, Keys, Read};
pub use value::{Placed, Stated};
