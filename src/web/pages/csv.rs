//! Tables for spreadsheets.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};

use crate::web::fault::Fault;

/// The table as a file of that name, or why there is none.
pub(super) fn answer(name: &str, table: Result<String, Fault>) -> Response {
    match table {
        Ok(text) => {
            let file = format!("attachment; filename=\"{name}.csv\"");
            let headers = [
                (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
                (header::CONTENT_DISPOSITION, file),
            ];
            (headers, text).into_response()
        }
        Err(fault) => fault.into_response(),
    }
}

/// A cell: in quotes, as RFC 4180 has it; what a spreadsheet would compute is kept from it.
pub(super) fn cell(text: &str) -> String {
    let computes = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if computes { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_spreadsheet_computes_nothing_of_it() {
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
        assert_eq!(cell("say \"so\", now"), "\"say \"\"so\"\", now\"");
    }
}
