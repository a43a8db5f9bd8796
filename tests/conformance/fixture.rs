//! What the suite expects of a server: its tools, prompts and resources, as `served.json` lists them.
//! The door, its guard and the transport before this are ours, and are what is tried.

#![expect(deprecated, reason = "the older era's methods are tried, too")]

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams,
        ClientCapabilities, ClientResult, CompleteRequestParams, CompleteResult, ContentBlock,
        CreateTaskResult, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
        InputRequest, InputRequiredResult, InputResponses, JsonObject, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
        ServerConfig, ServerNotification, ServerRequest, SetLevelRequestParams,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
        UpdateTaskParams,
    },
    service::{RequestContext, SubscriptionContext},
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

type Context = RequestContext<RoleServer>;

/// What the state that a client carries for us is sealed with.
const SEAL: &str = "a secret of this test alone";
const BETWEEN_STEPS: Duration = Duration::from_millis(50);
const A_WHILE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) struct Fixture {
    served: Arc<Value>,
    tasks: TaskManager,
    tools_changed: Arc<watch::Sender<u64>>,
    prompts_changed: Arc<watch::Sender<u64>>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let changed = || Arc::new(watch::channel(0).0);
        Self {
            served: Arc::new(serde_json::from_str(include_str!("served.json")).unwrap()),
            tasks: TaskManager::new(),
            tools_changed: changed(),
            prompts_changed: changed(),
        }
    }

    fn tools(&self) -> Vec<Tool> {
        let mut tools = self.served["tools"].clone();
        for tool in tools.as_array_mut().unwrap() {
            let nothing = json!({ "type": "object", "properties": {} });
            tool.as_object_mut().unwrap().entry("inputSchema").or_insert(nothing);
        }
        read(tools)
    }

    /// What is still to be asked: the questions of the first round that is not answered, and the
    /// state that says so.
    fn round(
        &self,
        name: &str,
        answers: Option<&InputResponses>,
        state: Option<&str>,
        can: &ClientCapabilities,
    ) -> Result<Option<InputRequiredResult>, ErrorData> {
        let Some(rounds) = self.served["rounds"][name].as_array() else { return Ok(None) };
        let done: usize = state.map(open).transpose()?.unwrap_or(0);
        let answered = |questions: &Value| {
            let asked: Vec<_> = questions.as_object().unwrap().keys().collect();
            answers.is_some_and(|answers| {
                asked.iter().all(|key| answers.get(*key).is_some_and(Value::is_object))
            })
        };
        let next = match rounds.get(done) {
            Some(questions) if answered(questions) => done + 1,
            Some(_) | None => done,
        };
        let Some(questions) = rounds.get(next) else { return Ok(None) };
        let can_answer = |question: &&Value| match question["method"].as_str() {
            Some("elicitation/create") => {
                name != "test_input_required_result_capabilities" || can.elicitation.is_some()
            }
            Some(_) | None => true,
        };
        let questions = questions.as_object().unwrap().iter().filter_map(|(key, question)| {
            let question = &self.served["questions"][question.as_str().unwrap()];
            Some(question).filter(can_answer).map(|question| (key.clone(), read(question.clone())))
        });
        Ok(Some(InputRequiredResult::new(Some(questions.collect()), Some(seal(next)))))
    }

    /// In the older era a server asks in the middle of a call.
    async fn ask(&self, question: &Value, with: &JsonObject, context: &Context) -> CallToolResult {
        let request: ServerRequest = read(filled(question, with));
        match context.peer.send_request(request).await {
            Ok(ClientResult::CreateMessageResult(answer)) => {
                said(format!("LLM response: {answer:?}"))
            }
            Ok(answer) => said(format!("User response: {answer:?}")),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        }
    }

    fn as_task<F>(&self, work: impl FnOnce(TaskContext) -> F) -> CallToolResponse
    where
        F: Future<Output = Result<CallToolResult, TaskExit>> + Send + 'static,
    {
        let task = self.tasks.spawn(TaskOptions::default(), |task| Box::pin(work(task)));
        CreateTaskResult::new(task).into()
    }

    fn question(&self, name: &str) -> InputRequest {
        read(self.served["questions"][name].clone())
    }

    /// The tools that take their time, for a client that can come back for them.
    fn task(&self, name: &str, args: &JsonObject) -> Option<CallToolResponse> {
        let [first, second] = [self.question("confirm"), self.question("name")];
        Some(match name {
            "slow_compute" => {
                let seconds = args.get("seconds").and_then(Value::as_u64).unwrap_or(0);
                self.as_task(async move |task: TaskContext| {
                    tokio::select! {
                        () = task.cancelled() => Err(TaskExit::Cancelled),
                        () = tokio::time::sleep(Duration::from_secs(seconds)) => Ok(said("computed")),
                    }
                })
            }
            "failing_job" => self.as_task(async move |_| {
                tokio::time::sleep(A_WHILE).await;
                Ok(CallToolResult::error(vec![ContentBlock::text("it did not work")]))
            }),
            "protocol_error_job" => self.as_task(async move |_| {
                tokio::time::sleep(A_WHILE).await;
                Err(ErrorData::internal_error("it broke", None).into())
            }),
            "confirm_delete" => self.as_task(async move |task: TaskContext| {
                let answer = task.request_input("confirm", first).await?;
                Ok(said(format!("confirmed: {answer}")))
            }),
            "multi_input" => self.as_task(async move |task: TaskContext| {
                let asked = (task.request_input("one", first), task.request_input("two", second));
                let (one, two) = tokio::join!(asked.0, asked.1);
                Ok(said(format!("got {} and {}", one?, two?)))
            }),
            _ => return None,
        })
    }
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// A whole result out of `served.json`; an older client is not told that it is whole.
fn whole<T: DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = json!("complete");
    read(value)
}

fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// `{name}` in a text becomes the argument of that name.
fn filled(value: &Value, with: &JsonObject) -> Value {
    match value {
        Value::String(text) => {
            let fill = |text: String, (key, value): (&String, &Value)| {
                text.replace(&format!("{{{key}}}"), value.as_str().unwrap_or_default())
            };
            Value::String(with.iter().fold(text.clone(), fill))
        }
        Value::Array(values) => values.iter().map(|value| filled(value, with)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), filled(value, with))).collect()
        }
        other => other.clone(),
    }
}

fn seal(round: usize) -> String {
    format!("{round}.{:x}", Sha256::digest(format!("{SEAL}{round}")))
}

fn open(state: &str) -> Result<usize, ErrorData> {
    let round = state.split('.').next().and_then(|round| round.parse().ok());
    round
        .filter(|round| seal(*round) == state)
        .ok_or_else(|| ErrorData::invalid_params("that is no state of ours", None))
}

async fn log(context: &Context, text: &str) {
    let notice: ServerNotification = read(json!({
        "method": "notifications/message", "params": { "level": "info", "data": text }
    }));
    context.peer.send_notification(notice).await.unwrap();
}

async fn progress(context: &Context, step: u32) {
    if let Some(token) = context.meta.get_progress_token() {
        let notice: ServerNotification = read(json!({
            "method": "notifications/progress",
            "params": { "progressToken": token, "progress": step, "total": 100 }
        }));
        context.peer.send_notification(notice).await.unwrap();
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let (name, args) = (request.name.as_ref(), request.arguments.unwrap_or_default());
        let can = context.client_capabilities().unwrap_or_default();
        let state = request.request_state.as_deref();
        if let Some(asking) = self.round(name, request.input_responses.as_ref(), state, &can)? {
            return Ok(asking.into());
        }
        if let Some(reply) = self.served["replies"].get(name) {
            return Ok(whole::<CallToolResult>(reply.clone()).into());
        }
        if let Some(question) = self.served["legacy_asks"].get(name) {
            return Ok(self.ask(question, &args, &context).await.into());
        }
        if can.supports_tasks()
            && let Some(task) = self.task(name, &args)
        {
            return Ok(task);
        }
        let answers = request.input_responses.unwrap_or_default();
        Ok(match name {
            "greet" => said(format!(
                "Hello, {}!",
                args.get("name").and_then(Value::as_str).unwrap_or("you")
            ))
            .into(),
            "slow_compute" => said("computed").into(),
            "test_tool_with_task" => {
                let name = answers["user_name"]["content"]["name"].to_string();
                self.as_task(async move |_| Ok(said(format!("it was {name}"))))
            }
            "failing_job" => {
                let needed = ClientCapabilities::builder().enable_tasks().build();
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            "test_missing_capability" if can.sampling.is_none() => {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            "test_tool_with_logging" => {
                log(&context, "Tool execution started").await;
                tokio::time::sleep(BETWEEN_STEPS).await;
                log(&context, "Tool processing data").await;
                tokio::time::sleep(BETWEEN_STEPS).await;
                log(&context, "Tool execution completed").await;
                said("logged").into()
            }
            "test_tool_with_progress" => {
                progress(&context, 0).await;
                tokio::time::sleep(BETWEEN_STEPS).await;
                progress(&context, 50).await;
                tokio::time::sleep(BETWEEN_STEPS).await;
                progress(&context, 100).await;
                said("done").into()
            }
            "test_trigger_tool_change" => {
                self.tools_changed.send_modify(|times| *times += 1);
                said("changed").into()
            }
            "test_trigger_prompt_change" => {
                self.prompts_changed.send_modify(|times| *times += 1);
                said("changed").into()
            }
            _ if self.served["rounds"].get(name).is_some() => {
                said(format!("state-ok, and you said {}", json!(answers))).into()
            }
            _ => return Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
        })
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(read(self.served["prompts"].clone())))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let can = context.client_capabilities().unwrap_or_default();
        let (answers, state) = (request.input_responses.as_ref(), request.request_state.as_deref());
        if let Some(asking) = self.round(&request.name, answers, state, &can)? {
            return Ok(asking.into());
        }
        let reply = self.served["prompt_replies"].get(&request.name);
        let reply =
            reply.ok_or_else(|| ErrorData::invalid_params("there is no such prompt", None))?;
        let args = request.arguments.unwrap_or_default();
        Ok(GetPromptResponse::Complete(whole(filled(reply, &args))))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(read(self.served["resources"].clone())))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = read(self.served["resource_templates"].clone());
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (self.served["contents"].get(uri), id) {
            (Some(contents), _) => contents.clone(),
            (None, Some(id)) => {
                let text =
                    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                json!({ "uri": uri, "mimeType": "application/json", "text": text.to_string() })
            }
            (None, None) => {
                let uri = json!({ "uri": uri });
                return Err(ErrorData::resource_not_found("Resource not found", Some(uri)));
            }
        };
        Ok(ReadResourceResult::new(vec![read(contents)]).into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(whole(
            json!({ "completion": { "values": ["testValue"], "total": 1, "hasMore": false } }),
        ))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, listening: SubscriptionContext) -> Result<(), ErrorData> {
        let (mut tools, mut prompts) =
            (self.tools_changed.subscribe(), self.prompts_changed.subscribe());
        let sink = listening.sink();
        loop {
            // What was not asked for is refused by the sink itself.
            let _ = tokio::select! {
                () = listening.cancelled() => return Ok(()),
                Ok(()) = tools.changed() => sink.notify_tool_list_changed().await,
                Ok(()) = prompts.changed() => sink.notify_prompt_list_changed().await,
            };
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }
}
