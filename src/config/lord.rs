//! The check of the session that is the people's one counterpart: `[lord]`.

use std::ops::Range;
use toml::Spanned;
use vigie_core::id::SessionName;

use super::{
    Agent, Config, Lord, Project,
    check::Check,
    problem::nearest,
    rows::{LordRow, Text},
};

const USUAL_NAME: &str = "lord";

impl Check<'_> {
    /// `None`: there is none. What stands in the table is checked either way.
    pub(super) fn lord(
        &mut self,
        table: Range<usize>,
        row: LordRow,
        config: &mut Config,
    ) -> Option<Lord> {
        let hint = "Use letters, digits, `-`, `_` and `.`, at most 40, beginning with a letter or digit; not `all`.";
        let name = row.name.and_then(|name| {
            self.read(&name, |text| text.parse::<SessionName>().ok(), "no name of a session", hint)
        });
        let name = name.or_else(|| USUAL_NAME.parse().ok())?;
        let place = row.agent.as_ref().map_or(table, Spanned::span);
        let agent = row.agent.map(|agent| self.agent(&agent, &mut config.agents));
        let project = self.project_named(row.project, config)?;
        let agent = agent.unwrap_or_else(|| project.agent.clone());
        if !row.enabled.unwrap_or(false) {
            return None;
        }
        let takes_mail = |known: &&Agent| known.kind.takes_mail();
        let chosen = config.agents.iter().find(|known| known.name == agent)?;
        if !takes_mail(&chosen) {
            let able = config.agents.iter().filter(takes_mail).map(|known| known.name.as_str());
            let able: Vec<&str> = able.collect();
            let words =
                format!("`{agent}` runs whatever is typed into it, so it takes no messages");
            self.add(place, words, Some(format!("Set `agent` to one of: {}.", able.join(", "))));
        }
        Some(Lord { name, project: project.name, agent })
    }

    /// One of the projects; the first when nobody names one.
    fn project_named(&mut self, name: Text, config: &Config) -> Option<Project> {
        let Some(name) = name else { return config.projects.first().cloned() };
        let word = name.get_ref().as_str();
        let found = config.projects.iter().find(|project| project.name.as_str() == word);
        if found.is_none() {
            let known: Vec<&str> = config.projects.iter().map(|p| p.name.as_str()).collect();
            let hint = nearest(word, &known, "Projects");
            self.add(name.span(), format!("no project is called `{word}`"), hint);
        }
        found.cloned()
    }
}
