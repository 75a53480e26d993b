//! What stands in `#[key(…)]` and in the comment above.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Error, Expr, ExprLit, Lit, Meta, Result, Token, braced, bracketed, token};

/// The words of an attribute in their order, each with its value.
#[derive(Default)]
pub(crate) struct Attributes {
    /// The first paragraph of the comment; what follows is for readers of the code alone.
    pub(crate) doc: String,
    words: Vec<(Ident, TokenStream)>,
}

impl Attributes {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut all = Self::default();
        let mut lines = Vec::new();
        for attribute in attributes {
            match &attribute.meta {
                Meta::NameValue(pair) if pair.path.is_ident("doc") => {
                    if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value {
                        lines.push(text.value().trim().to_owned());
                    }
                }
                meta if meta.path().is_ident("key") => {
                    attribute.parse_args_with(|input: ParseStream<'_>| all.parse(input))?;
                }
                _ => {}
            }
        }
        let paragraph = lines.split(String::is_empty).next().unwrap_or_default().join(" ");
        // Brackets are escaped where they would be a link.
        all.doc = paragraph.replace("\\[", "[").replace("\\]", "]");
        Ok(all)
    }

    fn parse(&mut self, input: ParseStream<'_>) -> Result<()> {
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            let mut value = TokenStream::new();
            if input.parse::<Option<Token![=]>>()?.is_some() {
                while !input.is_empty() && !input.peek(Token![,]) {
                    input.parse::<TokenTree>()?.to_tokens(&mut value);
                }
            }
            self.words.push((word, value));
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    }

    /// Takes a word out, if it is there.
    pub(crate) fn take(&mut self, word: &str) -> Option<TokenStream> {
        let index = self.words.iter().position(|(known, _)| known == word)?;
        Some(self.words.remove(index).1)
    }

    /// Refuses words that nobody took.
    pub(crate) fn finish(self) -> Result<()> {
        match self.words.first() {
            Some((word, _)) => Err(Error::new(word.span(), "this word says nothing here")),
            None => Ok(()),
        }
    }

    /// Takes a default out, as the text that could stand in the file. Its numbers, texts, lists
    /// and tables are also Rust's.
    pub(crate) fn default_value(&mut self) -> Result<TokenStream> {
        match self.take("default") {
            Some(value) => {
                let text = as_written.parse2(value)?;
                Ok(quote!(Some(#text)))
            }
            None => Ok(quote!(None)),
        }
    }

    /// The remaining words as calls: `length, positive` is `length().positive()`. Words that any
    /// key may have do not say what it holds; alone they leave that to the type.
    pub(crate) fn key(&self) -> TokenStream {
        let general = ["entries", "name", "optional", "exactly_one", "at_most_one", "at_least_one"];
        let declared = self.words.first().is_none_or(|(word, _)| general.iter().any(|g| word == g));
        let mut key = if declared { quote!(::keys::key::declared()) } else { quote!(::keys::key) };
        for (index, (word, value)) in self.words.iter().enumerate() {
            let joint = if index == 0 && !declared { quote!(::) } else { quote!(.) };
            key = quote!(#key #joint #word(#value));
        }
        key
    }

    /// The same for a table whose keys stand here; without a word it is given what this one is.
    pub(crate) fn flat_key(&self) -> TokenStream {
        if self.words.is_empty() { quote!(::keys::key::given()) } else { self.key() }
    }

    /// A comment that documents a key is a sentence.
    pub(crate) fn sentence(&self, at: &Ident) -> Result<&str> {
        let missing = "say in a comment above what the key means, with a full stop";
        if self.doc.ends_with('.') { Ok(&self.doc) } else { Err(Error::new(at.span(), missing)) }
    }

    /// A comment that stands behind a colon: without its full stop and capital.
    pub(crate) fn clause(&self, at: &Ident) -> Result<String> {
        let sentence = self.sentence(at)?;
        let mut letters = sentence.strip_suffix('.').unwrap_or(sentence).chars();
        let first = letters.next().into_iter().flat_map(char::to_lowercase);
        Ok(first.chain(letters).collect())
    }
}

/// A value as the file would write it.
fn as_written(input: ParseStream<'_>) -> Result<String> {
    if input.peek(token::Brace) {
        let content;
        braced!(content in input);
        let entries = separated(&content, |entry| {
            let key: Ident = entry.parse()?;
            entry.parse::<Token![=]>()?;
            Ok(format!("{key} = {}", as_written(entry)?))
        })?;
        return Ok(if entries.is_empty() { "{}".into() } else { format!("{{ {entries} }}") });
    }
    if input.peek(token::Bracket) {
        let content;
        bracketed!(content in input);
        return Ok(format!("[{}]", separated(&content, as_written)?));
    }
    let sign = if input.parse::<Option<Token![-]>>()?.is_some() { "-" } else { "" };
    Ok(format!("{sign}{}", input.parse::<Lit>()?.to_token_stream()))
}

/// Entries between commas.
fn separated(
    input: ParseStream<'_>,
    entry: impl Fn(ParseStream<'_>) -> Result<String>,
) -> Result<String> {
    let mut entries = Vec::new();
    while !input.is_empty() {
        entries.push(entry(input)?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(entries.join(", "))
}
