// The server's figures for machines, as far as people want them: how long appends take, and how far followers are behind.

/** Figures of the log; absent: nothing was counted yet. */
export interface LogFigures {
  /** Milliseconds within which half of the appends were stored, and 99 of 100: bounds of the server's bins. */
  half: number | undefined;
  most: number | undefined;
  /** Events that followers were not told yet. */
  behind: number | undefined;
}

/** Reads them from Prometheus' text format. */
export function logFigures(text: string): LogFigures {
  const bins: { upTo: number; count: number }[] = [];
  let behind: number | undefined;
  for (const line of text.split("\n")) {
    const bin = /^thinkd_append_seconds_bucket\{le="([^"]+)"\} (\S+)$/.exec(line);
    if (bin) bins.push({ upTo: bin[1] === "+Inf" ? Number.POSITIVE_INFINITY : Number(bin[1]) * 1_000, count: Number(bin[2]) });
    const value = /^thinkd_feed_behind_events (\S+)$/.exec(line)?.[1];
    if (value !== undefined) behind = Number(value);
  }
  const all = bins.at(-1)?.count ?? 0;
  const within = (share: number) => (all > 0 ? bins.find(({ count }) => count >= all * share)?.upTo : undefined);
  return { half: within(0.5), most: within(0.99), behind };
}
