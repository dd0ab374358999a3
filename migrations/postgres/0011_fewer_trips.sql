-- A thread's row as the server reads it.
create function thread_columns(t threads) returns json language sql stable as $$
    select json_build_array(t.space, t.thread, t.settings, t.status, t.head, t.woken, t.handled, t.turn, t.visible, t.heard,
        t.self_messages, t.model_calls, t.tokens, t.standing, t.created, t.updated)
$$;

-- Locks leases and then logs, each in the order they are given in, and then reads what an append to them depends on: everything in one
-- trip. A statement alone would read what there was before it waited for a lock; in here every statement sees what is there when it
-- begins. Of threads whose rows are known only those are read that do not end where they are known to.
create function lock_logs(
    fence_spaces text[], fence_threads text[], fence_numbers bigint[],
    log_spaces text[],
    event_spaces text[], event_ids uuid[],
    thread_spaces text[], thread_names text[], thread_heads bigint[],
    out held bigint[], out logs json, out incarnation bigint, out clock bigint, out events json, out changed json
) language plpgsql as $$
begin
    -- `for no key update`: a take-over waits for this commit, or this append sees that it lost.
    select array_agg(l.number) into held
        from unnest(fence_spaces, fence_threads, fence_numbers) f (space, thread, number)
        cross join lateral (select l.number from leases l where l.space = f.space and l.thread = f.thread
            and l.number = f.number for no key update) l;
    select json_agg(json_build_array(s.space, s.head, s.ts)) into logs
        from (select l.space, l.head, l.ts from spaces l where l.space = any(log_spaces) order by l.space for update) s;
    select l.incarnation, extract(epoch from clock_timestamp()) * 1000000 into incarnation, clock from log l;
    if cardinality(event_ids) > 0 then
        select json_agg(json_build_array(e.space, e.seq, e.event_id, e.ts, e.thread, e.source, e.modality, e.payload, e.tags))
            into events
            from unnest(event_spaces, event_ids) k (space, event_id)
            cross join lateral (select * from events e where e.space = k.space and e.event_id = k.event_id offset 0) e;
    end if;
    select json_agg(thread_columns(t)) into changed
        from unnest(thread_spaces, thread_names, thread_heads) k (space, thread, head)
        cross join lateral (select * from threads t where t.space = k.space and t.thread = k.thread
            and t.head <> k.head offset 0) t;
end
$$;

-- Takes the lease on a thread for so many microseconds, unless somebody has it, and reads the thread's row under it: what the holder
-- before has written is in it. Null: somebody has the lease.
create function take_lease(of_space text, of_thread text, own_number bigint, micros bigint) returns json language plpgsql as $$
begin
    insert into leases as l (space, thread, number, until)
        values (of_space, of_thread, own_number, clock_timestamp() + micros * interval '1 microsecond')
        on conflict (space, thread) do update
            set number = own_number, until = clock_timestamp() + micros * interval '1 microsecond'
            where l.until < clock_timestamp();
    if not found then
        return null;
    end if;
    return (select coalesce(json_agg(thread_columns(t)), '[]') from threads t
        where t.space = of_space and t.thread = of_thread);
end
$$;
