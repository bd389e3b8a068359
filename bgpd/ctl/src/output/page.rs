//! A page about one thing: a title, labelled values, sections, tables.

use crate::output::Screen;
use crate::output::cell::Cell;
use crate::output::table::{Column, Table};

/// A page that is being written.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    screen: &'a Screen,
    text: String,
    fields: Table,
}

impl<'a> Page<'a> {
    /// An empty page.
    pub(crate) fn new(screen: &'a Screen) -> Self {
        Self {
            screen,
            text: String::new(),
            fields: fields(),
        }
    }

    /// A line of its own.
    pub(crate) fn line(&mut self, text: impl Into<Cell>) -> &mut Self {
        self.write_fields();
        self.text += &text.into().painted(self.screen);
        self.text.push('\n');
        self
    }

    /// A heading, one empty line below what is there.
    pub(crate) fn section(&mut self, heading: impl Into<Cell>) -> &mut Self {
        self.write_fields();
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line(heading)
    }

    /// A labelled value; nothing when the value is empty.
    pub(crate) fn field(&mut self, label: &str, value: impl Into<Cell>) -> &mut Self {
        let value = value.into();
        if !value.is_empty() {
            self.fields.row([label.into(), value]);
        }
        self
    }

    /// A table, one empty line below what is there; nothing when it has no rows.
    pub(crate) fn table(&mut self, mut table: Table) -> &mut Self {
        self.write_fields();
        if table.pending() > 0 {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text += &table.render(self.screen);
        }
        self
    }

    /// Indented lines.
    pub(crate) fn rows(&mut self, table: Table) -> &mut Self {
        self.write_fields();
        if table.pending() > 0 {
            self.text += &table.headless().indented(INDENT).render(self.screen);
        }
        self
    }

    /// The whole text.
    pub(crate) fn finish(&mut self) -> String {
        self.write_fields();
        std::mem::take(&mut self.text)
    }

    fn write_fields(&mut self) {
        if self.fields.pending() > 0 {
            self.text += &self.fields.render(self.screen);
        }
    }
}

/// All fields of a page share the width of the label column.
fn fields() -> Table {
    Table::new(&[Column::Text(""), Column::Prose("")])
        .headless()
        .indented(INDENT)
        .at_least(0, LABEL_WIDTH)
}

const INDENT: u16 = 2;
const LABEL_WIDTH: u16 = 13;
