//! Every operator, what an absent label does, error texts, and a round trip over random selectors.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Expression, Selector};

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn matches(selector: &str, pairs: &[(&str, &str)]) -> bool {
    let parsed: Selector = selector
        .parse()
        .unwrap_or_else(|error| panic!("{selector}: {error}"));
    parsed.matches(&labels(pairs))
}

#[test]
fn every_operator_tests_the_label() {
    let node = [
        ("rack", "rack-a1"),
        ("kubernetes.io/os", "linux"),
        ("empty", ""),
    ];
    for (selector, expected) in [
        ("", true),
        ("  ", true),
        ("all()", true),
        ("global()", true),
        ("all ( )", true),
        ("rack == 'rack-a1'", true),
        ("rack == \"rack-a1\"", true),
        ("rack=='rack-a1'", true),
        ("rack == 'rack-a'", false),
        ("rack != 'rack-a'", true),
        ("rack != 'rack-a1'", false),
        ("rack in {'x', 'rack-a1'}", true),
        ("rack in{'x'}", false),
        ("rack in {}", false),
        ("rack not in {'x', \"y\"}", true),
        ("rack notin {'rack-a1'}", false),
        ("rack contains '-a'", true),
        ("rack contains 'b'", false),
        ("rack starts with 'rack'", true),
        ("rack startswith 'a1'", false),
        ("rack ends  with 'a1'", true),
        ("rack ends with 'rack'", false),
        ("has(rack)", true),
        ("has ( rack )", true),
        ("has(row)", false),
        ("!has(row)", true),
        ("! has(rack)", false),
        ("has(empty) && empty == ''", true),
        ("kubernetes.io/os == 'linux'", true),
        ("rack == 'it\"s'", false),
    ] {
        assert_eq!(matches(selector, &node), expected, "{selector}");
    }
}

#[test]
fn an_absent_label_satisfies_the_negative_tests_only() {
    for (selector, expected) in [
        ("a == ''", false),
        ("a in {''}", false),
        ("a contains ''", false),
        ("a starts with ''", false),
        ("a ends with ''", false),
        ("has(a)", false),
        ("a != 'x'", true),
        ("a not in {'x'}", true),
        ("!has(a)", true),
        ("!(a == 'x')", true),
    ] {
        assert_eq!(matches(selector, &[]), expected, "{selector}");
    }
}

#[test]
fn and_binds_closer_than_or_and_not_closest() {
    let node = [("a", "1")];
    assert!(matches("has(a) || has(b) && has(c)", &node));
    assert!(!matches("(has(a) || has(b)) && has(c)", &node));
    assert!(matches("!has(b) && has(a)", &node));
    assert!(!matches("!(has(b) || has(a))", &node));
    assert!(matches("!!has(a)", &node));
}

#[test]
fn labels_may_be_called_like_words_of_the_language() {
    assert!(matches(
        "in == 'x' && not == 'y' && has == 'z' && all in {'w'}",
        &[("in", "x"), ("not", "y"), ("has", "z"), ("all", "w"),]
    ));
}

#[test]
fn equality_is_that_of_the_text() {
    let parse = |text: &str| text.parse::<Selector>().unwrap();
    assert_eq!(parse("has(a)"), parse("has(a)"));
    assert_ne!(parse("has(a)"), parse("has( a )"));
    assert_eq!(parse(" has(a) ").to_string(), " has(a) ");
}

#[test]
fn errors_say_what_was_expected_and_where() {
    let texts = [
        "rack = 'a'",
        "rack",
        "rack == a",
        "rack == 'a",
        "rack in 'a'",
        "rack in {'a'",
        "rack in {'a' 'b'}",
        "rack in {'a',}",
        "has(rack",
        "has()",
        "has('rack')",
        "any()",
        "(has(a)",
        "has(a))",
        "has(a) &&",
        "has(a) & has(b)",
        "has(a) has(b)",
        "|| has(a)",
        "rack starts 'a'",
        "röck == 'a'",
        "rack == 'ä' ?",
        "rack === 'a'",
        "rack includes 'a'",
    ];
    let mut table = String::new();
    for text in texts {
        let error = text.parse::<Selector>().unwrap_err();
        table += &format!("{text:<20} {error}\n");
    }
    insta::assert_snapshot!(table);
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}has(a){}", "(".repeat(depth), ")".repeat(depth));
    assert!(nested(50).parse::<Selector>().is_ok());
    assert!(nested(100_000).parse::<Selector>().is_err());
    assert!("!".repeat(100_000).parse::<Selector>().is_err());
}

fn label() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "in", "has", "x.io/y-z"]).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "ab", "ba", "it's", "ä && b"]).prop_map(str::to_owned)
}

fn expressions() -> impl Strategy<Value = Expression> {
    let texts = || prop::collection::btree_set(text(), 0..3);
    let leaf = prop_oneof![
        Just(Expression::Everything),
        label().prop_map(Expression::Has),
        (label(), text()).prop_map(|(l, t)| Expression::Equal(l, t)),
        (label(), text()).prop_map(|(l, t)| Expression::NotEqual(l, t)),
        (label(), texts()).prop_map(|(l, t)| Expression::In(l, t)),
        (label(), texts()).prop_map(|(l, t)| Expression::NotIn(l, t)),
        (label(), text()).prop_map(|(l, t)| Expression::Contains(l, t)),
        (label(), text()).prop_map(|(l, t)| Expression::StartsWith(l, t)),
        (label(), text()).prop_map(|(l, t)| Expression::EndsWith(l, t)),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|inner| Expression::Not(Box::new(inner))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::And),
            prop::collection::vec(inner, 2..4).prop_map(Expression::Or),
        ]
    })
}

/// Writes an expression with parentheses around everything that is not a leaf.
fn write(expression: &Expression, space: &str) -> String {
    let quote = |text: &String| {
        if text.contains('\'') {
            format!("\"{text}\"")
        } else {
            format!("'{text}'")
        }
    };
    let set = |texts: &BTreeSet<String>| {
        format!(
            "{{{}}}",
            texts.iter().map(quote).collect::<Vec<_>>().join(",")
        )
    };
    let join = |parts: &[Expression], operator: &str| {
        let parts: Vec<String> = parts
            .iter()
            .map(|part| format!("({})", write(part, space)))
            .collect();
        parts.join(&format!("{space}{operator}{space}"))
    };
    match expression {
        Expression::Everything => "all()".to_owned(),
        Expression::Has(label) => format!("has({space}{label})"),
        Expression::Equal(label, text) => format!("{label}{space}=={space}{}", quote(text)),
        Expression::NotEqual(label, text) => format!("{label}{space}!={space}{}", quote(text)),
        Expression::In(label, texts) => format!("{label} in{space}{}", set(texts)),
        Expression::NotIn(label, texts) => format!("{label} not in{space}{}", set(texts)),
        Expression::Contains(label, text) => format!("{label} contains{space}{}", quote(text)),
        Expression::StartsWith(label, text) => format!("{label} starts with{space}{}", quote(text)),
        Expression::EndsWith(label, text) => format!("{label} ends with{space}{}", quote(text)),
        Expression::Not(inner) => format!("!{space}({})", write(inner, space)),
        Expression::And(parts) => join(parts, "&&"),
        Expression::Or(parts) => join(parts, "||"),
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        expression in expressions(),
        space in prop::sample::select(vec!["", " ", "\n\t "]),
    ) {
        let parsed: Selector = write(&expression, space).parse().unwrap();
        prop_assert_eq!(parsed.expression, expression);
    }

    #[test]
    fn not_inverts_and_the_laws_of_de_morgan_hold(
        left in expressions(),
        right in expressions(),
        values in prop::collection::btree_map(label(), text(), 0..4),
    ) {
        let selects = |text: String| text.parse::<Selector>().unwrap().matches(&values);
        let (a, b) = (write(&left, " "), write(&right, " "));
        prop_assert_ne!(selects(a.clone()), selects(format!("!({a})")));
        let neither = selects(format!("!(({a}) || ({b}))"));
        prop_assert_eq!(neither, selects(format!("!({a}) && !({b})")));
        let not_both = selects(format!("!(({a}) && ({b}))"));
        prop_assert_eq!(not_both, selects(format!("!({a}) || !({b})")));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[ab'\"(){}!&|=, a-zäin]{0,40}") {
        if let Err(error) = text.parse::<Selector>() {
            prop_assert!(error.position <= text.chars().count() + 1);
        }
    }
}
