//! `#[derive(Keys)]`: a table of a file, declared once, on the type that it fills.
//!
//! | type | in the file |
//! |---|---|
//! | struct | a table; a field is a key, less the unit at the end of its name |
//! | enum with `#[key(tag = "kind")]` | a table in which `kind = "…"` chooses the variant |
//! | enum with `#[key(one_of)]` | a table in which the key that is there chooses it |
//! | enum with `#[key(either)]` | forms that the type of the value tells apart |
//! | enum without fields | one of a few words |
//!
//! A field's comment is its documentation, the words in `#[key(…)]` say what it holds
//! (`keys::key` has them), and these are known here:
//!
//! | word | says |
//! |---|---|
//! | `default = …` | the value, as the file would have it, that stands for an absent key |
//! | `flatten` | the keys of the field's type stand in this table |
//! | `skip`, `skip = …` | not in the file: the type's default value, or this |
//! | `tag`, `tag_doc`, `absent` | the key that chooses, what it chooses, the word that absence means |
//! | `given` (of a type) | its keys measure what the place says |
//! | `check = …` (of a table) | `fn(&Self, &Branch, &mut Vec<Diagnostic>)`: what must hold between its keys |
//! | `dashed`, `word = …` | how words are spelt that are not like their variants |
//!
//! Beside the traits of `keys`, a type gets a constant for each key, `Limits::COMMAND`, so that
//! who looks a key up in the tree does not spell it again, and an enum with a `tag` the `WORDS` of
//! its variants and the `word` of a value.

#![forbid(unsafe_code)]

mod attributes;
mod fields;

use attributes::Attributes;
use fields::{Parts, constants};
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, Ident, LitStr, Result, Type, Variant};

/// Makes a type one that a table of the file, or a word in it, fills.
#[proc_macro_derive(Keys, attributes(key))]
pub fn derive(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|error| error.into_compile_error()).into()
}

/// The parts of the implementations.
struct Table {
    /// The description, from `given`.
    describe: TokenStream,
    /// The value, from `branch`.
    read: TokenStream,
    /// Whether one of its keys is there, from `branch`.
    chosen: Option<TokenStream>,
    /// Fields that are keys, with their `Key`.
    keys: Vec<(Ident, TokenStream)>,
    /// Variants that a word tells, with it.
    words: Vec<(Ident, String)>,
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let mut attributes = Attributes::of(&input.attrs)?;
    let given = attributes.take("given").is_some();
    let table = match &input.data {
        Data::Struct(data) => record(&data.fields, &attributes)?,
        Data::Enum(data) => {
            if let Some(tag) = attributes.take("tag") {
                tagged(data, &mut attributes, &tag)?
            } else if attributes.take("one_of").is_some() {
                one_of(data, &attributes)?
            } else if attributes.take("either").is_some() {
                attributes.finish()?;
                return either(name, data, given);
            } else {
                return words(name, data, attributes);
            }
        }
        Data::Union(_) => return Err(Error::new(name.span(), "a union has no keys")),
    };
    let check = attributes.take("check");
    attributes.finish()?;
    let Table { mut describe, read, chosen, keys, words } = table;
    if let Some(check) = check {
        describe = quote! {
            #describe.checked(|branch, found| {
                if let Some(table) = <Self as ::keys::Keys>::read_table(branch) {
                    #check(&table, branch, found);
                }
            })
        };
    }
    let place = if given { quote!(Some(leaf)) } else { quote!(None) };
    let shape = quote!(::keys::value::nested::<Self>(#place));
    let value =
        value(name, given, &shape, &quote!(<Self as ::keys::Keys>::read_table(node.table()?)));
    let (constants, words) = (constants(&keys), word_of_each(&words));
    let chosen = chosen.into_iter();
    Ok(quote! {
        #value
        #[automatically_derived]
        impl ::keys::Keys for #name {
            fn table_of(given: Option<::keys::describe::Shape>) -> ::keys::describe::Table {
                #describe
            }
            fn read_table(branch: &::keys::tree::Branch) -> Option<Self> {
                #read
            }
            #( fn is_chosen(branch: &::keys::tree::Branch) -> bool { #chosen } )*
        }
        #[doc(hidden)]
        #[allow(dead_code, missing_docs, unreachable_pub)]
        impl #name {
            #constants
            #words
        }
    })
}

/// A struct: its fields are the keys.
fn record(fields: &Fields, attributes: &Attributes) -> Result<Table> {
    let parts = Parts::of(fields)?;
    let (describe, doc) = (&parts.describe, &attributes.doc);
    Ok(Table {
        describe: quote!(::keys::key::table(#doc, const { &[#(#describe),*] }, given)),
        read: parts.read(&quote!(Self)),
        chosen: parts.keys.first().map(|(_, first)| quote!(branch.mentions(#first))),
        keys: parts.keys,
        words: Vec::new(),
    })
}

/// The words of the variants, and that of a value.
fn word_of_each(variants: &[(Ident, String)]) -> TokenStream {
    if variants.is_empty() {
        return TokenStream::new();
    }
    let (names, words): (Vec<_>, Vec<_>) = variants.iter().cloned().unzip();
    quote! {
        pub const WORDS: &'static [&'static str] = &[#(#words),*];
        pub const fn word(&self) -> &'static str {
            match self { #( Self::#names { .. } => #words, )* }
        }
    }
}

/// `kind = "…"` chooses the variant; its keys stand beside it.
fn tagged(data: &DataEnum, attributes: &mut Attributes, tag: &TokenStream) -> Result<Table> {
    let (mut cases, mut arms, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    let mut words = Vec::new();
    for variant in &data.variants {
        let (name, mut own) = (&variant.ident, Attributes::of(&variant.attrs)?);
        let (word, doc) = (word_of(variant, &mut own, '_')?, own.clause(name)?);
        let (parts, read) = if let Some(inner) = payload(variant)? {
            let key = own.flat_key();
            own = Attributes::default();
            (
                vec![quote!(#key.flat(<#inner as ::keys::Keys>::table_of))],
                quote!(<#inner as ::keys::Keys>::read_table(branch).map(Self::#name)),
            )
        } else {
            let parts = Parts::of(&variant.fields)?;
            let read = parts.read(&quote!(Self::#name));
            keys.extend(parts.keys);
            (parts.describe, read)
        };
        own.finish()?;
        cases.push(quote!(::keys::key::Case { word: #word, doc: #doc, parts: &[#(#parts),*] }));
        arms.push(quote!(#word => #read));
        words.push((name.clone(), word));
    }
    let absent = attributes.take("absent").map_or(quote!(None), |word| quote!(Some(#word)));
    let doc = &attributes.doc.clone();
    let tag_doc = attributes.take("tag_doc").unwrap_or(quote!(#doc));
    let describe = quote! {
        ::keys::key::tagged(#doc, (#tag, #tag_doc), #absent, const { &[#(#cases),*] }, given)
    };
    let read = quote!(match branch.word(#tag)? { #(#arms,)* _ => None });
    keys.push((Ident::new("tag", proc_macro2::Span::call_site()), tag.clone()));
    Ok(Table { describe, read, chosen: None, keys, words })
}

/// The key that is there chooses the variant: that of its one value, or the first of its fields.
fn one_of(data: &DataEnum, attributes: &Attributes) -> Result<Table> {
    let (mut ways, mut reads, mut keys, mut chosen) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        let (name, mut own) = (&variant.ident, Attributes::of(&variant.attrs)?);
        let (parts, is_there, read) = match payload(variant)? {
            Some(inner) if own.take("flatten").is_some() => {
                let key = own.flat_key();
                (
                    vec![quote!(#key.flat(<#inner as ::keys::Keys>::table_of))],
                    quote!(<#inner as ::keys::Keys>::is_chosen(branch)),
                    quote!(<#inner as ::keys::Keys>::read_table(branch).map(Self::#name)),
                )
            }
            Some(inner) => {
                let (word, doc) =
                    (word_of(variant, &mut own, '_')?, own.sentence(name)?.to_owned());
                let key = own.key();
                let first = quote!(const { #key.of(#word) });
                keys.push((Ident::new(&word, name.span()), first.clone()));
                let read = quote!(::keys::value::key::<#inner>(branch, #first).map(Self::#name));
                let parts = vec![quote!(#key.part::<#inner>(#word, None, #doc))];
                (parts, quote!(branch.mentions(#first)), read)
            }
            None => {
                let parts = Parts::of(&variant.fields)?;
                let Some((_, first)) = parts.keys.first().cloned() else {
                    return Err(Error::new(name.span(), "the key of a variant needs a value"));
                };
                let read = parts.read(&quote!(Self::#name));
                keys.extend(parts.keys);
                (parts.describe, quote!(branch.mentions(#first)), read)
            }
        };
        ways.push(quote!(&[#(#parts),*]));
        reads.push(quote!(if #is_there { return #read; }));
        chosen.push(is_there);
    }
    let doc = &attributes.doc;
    Ok(Table {
        describe: quote!(::keys::key::one_of(#doc, const { &[#(#ways),*] }, given)),
        read: quote!(#(#reads)* None),
        chosen: Some(quote!(#(#chosen)||*)),
        keys,
        words: Vec::new(),
    })
}

/// One of a few words.
fn words(name: &Ident, data: &DataEnum, mut attributes: Attributes) -> Result<TokenStream> {
    let joint = if attributes.take("dashed").is_some() { '-' } else { '_' };
    attributes.finish()?;
    let (mut idents, mut words, mut docs) = (Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            let hint =
                "how is it told apart? #[key(tag = \"kind\")], #[key(one_of)] or #[key(either)]";
            return Err(Error::new(name.span(), hint));
        }
        let mut own = Attributes::of(&variant.attrs)?;
        words.push(word_of(variant, &mut own, joint)?);
        docs.push(own.clause(&variant.ident)?);
        own.finish()?;
        idents.push(&variant.ident);
    }
    let shape = quote! {
        ::keys::describe::Shape::Word(const {
            &[#( ::keys::describe::Word { word: #words, doc: #docs } ),*]
        })
    };
    let read = quote! {
        match &node.value {
            #( ::keys::tree::Value::Word(#words) => Some(Self::#idents), )*
            _ => None,
        }
    };
    Ok(value(name, false, &shape, &read))
}

/// One of several forms, told apart by the type of the value.
fn either(name: &Ident, data: &DataEnum, given: bool) -> Result<TokenStream> {
    let (mut shapes, mut reads) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        let ident = &variant.ident;
        let Some(inner) = payload(variant)? else {
            return Err(Error::new(ident.span(), "a form needs a value"));
        };
        let key = Attributes::of(&variant.attrs)?.key();
        shapes.push(quote!(const { #key }.shape::<#inner>(Some(leaf), length)));
        reads.push(quote!(.or_else(|| <#inner as ::keys::Read>::read(node).map(Self::#ident))));
    }
    let shape = quote!(::keys::value::either([#(#shapes),*]));
    Ok(value(name, given, &shape, &quote!(None #(#reads)*)))
}

/// A type that stands behind a key.
fn value(name: &Ident, given: bool, shape: &TokenStream, read: &TokenStream) -> TokenStream {
    let class = if given { quote!(Real) } else { quote!(Declared) };
    quote! {
        #[automatically_derived]
        impl ::keys::Read for #name {
            fn read(node: &::keys::tree::Node) -> Option<Self> {
                #read
            }
        }
        #[automatically_derived]
        impl ::keys::Is<::keys::key::#class> for #name {
            fn shape(
                leaf: ::keys::describe::Shape,
                length: Option<::keys::describe::Length>,
            ) -> ::keys::describe::Shape {
                let _ = (&leaf, &length);
                #shape
            }
        }
    }
}

/// The one value inside a variant such as `Delay(f64)`.
fn payload(variant: &Variant) -> Result<Option<&Type>> {
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Ok(Some(&fields.unnamed[0].ty)),
        Fields::Unnamed(fields) => Err(Error::new(fields.span(), "one value, or named fields")),
        _ => Ok(None),
    }
}

/// `AdaptiveInverse` is `adaptive_inverse` in the file, unless it says otherwise.
fn word_of(variant: &Variant, own: &mut Attributes, joint: char) -> Result<String> {
    if let Some(word) = own.take("word") {
        return Ok(syn::parse2::<LitStr>(word)?.value());
    }
    let mut word = String::new();
    for c in variant.ident.to_string().chars() {
        if c.is_uppercase() && !word.is_empty() {
            word.push(joint);
        }
        word.extend(c.to_lowercase());
    }
    Ok(word)
}
