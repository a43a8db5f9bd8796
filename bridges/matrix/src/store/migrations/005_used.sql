-- What was encrypted for which event, once that event was taken. matrix-sdk keeps old keys for ever, and
-- would open an old message once more. A session's rows are forgotten only together with the session:
-- see `closed`.
alter table used rename to used_before;
create table used (
    session text not null,     -- of Megolm
    digest  text not null,     -- of what was in it, without what a homeserver can change; '': not known
    number  integer,           -- the message's index in the session, where it had to be looked at
    room    text not null,
    event   text not null,
    at      integer not null,  -- when it was taken, milliseconds since 1970
    primary key (session, digest, room, event)
) strict, without rowid;
create unique index used_number on used (session, number) where number is not null;
insert into used select session, '', number, room, event, unixepoch() * 1000 from used_before;
drop table used_before;

-- Sessions whose rows are forgotten: nothing that is encrypted in them is taken any more.
create table closed (
    session text primary key,
    at      integer not null   -- when something of it was last taken, milliseconds since 1970
) strict, without rowid;
