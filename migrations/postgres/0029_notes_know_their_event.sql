-- The event that wrote a note last. What has a NUL in it, which an early server took, no JSON function reads.
alter table entries add column seq bigint not null default 0;
update entries set seq = last.seq
from (
    select space, said ->> 'key' as key, max(seq) as seq
    from (
        select space, seq, case when payload not like '%\\u0000%' then payload::json end as said from events
        where payload like '%"kind":"entry"%'
    ) as notes
    group by space, said ->> 'key'
) as last
where entries.space = last.space and entries.key = last.key;
