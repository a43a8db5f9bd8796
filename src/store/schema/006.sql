-- From here on each line of the journal carries a hash over the one before it and over itself, so that a
-- line that is changed or taken out shows (`vigie audit verify`). Older lines have none.
ALTER TABLE event ADD COLUMN hash TEXT;

-- The number of the first line that has one.
CREATE TABLE audit (begins INTEGER NOT NULL) STRICT;
INSERT INTO audit (begins) SELECT coalesce(max(seq), 0) + 1 FROM event;
