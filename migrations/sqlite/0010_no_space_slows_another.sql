-- A large blob is written in parts, between the commits of others. It is there when its row in `blobs` is, which names its parts;
-- `uploads` has those that are not finished: a start removes their parts.
alter table blobs add column upload blob;
create table blob_parts (
    upload blob    not null,
    number integer not null,
    bytes  blob    not null,
    primary key (upload, number)
) strict;
create table uploads (upload blob not null primary key) strict, without rowid;

-- The timers of a space that are due, however many others have.
create index timers_of on timers (space, due);

-- How many threads of a space have begun (root 0) and ended (root -1).
insert into roots (space, root, calls, tokens, threads)
    select space, 0, 0, 0, count(*) from threads where true group by space
    on conflict (space, root) do update set threads = excluded.threads;
insert into roots (space, root, calls, tokens, threads)
    select space, -1, 0, 0, count(*) from threads where status in ('done', 'failed', 'stopped') group by space;
