-- What was encrypted for which event. It is never forgotten: matrix-sdk keeps old keys for ever, and
-- would open an old message once more.
create table used (
    session text not null,     -- of Megolm
    number  integer not null,  -- the message's index in it
    room    text not null,
    event   text not null,
    primary key (session, number)
) strict, without rowid;
