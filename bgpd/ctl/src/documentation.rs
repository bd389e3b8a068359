//! The examples in docs/cli.md are what the commands print.

use std::path::Path;

/// Panics unless docs/cli.md shows this text.
pub(crate) fn assert_shows(text: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(text.trim_end()),
        "docs/cli.md must show:\n{text}"
    );
}
