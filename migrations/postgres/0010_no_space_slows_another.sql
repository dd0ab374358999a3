-- The timers of a space that are due, however many others have.
create index timers_of on timers (space, due);

-- How many threads of a space have begun (root 0) and ended (root -1).
insert into roots (space, root, calls, tokens, threads)
    select space, 0, 0, 0, count(*) from threads group by space
    on conflict (space, root) do update set threads = excluded.threads;
insert into roots (space, root, calls, tokens, threads)
    select space, -1, 0, 0, count(*) from threads where status in ('done', 'failed', 'stopped') group by space;
