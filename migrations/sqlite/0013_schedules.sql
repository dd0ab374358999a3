-- What fires which trigger, and when it is due next (null: it is paused).
create table schedules (
    space    text    not null,
    name     text    not null,
    thread   text    not null,
    schedule text    not null,
    due      integer,
    through  integer,
    last     integer,
    changed  integer not null,
    updated  integer not null,
    primary key (space, name)
) strict, without rowid;
create index schedules_due on schedules (due);
-- Those of a space, however many others have.
create index schedules_of on schedules (space, due);
