//! The fields of a struct or variant.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Error, Fields, Ident, Result};

use crate::attributes::Attributes;

/// The fields of a struct or variant.
pub(crate) struct Parts<'a> {
    /// Each that is in the file as a `Part`.
    pub(crate) describe: Vec<TokenStream>,
    /// Where each value comes from.
    read: Vec<(&'a Ident, TokenStream)>,
    /// Those that are keys themselves, each with the key's name.
    pub(crate) keys: Vec<(Ident, TokenStream)>,
}

impl<'a> Parts<'a> {
    pub(crate) fn of(fields: &'a Fields) -> Result<Self> {
        let mut parts = Self { describe: Vec::new(), read: Vec::new(), keys: Vec::new() };
        for field in fields {
            let (Some(ident), kind) = (&field.ident, &field.ty) else {
                return Err(Error::new(field.span(), "give the field a name: it is the key"));
            };
            let mut attributes = Attributes::of(&field.attrs)?;
            if let Some(value) = attributes.take("skip") {
                attributes.finish()?;
                let value = if value.is_empty() { quote!(Default::default()) } else { value };
                parts.read.push((ident, quote!(Some(#value))));
                continue;
            }
            if attributes.take("flatten").is_some() {
                let key = attributes.flat_key();
                parts.describe.push(quote!(#key.flat(<#kind as ::keys::Keys>::table_of)));
                parts.read.push((ident, quote!(<#kind as ::keys::Keys>::read_table(branch))));
                continue;
            }
            let (default, name) = (attributes.default_value()?, ident.to_string());
            let (key, doc) = (attributes.key(), attributes.sentence(ident)?);
            parts.describe.push(quote!(#key.part::<#kind>(#name, #default, #doc)));
            let name = quote!(const { #key.of(#name) });
            parts.read.push((ident, quote!(::keys::value::key::<#kind>(branch, #name))));
            parts.keys.push((ident.clone(), name));
        }
        Ok(parts)
    }

    /// The value, made by `constructor`.
    pub(crate) fn read(&self, constructor: &TokenStream) -> TokenStream {
        let (names, values): (Vec<_>, Vec<_>) = self.read.iter().cloned().unzip();
        quote!(Some(#constructor { #( #names: #values? ),* }))
    }
}

/// A constant for each key.
pub(crate) fn constants(keys: &[(Ident, TokenStream)]) -> TokenStream {
    let mut seen: Vec<String> = Vec::new();
    let mut constants = TokenStream::new();
    for (ident, key) in keys {
        let name = ident.to_string().to_uppercase();
        if seen.contains(&name) {
            continue;
        }
        let constant = Ident::new(&name, ident.span());
        constants.extend(quote!(pub const #constant: &'static str = #key;));
        seen.push(name);
    }
    constants
}
