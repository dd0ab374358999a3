-- Tasks of missions: where each stands, what it requires, how it may be done and how its answer is checked.
create table tasks (
    space       text not null,
    mission     text not null,
    task        integer not null,
    seq         integer not null,
    name        text not null,
    description text not null,
    status      text not null,
    value       text not null,
    parent      integer not null,
    requires    text not null,
    brought_by  text not null,
    rank        integer not null,
    began       integer not null,
    routes      text not null,
    acceptance  text not null,
    answer      text not null,
    reason      text not null,
    updated     integer not null,
    primary key (space, mission, task)
) strict, without rowid;
