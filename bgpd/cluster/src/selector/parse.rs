//! The parser of selectors: recursive descent over the text, errors with the place and what was expected there.

use std::collections::BTreeSet;

use super::Expression;

/// Why a text is no selector.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected {expected} at character {position}, found {found}")]
pub struct ParseSelectorError {
    /// What would have been right.
    pub expected: String,
    /// Where, counted in characters from 1.
    pub position: usize,
    /// What is there.
    pub found: String,
}

pub(super) fn parse(text: &str) -> Result<Expression, ParseSelectorError> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    parser.skip_space();
    if parser.rest().is_empty() {
        return Ok(Expression::Everything);
    }
    let expression = parser.or()?;
    if !parser.rest().is_empty() {
        return Err(parser.expected("&&, || or the end"));
    }
    Ok(expression)
}

struct Parser<'a> {
    text: &'a str,
    /// Byte offset of the next character; after every step, never at white space.
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, ParseSelectorError>;

impl<'a> Parser<'a> {
    fn or(&mut self) -> Parsed<Expression> {
        let mut parts = vec![self.and()?];
        while self.take("||") {
            parts.push(self.and()?);
        }
        Ok(one_or(parts, Expression::Or))
    }

    fn and(&mut self) -> Parsed<Expression> {
        let mut parts = vec![self.term()?];
        while self.take("&&") {
            parts.push(self.term()?);
        }
        Ok(one_or(parts, Expression::And))
    }

    fn term(&mut self) -> Parsed<Expression> {
        if self.depth == MAX_DEPTH {
            return Err(self.expected(&format!("at most {MAX_DEPTH} nested ! and parentheses")));
        }
        self.depth += 1;
        let term = if !self.rest().starts_with("!=") && self.take("!") {
            Expression::Not(Box::new(self.term()?))
        } else if self.take("(") {
            let inner = self.or()?;
            self.need(")")?;
            inner
        } else {
            self.label_or_function()?
        };
        self.depth -= 1;
        Ok(term)
    }

    fn label_or_function(&mut self) -> Parsed<Expression> {
        let label = self.label("a label, has(), all(), global(), ! or (")?;
        if !self.rest().starts_with('(') {
            return self.test(label);
        }
        let expression = match label {
            "all" | "global" => {
                self.need("(")?;
                Expression::Everything
            }
            "has" => {
                self.need("(")?;
                Expression::Has(self.label("a label")?.to_owned())
            }
            other => {
                return Err(self.expected(&format!(
                    "an operator after label {other:?} (the functions are has(), all() and global())"
                )));
            }
        };
        self.need(")")?;
        Ok(expression)
    }

    fn test(&mut self, label: &str) -> Parsed<Expression> {
        let operators = "==, !=, in, not in, contains, starts with or ends with";
        let operator = format!("an operator ({operators}) after label {label:?}");
        let label = label.to_owned();
        if self.take("==") {
            Ok(Expression::Equal(label, self.quoted()?))
        } else if self.take("!=") {
            Ok(Expression::NotEqual(label, self.quoted()?))
        } else if self.take_words(&["in"]) {
            Ok(Expression::In(label, self.set()?))
        } else if self.take_words(&["not", "in"]) {
            Ok(Expression::NotIn(label, self.set()?))
        } else if self.take_words(&["contains"]) {
            Ok(Expression::Contains(label, self.quoted()?))
        } else if self.take_words(&["starts", "with"]) {
            Ok(Expression::StartsWith(label, self.quoted()?))
        } else if self.take_words(&["ends", "with"]) {
            Ok(Expression::EndsWith(label, self.quoted()?))
        } else {
            Err(self.expected(&operator))
        }
    }

    fn set(&mut self) -> Parsed<BTreeSet<String>> {
        self.need("{")?;
        let mut texts = BTreeSet::new();
        if self.take("}") {
            return Ok(texts);
        }
        loop {
            texts.insert(self.quoted()?);
            if self.take("}") {
                return Ok(texts);
            }
            if !self.take(",") {
                return Err(self.expected(", or }"));
            }
        }
    }

    fn quoted(&mut self) -> Parsed<String> {
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return Err(self.expected("a value in quotes, such as 'rack-a'"));
        };
        let Some(length) = rest[1..].find(quote) else {
            self.at = self.text.len();
            return Err(self.expected(&format!("the closing {quote}")));
        };
        let text = rest[1..=length].to_owned();
        self.advance(length + 2);
        Ok(text)
    }

    fn label(&mut self, what: &str) -> Parsed<&'a str> {
        let rest = self.rest();
        let end = rest.find(|c: char| !is_label(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.expected(what));
        }
        self.advance(end);
        Ok(&rest[..end])
    }

    /// Takes words with any white space, or none, between them, if a word boundary follows.
    fn take_words(&mut self, words: &[&str]) -> bool {
        let mut rest = self.rest();
        for word in words {
            let Some(after) = rest.trim_start().strip_prefix(word) else {
                return false;
            };
            rest = after;
        }
        if rest.starts_with(is_label) {
            return false;
        }
        self.advance(self.rest().len() - rest.len());
        true
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.advance(token.len());
        }
        found
    }

    fn need(&mut self, token: &str) -> Parsed<()> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.expected(token))
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.skip_space();
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn expected(&self, what: &str) -> ParseSelectorError {
        let rest = self.rest();
        let label = rest.find(|c: char| !is_label(c)).unwrap_or(rest.len());
        let found = match (label, rest.chars().next()) {
            (_, None) => "the end".to_owned(),
            (0, Some(c)) => format!("{:?}", c.to_string()),
            (_, Some(_)) => format!("{:?}", &rest[..label]),
        };
        let position = self.text[..self.at].chars().count() + 1;
        ParseSelectorError {
            expected: what.to_owned(),
            position,
            found,
        }
    }
}

fn one_or(
    mut parts: Vec<Expression>,
    join: impl FnOnce(Vec<Expression>) -> Expression,
) -> Expression {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            join(parts)
        }
    }
}

fn is_label(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-')
}

/// Bounds the parser's recursion; Calico's own examples stay below five.
const MAX_DEPTH: usize = 100;
