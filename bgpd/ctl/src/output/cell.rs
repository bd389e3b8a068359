//! A piece of text in a table or page, with its tone.

use comfy_table::Color;

use crate::output::Screen;
use crate::output::text::printable;

/// Text with a tone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

/// What a text means to the reader.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// No more than it says.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Worth a look.
    Notice,
    /// Something is wrong.
    Bad,
}

impl Cell {
    /// Text with a tone; control characters are made visible.
    pub(crate) fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self {
            text: printable(text.as_ref()),
            tone,
        }
    }

    /// Another text in the same tone.
    pub(crate) fn with_text(self, text: impl AsRef<str>) -> Self {
        Self::new(text, self.tone)
    }

    /// Whether there is any text.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text alone.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text with the escape sequences of its tone where the screen wants them.
    pub(crate) fn painted(&self, screen: &Screen) -> String {
        let code = match self.tone {
            Tone::Good if screen.colour => "32",
            Tone::Notice if screen.colour => "33",
            Tone::Bad if screen.colour => "31",
            _ => return self.text.clone(),
        };
        format!("\x1b[{code}m{}\x1b[0m", self.text)
    }

    /// The tone as a colour of a table's cell.
    pub(super) fn colour(&self) -> Option<Color> {
        match self.tone {
            Tone::Plain => None,
            Tone::Good => Some(Color::DarkGreen),
            Tone::Notice => Some(Color::DarkYellow),
            Tone::Bad => Some(Color::DarkRed),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        number.to_string().into()
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        number.to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_tone_is_an_escape_sequence_only_where_colour_is_wanted() {
        let mut screen = Screen {
            width: None,
            colour: false,
            now: SystemTime::UNIX_EPOCH,
        };
        let cell = Cell::new("down", Tone::Bad);
        assert_eq!(cell.painted(&screen), "down");
        screen.colour = true;
        assert_eq!(cell.painted(&screen), "\x1b[31mdown\x1b[0m");
        assert_eq!(Cell::from("down").painted(&screen), "down");
    }

    #[test]
    fn a_neighbour_cannot_send_escape_sequences_to_the_terminal() {
        let cell = Cell::from("bye\x1b[2J\r\n\u{202e}é \"ok\"");
        assert_eq!(cell.text(), "bye\\u{1b}[2J\\r\\n\\u{202e}é \"ok\"");
    }
}
