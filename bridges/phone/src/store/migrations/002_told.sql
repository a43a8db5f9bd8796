-- What a session was told from elsewhere, as the receipt's targets say: its thread shows it too.
create table told (
  message integer not null,
  thread integer not null,
  primary key (message, thread)
) strict, without rowid;
create index told_thread on told (thread, message);

insert into told (message, thread)
select distinct message.id, (
  select max(thread.id) from thread where json_extract(thread.state, '$.session') = target.value
) as there
from message, json_each(message.mark, '$.targets') as target
where message.mark is not null and there is not null and there <> message.thread;

-- Cards of before say nothing of their time; they are over by now, so their opening will do.
update message set body = json_set(body, '$.body.until', json_extract(body, '$.body.opened'))
where card is not null and json_extract(body, '$.body.until') is null;
