//! How long what took, told to a collector by OTLP where the configuration names one, and nowhere else.
//!
//! A span says what kind of thing was done, on which id, for how long: constant words and ids of ours alone.
//! Neither anybody's text nor a name that people gave is in one, and what is logged stays in the log.

use async_trait::async_trait;
use opentelemetry::{
    KeyValue, Value, global,
    global::BoxedSpan,
    trace::{Span as _, Tracer as _},
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;
use std::{error::Error, sync::Arc, time::Duration};
use tokio::runtime::Handle;

/// A collector that takes longer has lost what it was sent; so has one that is not there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something that takes time; it ends when it goes out of scope. Without a collector it is nothing.
pub struct Span(BoxedSpan);

impl Span {
    /// Begins; `name` and whatever is said of it are words and ids of ours.
    pub fn begin(name: &'static str) -> Self {
        Self(global::tracer("vigie").start(name))
    }

    /// Says something of it.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.say(key, value);
        self
    }

    /// Says something of it that was not known when it began.
    pub fn say(&mut self, key: &'static str, value: impl Into<Value>) {
        self.0.set_attribute(KeyValue::new(key, value));
    }
}

/// Traces that are on their way. What is not told yet is told by [`Traces::end`].
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Tells `collector` (`http://127.0.0.1:4318`) of all that begins from now on, in batches made up on a
    /// thread of their own; the requests go over the runtime this is called in.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn start(collector: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender { http: client()?, on: Handle::current() })
            .with_endpoint(format!("{collector}/v1/traces"))
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(PATIENCE)
            .build()?;
        let resource = Resource::builder().with_service_name("vigie").build();
        let provider = SdkTracerProvider::builder().with_resource(resource);
        let provider = provider.with_batch_exporter(exporter).build();
        global::set_tracer_provider(provider.clone());
        Ok(Self(provider))
    }

    /// Tells the rest. Blocks for as long as the collector takes, and needs the runtime meanwhile.
    pub fn end(self) {
        // Should the collector be gone: so are we, and nobody is left to hear of it.
        let _ = self.0.shutdown();
    }
}

/// Sends over the daemon's runtime: the thread of the batches has none.
#[derive(Debug)]
struct Sender {
    http: reqwest::Client,
    on: Handle,
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let http = self.http.clone();
        // A request of its own, which nobody misses when all ends.
        let sent = self.on.spawn(async move {
            let answer = http.execute(request).await?;
            let status = answer.status();
            Ok::<_, reqwest::Error>((status, answer.bytes().await?))
        });
        let (status, body) = sent.await??;
        Ok(Response::builder().status(status).body(body)?)
    }
}

fn client() -> Result<reqwest::Client, Box<dyn Error + Send + Sync>> {
    let tls = || {
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
    };
    let tls = match tls()?.with_platform_verifier() {
        Ok(trusting) => trusting,
        // The machine trusts nobody: then nor do we, and http still works.
        Err(_) => tls()?.with_root_certificates(RootCertStore::empty()),
    };
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls.with_no_client_auth())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(PATIENCE);
    Ok(builder.build()?)
}
