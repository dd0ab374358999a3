-- The log and what is derived from it. The twin in migrations/sqlite has the same tables under the same names.
-- Names and ids compare bytewise: collate "C".

-- One row: which incarnation of the log this is, how often it was opened.
create table log (
    epoch       uuid   not null,
    incarnation bigint not null
);
insert into log values (gen_random_uuid(), 0);

-- A space's log as a whole: the seq and time of its last event. The row is locked by every append until its commit.
create table spaces (
    space text   collate "C" not null primary key,
    head  bigint not null,
    ts    bigint not null
) with (fillfactor = 50);

create table events (
    space      text     collate "C" not null,
    seq        bigint   not null,
    event_id   uuid     not null,
    ts         bigint   not null,
    thread     text     collate "C" not null,
    source     text     not null,
    modality   text     not null,
    payload    text     not null,
    tags       text     not null,
    visibility smallint not null,
    primary key (space, seq)
);

create unique index events_id on events (space, event_id);
create index events_ts on events (space, ts, seq);

create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'the log is append-only';
end $$;
create trigger events_stay before update or delete or truncate on events
    for each statement execute function refuse_change();

-- Where an event is to be found: under each of its marks (store/marks.rs), sorted by who may see it.
create table marks (
    space      text     collate "C" not null,
    mark       text     collate "C" not null,
    visibility smallint not null,
    seq        bigint   not null,
    primary key (space, mark, visibility, seq)
);

-- Full text. Trails the log: `indexed` says how far it came.
create table event_words (
    space text     collate "C" not null,
    seq   bigint   not null,
    words tsvector not null,
    primary key (space, seq)
);
create index event_words_words on event_words using gin (words);
create table indexed (
    space text   collate "C" not null primary key,
    seq   bigint not null
);

-- Projections: `thinkd rebuild` makes them anew from the log.
create table threads (
    space         text   collate "C" not null,
    thread        text   collate "C" not null,
    settings      text   not null,
    status        text   not null,
    head          bigint not null,
    woken         bigint not null,
    handled       bigint not null,
    turn          bigint not null,
    visible       bigint not null,
    heard         bigint not null,
    self_messages bigint not null,
    model_calls   bigint not null,
    tokens        bigint not null,
    created       bigint not null,
    updated       bigint not null,
    primary key (space, thread)
) with (fillfactor = 70);
create index threads_waiting on threads (space, thread)
    where woken > handled and status not in ('done', 'failed', 'stopped');

create table submodules (
    space   text   collate "C" not null,
    name    text   collate "C" not null,
    prompt  text   not null,
    updated bigint not null,
    primary key (space, name)
);

create table entries (
    space        text     collate "C" not null,
    key          text     collate "C" not null,
    content      text     not null,
    related_keys text     not null,
    owner        text     not null,
    updated      bigint   not null,
    words        tsvector not null,
    primary key (space, key)
);
create index entries_words on entries using gin (words);

-- Media, by the SHA-256 of their bytes. Not derived from the log.
create table blobs (
    space  text  collate "C" not null,
    sha256 text  collate "C" not null,
    mime   text  not null,
    bytes  bytea not null,
    primary key (space, sha256)
);

-- Who may append to a thread. Not derived from the log. Fence numbers come from one sequence, so they grow for ever;
-- a lease given back stays as a row whose number nobody has.
create table leases (
    space  text        collate "C" not null,
    thread text        collate "C" not null,
    number bigint      not null,
    until  timestamptz not null,
    primary key (space, thread)
) with (fillfactor = 70);
create sequence fences;
