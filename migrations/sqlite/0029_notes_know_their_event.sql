-- The event that wrote a note last.
alter table entries add column seq integer not null default 0;
update entries set seq = last.seq
from (
    select space, json_extract(payload, '$.key') as key, max(seq) as seq from events
    where payload like '%"kind":"entry"%' group by space, json_extract(payload, '$.key')
) as last
where entries.space = last.space and entries.key = last.key;
