//! What sessions and their agents do.

use super::*;

impl World {
    pub(in crate::decide::tests) fn report(&mut self, name: &str, what: AgentEvent) {
        let session = self.id(name);
        let run = self.state.sessions[&session].run;
        let seq = self.seqs.entry(session).or_insert(0);
        *seq += 1;
        let report = Report { seq: *seq, at: self.now, what };
        self.step(Event::Report { session, run, report });
    }

    pub(in crate::decide::tests) fn doing(&mut self, name: &str, doing: Doing) {
        self.report(name, AgentEvent::Now { doing });
    }

    /// The agent says it has the prompt it was handed last.
    pub(in crate::decide::tests) fn takes(&mut self, name: &str) -> String {
        let session = self.id(name);
        let handed = self.orders.iter().rev().find_map(|(id, order)| match &order.what {
            OrderKind::Prompt { prompt, text, .. } if *id == session => {
                Some((*prompt, text.clone()))
            }
            _ => None,
        });
        let (prompt, text): (PromptId, String) = handed.expect("a prompt was handed over");
        self.report(name, AgentEvent::PromptTaken { prompt, turn: Some(TurnId::new("t")) });
        text
    }

    pub(in crate::decide::tests) fn finishes(&mut self, name: &str, text: &str) {
        self.report(
            name,
            AgentEvent::Finished { turn: None, text: text.into(), provisional: false },
        );
        self.doing(name, Doing::Idle);
    }

    /// How the last prompt was handed to a session.
    pub(in crate::decide::tests) fn form(&self, name: &str) -> PromptForm {
        let session = self.id(name);
        let form = self.orders.iter().rev().find_map(|(id, order)| match &order.what {
            OrderKind::Prompt { form, .. } if *id == session => Some(*form),
            _ => None,
        });
        form.expect("a prompt was handed over")
    }

    /// What was handed to a session, in order, each prompt once.
    pub(in crate::decide::tests) fn handed(&self, name: &str) -> Vec<String> {
        let session = self.id(name);
        let mut seen = Vec::new();
        let mut texts = Vec::new();
        for (id, order) in &self.orders {
            if let OrderKind::Prompt { prompt, text, .. } = &order.what
                && *id == session
                && !seen.contains(prompt)
            {
                seen.push(*prompt);
                texts.push(text.clone());
            }
        }
        texts
    }

    pub(in crate::decide::tests) fn decisions(&self) -> Vec<(RequestId, Decision)> {
        let answers = self.orders.iter().filter_map(|(_, order)| match &order.what {
            OrderKind::Answer { request, decision } => Some((request.clone(), decision.clone())),
            _ => None,
        });
        answers.collect()
    }

    pub(in crate::decide::tests) fn asks_to_run(
        &mut self,
        name: &str,
        request: &str,
        command: &str,
    ) -> GateId {
        let ask = Asked::Permission {
            tool: "Bash".into(),
            input: serde_json::json!({ "command": command }),
            cwd: "/src/quay".into(),
            can_remember: true,
        };
        self.asks(name, request, ask)
    }

    pub(in crate::decide::tests) fn asks_question(
        &mut self,
        name: &str,
        request: &str,
        text: &str,
        options: &[&str],
    ) -> GateId {
        let options = options
            .iter()
            .map(|label| Choice { label: (*label).into(), description: String::new() })
            .collect();
        let question = Question { text: text.into(), header: "h".into(), options, multiple: false };
        self.asks(name, request, Asked::Questions { questions: vec![question] })
    }

    pub(in crate::decide::tests) fn asks(
        &mut self,
        name: &str,
        request: &str,
        ask: Asked,
    ) -> GateId {
        self.report(name, AgentEvent::Asked { request: RequestId::new(request), ask });
        self.now += TimeDelta::seconds(5); // whoever answers has read it
        let session = self.id(name);
        let gate = self.state.gates.values().rfind(|g| {
            g.request().is_some_and(|w| w.session == session && w.request.as_str() == request)
        });
        gate.expect("a gate was opened").id
    }

    pub(in crate::decide::tests) fn settled(&mut self, name: &str, request: &str, how: Settled) {
        self.report(name, AgentEvent::Settled { request: RequestId::new(request), how });
    }
}
