//! Tables like kubectl's: aligned columns, upper-case headers, no borders.
//!
//! Rows can be rendered in instalments. A later one keeps the column widths of those before it where its content
//! allows, so a table of a million routes is aligned without being in memory.

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table as Layout, Width, presets,
};

use crate::output::Screen;
use crate::output::cell::Cell;

/// A column and its header.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Column {
    /// Left-aligned, never wrapped.
    Text(&'static str),
    /// Right-aligned, never wrapped.
    Number(&'static str),
    /// Left-aligned, wrapped to what the screen has left.
    Prose(&'static str),
}

/// A table that is being filled.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// Content widths so far.
    widths: Vec<u16>,
    header: Header,
    indent: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    Due,
    Written,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
            widths: vec![0; columns.len()],
            header: Header::Due,
            indent: 0,
        }
    }

    /// Without a header line.
    pub(super) fn headless(mut self) -> Self {
        self.header = Header::Written;
        self
    }

    /// Moved to the right.
    pub(crate) fn indented(mut self, indent: u16) -> Self {
        self.indent += indent;
        self
    }

    /// With a column that is at least so wide.
    pub(super) fn at_least(mut self, column: usize, width: u16) -> Self {
        if let Some(least) = self.widths.get_mut(column) {
            *least = width;
        }
        self
    }

    /// Adds a row: one cell a column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) -> &mut Self {
        self.rows.push(cells.into());
        self
    }

    /// Rows that are not rendered yet.
    pub(crate) fn pending(&self) -> usize {
        self.rows.len()
    }

    /// Lines of the pending rows, each with its line end; the header comes first, once.
    pub(crate) fn render(&mut self, screen: &Screen) -> String {
        let mut layout = Layout::new();
        layout.force_no_tty().load_style(presets::NOTHING);
        if screen.colour {
            layout.enforce_styling().style_text_only();
        }
        if std::mem::replace(&mut self.header, Header::Written) == Header::Due {
            layout.set_header(self.columns.iter().map(|column| column.header()));
        }
        for row in self.rows.drain(..) {
            layout.add_row(row.iter().map(laid_out));
        }
        self.arrange(&mut layout);
        if let Some(width) = screen.width.map(|width| width.saturating_sub(self.indent))
            && width >= self.unwrapped_width().saturating_add(LEAST_PROSE)
        {
            layout
                .set_width(width)
                .set_content_arrangement(ContentArrangement::Dynamic);
        }

        let indent = " ".repeat(self.indent.into());
        layout
            .lines()
            .map(|line| format!("{indent}{line}").trim_end().to_owned() + "\n")
            .collect()
    }

    /// Of the columns that do not wrap, with their gaps.
    fn unwrapped_width(&self) -> u16 {
        let columns = self.columns.iter().zip(&self.widths);
        columns
            .filter(|(column, _)| !matches!(column, Column::Prose(_)))
            .map(|(_, width)| width.saturating_add(GAP))
            .fold(0, u16::saturating_add)
    }

    fn arrange(&mut self, layout: &mut Layout) {
        for (seen, now) in self
            .widths
            .iter_mut()
            .zip(layout.column_max_content_widths())
        {
            *seen = now.max(*seen);
        }
        let last = self.columns.len().saturating_sub(1);
        for (index, (column, width)) in self.columns.iter().zip(&self.widths).enumerate() {
            let Some(arranged) = layout.column_mut(index) else {
                continue;
            };
            let gap = if index == last { 0 } else { GAP };
            arranged.set_padding((0, gap));
            match column {
                Column::Text(_) | Column::Number(_) => {
                    let width = Width::Fixed(width.saturating_add(gap));
                    arranged.set_constraint(ColumnConstraint::Absolute(width));
                }
                Column::Prose(_) => {}
            }
            if matches!(column, Column::Number(_)) {
                arranged.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
}

impl Column {
    fn header(self) -> &'static str {
        match self {
            Self::Text(header) | Self::Number(header) | Self::Prose(header) => header,
        }
    }
}

fn laid_out(cell: &Cell) -> comfy_table::Cell {
    let laid_out = comfy_table::Cell::new(cell.text());
    match cell.colour() {
        Some(colour) => laid_out.fg(colour),
        None => laid_out,
    }
}

/// Blanks between two columns.
const GAP: u16 = 2;
/// With less room prose is left to the terminal, which wraps at its edge: better than a column of syllables.
const LEAST_PROSE: u16 = 16;

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn screen(width: Option<u16>) -> Screen {
        Screen {
            width,
            colour: false,
            now: SystemTime::UNIX_EPOCH,
        }
    }

    fn table() -> Table {
        let mut table = Table::new(&[
            Column::Text("NAME"),
            Column::Number("ROUTES"),
            Column::Prose("REASON"),
        ]);
        table.row(["node-2".into(), 12_u32.into(), "".into()]);
        table.row([
            "node-10".into(),
            3_u32.into(),
            "the hold timer expired".into(),
        ]);
        table
    }

    #[test]
    fn columns_are_aligned_and_lines_end_with_their_text() {
        insta::assert_snapshot!(table().render(&screen(None)), @r"
        NAME     ROUTES  REASON
        node-2       12
        node-10       3  the hold timer expired
        ");
    }

    #[test]
    fn prose_wraps_in_its_own_column() {
        insta::assert_snapshot!(table().render(&screen(Some(34))), @r"
        NAME     ROUTES  REASON
        node-2       12
        node-10       3  the hold timer
                         expired
        ");
    }

    #[test]
    fn prose_without_room_is_left_to_the_terminal() {
        assert_eq!(
            table().render(&screen(Some(25))),
            table().render(&screen(None))
        );
    }

    #[test]
    fn a_later_instalment_keeps_the_columns_and_has_no_header() {
        let mut table = table();
        let first = table.render(&screen(None));
        assert_eq!(table.pending(), 0);
        table.row(["n".into(), 1_u32.into(), "x".into()]);
        let second = table.render(&screen(None));
        assert_eq!(second, "n             1  x\n");
        assert_eq!(
            second.find('x'),
            first
                .lines()
                .next()
                .and_then(|header| header.find("REASON"))
        );
    }
}
