//! Conditions of an object as a table.

use weft_proto::v1::Condition;
use weft_proto::v1::condition::Status;

use crate::output::Screen;
use crate::output::table::{Column, Table};
use crate::output::text::{age_or_dash, or_dash};

/// One row a condition.
pub(crate) fn table(screen: &Screen, conditions: &[Condition]) -> Table {
    let mut table = Table::new(&[
        Column::Text("CONDITION"),
        Column::Text("STATUS"),
        Column::Text("SINCE"),
        Column::Text("REASON"),
        Column::Prose("MESSAGE"),
    ]);
    for condition in conditions {
        table.row([
            or_dash(&condition.r#type).into(),
            status_words(condition.status()).into(),
            age_or_dash(screen.now, condition.last_transition.as_ref()).into(),
            or_dash(&condition.reason).into(),
            condition.message.as_str().into(),
        ]);
    }
    table
}

fn status_words(status: Status) -> &'static str {
    match status {
        Status::True => "True",
        Status::False => "False",
        Status::Unknown | Status::Unspecified => "Unknown",
    }
}
