import * as z from "zod";
import { EVENT_BYTES_MAX, type EventPage, POLL_SECONDS_MAX, pollEvents, pollLive } from "./event-page.ts";
import { CURSOR, parseCursor } from "./live-cursor.ts";
import { type RunMissing, RESPONSES, operation, runInput } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const timelineOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [
    { command: "timeline" },
    { command: "watch", help: "follow a run's timeline until the run has ended or needs an operator" },
  ],
  help: "show everything that happened in a run: beats, cost, process deaths and takeovers",
  input: runInput.extend({
    after: z.int().nonnegative().default(0),
    wait: z.int().min(0).max(POLL_SECONDS_MAX).default(0),
    startIndex: z.int().nonnegative().nullable().default(null),
    bytesMax: z.int().positive().nullable().default(null),
    deltas: z.boolean().default(false),
    cursor: z.string().regex(CURSOR).nullable().default(null),
  }),
  run: async ({ world }, { deltas, cursor, ...rest }): Promise<RunMissing | EventPage> => {
    const place = parseCursor(cursor ?? `${rest.after}`);
    const page = deltas ? pollLive(world, { ...rest, cursor: place }) : pollEvents(world, rest);
    return (await page) ?? { kind: "missing" };
  },
  outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
  over: ["store", "http"],
  http: {
    method: "get",
    path: "/runs/{run}/events",
    bounds: { bytesMax: z.int().min(1).max(EVENT_BYTES_MAX).default(EVENT_BYTES_MAX) },
  },
});

export const timelineSyntax = (): Syntaxes => ({
  timeline: { group: "Inspecting", words: "<run>" },
  watch: { group: "Inspecting", words: "<run>" },
});
