//! Messages that nobody will read any more. Whoever wrote them hears of it, and so do the people.

use std::collections::BTreeMap;

use crate::{
    bridge::Level,
    decide::{Work, show},
    delivery::Rank,
    id::SessionId,
    mail::{Mail, MailState, Recipient, Sender},
    state::Row,
    text::{self, Rich, Style},
};

/// Messages told apart where many are given up at once.
const TOLD_APART: usize = 5;

impl Work<'_> {
    /// Gives these up. One message tells each sender; one note for each reader, the people.
    pub(super) fn bury(&mut self, mails: &[Mail], why: &str) {
        for mut mail in mails.iter().cloned() {
            mail.state = MailState::Dead { why: why.into(), at: self.now };
            self.journal_mail("mail_dead", &mail);
            self.put(Row::Mail(mail));
        }
        let mut readers = BTreeMap::<_, Vec<&Mail>>::new();
        let mut senders = BTreeMap::<_, Vec<&Mail>>::new();
        for mail in mails {
            readers.entry(mail.to.address()).or_default().push(mail);
            senders.entry(mail.from.address()).or_default().push(mail);
        }
        for mails in readers.values() {
            self.tell_people_of_dead(mails, why);
        }
        for mails in senders.values() {
            self.tell_sender_of_dead(mails, why);
        }
    }

    /// In the reader's thread, or the sender's where that one has none.
    fn tell_people_of_dead(&mut self, mails: &[&Mail], why: &str) {
        let [first, ..] = mails else { return };
        let known = |id: &SessionId| self.state.sessions.contains_key(id);
        let reader = first.to.session().filter(known);
        let Some(thread) = reader.or(first.from.session().filter(known)) else { return };
        let to = first.to.spoken();
        let mut words = Rich::plain(match mails {
            [one] => format!("A message of {} to {to} was never read: {why}.", one.from.spoken()),
            several => format!("{} messages to {to} were never read: {why}.", several.len()),
        });
        for mail in mails.iter().take(TOLD_APART) {
            let begins = show::last_words(&text::mask(&mail.text).text);
            words.push(&format!("\n{}: ", mail.from.spoken()), None);
            words.push(&text::reveal(&begins).text.text, Some(Style::Quote));
        }
        self.post_to_session(thread, &show::note(Level::Note, words, vec![]), Rank::Note);
    }

    fn tell_sender_of_dead(&mut self, mails: &[&Mail], why: &str) {
        let [first, ..] = mails else { return };
        let to = match first.from.clone() {
            Sender::Session { session, name } => Recipient::Session { session, name },
            Sender::Client { token, name } => Recipient::Client { token, name },
            // The people have the note, and Vigie needs no word of its own.
            Sender::Human { .. } | Sender::Vigie => return,
        };
        self.post_own_mail(to, dead_words(mails, why));
    }

    /// Another session goes by this one's name from now on: what waits for those before it is for
    /// them alone.
    pub(in crate::decide) fn bury_mail_of_predecessors(&mut self, id: SessionId) {
        let Some(name) = self.state.sessions.get(&id).map(|s| s.name.clone()) else { return };
        let before = |mail: &&Mail| match &mail.to {
            Recipient::Session { session, name: to } => {
                *session != id && to.folded() == name.folded()
            }
            Recipient::Client { .. } | Recipient::Humans => false,
        };
        let mails: Vec<_> = self.state.mails.values().filter(before).cloned().collect();
        let why = format!("{name} had ended, and another session is called {name} now");
        self.bury(&mails, &why);
    }
}

fn dead_words(mails: &[&Mail], why: &str) -> String {
    let told = mails.iter().take(TOLD_APART).map(|mail| {
        format!("- {} to {}: {}", mail.id, mail.to.spoken(), show::last_words(&mail.text))
    });
    let more = mails.len().saturating_sub(TOLD_APART);
    let more = (more > 0).then(|| format!("- and {more} more"));
    let lines: Vec<_> = told.chain(more).collect();
    format!("This was never read and will not be: {why}.\n{}", lines.join("\n"))
}
