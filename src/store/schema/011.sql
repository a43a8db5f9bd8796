-- What happened in one session is looked up on its page, however long the journal is.
CREATE INDEX event_of_session ON event (session, seq) WHERE session IS NOT NULL;
