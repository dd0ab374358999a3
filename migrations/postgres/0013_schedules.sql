-- What fires which trigger, and when it is due next (null: it is paused).
create table schedules (
    space    text collate "C" not null,
    name     text collate "C" not null,
    thread   text collate "C" not null,
    schedule text   not null,
    due      bigint,
    through  bigint,
    last     bigint,
    changed  bigint not null,
    updated  bigint not null,
    primary key (space, name)
);
create index schedules_due on schedules (due);
-- Those of a space, however many others have.
create index schedules_of on schedules (space, due);
