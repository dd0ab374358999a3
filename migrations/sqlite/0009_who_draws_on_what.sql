-- What all that goes back to one event from outside has used, and (root 0) all of a space. A timer draws on the root that set it.
create table roots (
    space   text    not null,
    root    integer not null,
    calls   integer not null,
    tokens  integer not null,
    threads integer not null,
    primary key (space, root)
) strict, without rowid;
insert into roots (space, root, calls, tokens, threads)
    select space, 0, sum(model_calls), sum(tokens), 0 from threads group by space having sum(model_calls) > 0;
alter table timers add column root integer;
