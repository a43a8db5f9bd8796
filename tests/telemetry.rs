//! Traces: a collector that is named hears how long what took, and nothing that anybody wrote.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod desk;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use support::{
    desk::{new, vigie_up},
    home::{DEADLINE, Home},
};
use tokio::{net::TcpListener, sync::Mutex};

/// All that was told, one after the other.
type Told = Arc<Mutex<Vec<u8>>>;

async fn take(State(told): State<Told>, headers: HeaderMap, body: Bytes) {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    told.lock().await.extend(body);
}

fn holds(told: &[u8], words: &str) -> bool {
    told.windows(words.len()).any(|part| part == words.as_bytes())
}

#[tokio::test]
async fn a_collector_hears_kinds_and_ids_and_no_words() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let collector = listener.local_addr().unwrap();
    let told = Told::default();
    let router = Router::new().route("/v1/traces", post(take)).with_state(told.clone());
    let serving = async { axum::serve(listener, router).await.unwrap() };
    let story = async {
        let mut home = Home::new(vigie_up);
        home.configure(&format!("\n[telemetry]\notlp = \"http://{collector}\"\n"));
        home.up().await;
        new(&home, "PD-285", "Salaries of the crew").await;
        home.send("PD-285", "say the mooring is paid").await;
        home.session_is("PD-285", "idle").await;
        let missing = home.desk().get::<Value>("/sessions/salary-of-ines").await;
        missing.unwrap_err();
        let _: Value = home.desk().post("/down", &json!({})).await.unwrap();
        let gone = async {
            while home.exited().is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(DEADLINE, gone).await.unwrap();
    };
    tokio::select! {
        () = serving => {}
        () = story => {}
    }
    let told = told.lock().await;
    for words in ["vigie", "decide", "report", "deliver", "phone", "dlv_"] {
        assert!(holds(&told, words), "{words} is not in {}", String::from_utf8_lossy(&told));
    }
    for words in ["PD-285", "alar", "mooring", "Inès", "ines", "quay"] {
        assert!(!holds(&told, words), "{words} is in {}", String::from_utf8_lossy(&told));
    }
}
