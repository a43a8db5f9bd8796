//! Vigie's own tools for the agent: a server of this session alone, beside whatever servers the
//! person has. It wins over one of the same name in the person's own files (seen with 2.1.332).

use serde_json::{Value, json};
use std::time::Duration;

/// The server's name; tools are called `mcp__vigie__…`.
const SERVER: &str = "vigie";
/// Longest call, which no progress extends. Tools that wait give up after ten minutes and hand out a
/// ticket, so this only ends what hangs. The program itself lets a call go on beside other work after
/// two minutes.
const LONGEST_CALL: Duration = Duration::from_mins(15);

/// What `--mcp-config` reads. The token is not in it: the program takes it from its environment.
pub(super) fn config(url: &str) -> Value {
    let server = json!({
        "type": "http",
        "url": url,
        "headers": { "Authorization": "Bearer ${VIGIE_MCP_TOKEN}" },
        // Else the model sees bare names, and has to look each tool up before it can call it.
        "alwaysLoad": true,
        "timeout": LONGEST_CALL.as_millis(),
    });
    json!({ "mcpServers": { SERVER: server } })
}

/// The rule that lets all of its tools run unasked: Vigie checks each call against its bounds itself,
/// and none of them approves anything. A rule of the person's that denies or asks still counts.
pub(super) fn rule() -> String {
    format!("mcp__{SERVER}")
}
