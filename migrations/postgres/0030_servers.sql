-- Which servers there are: each says so while it looks for threads that nobody runs. Nothing of the log; after a crash of the database a row
-- may be missing until its server says so again.
create unlogged table servers (
    id text primary key,
    name text not null,
    version text not null,
    since timestamptz not null default clock_timestamp(),
    seen timestamptz not null default clock_timestamp(),
    state text not null,
    threads bigint not null,
    leases bigint not null,
    lost_us bigint not null
);
