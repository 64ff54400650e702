import * as z from "zod";
import { RESPONSES, operation, runInput } from "./operation.ts";
import { VERSION_UNKNOWN } from "./outcomes.ts";
import { STATE_BYTES_MAX, showSnapshot } from "./snapshot.ts";
import type { Syntaxes } from "./syntax.ts";

export const snapshotOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "snapshot" }],
  help: "show the whole state of a run at one of its versions, as JSON",
  input: runInput.extend({
    version: z.int().nonnegative(),
    bytesMax: z.int().positive().nullable().default(null),
  }),
  run: ({ world }, input) => showSnapshot(world, input),
  outcomes: { shown: RESPONSES.shown, versionUnknown: VERSION_UNKNOWN, missing: RESPONSES.missing },
  over: ["store", "http"],
  http: {
    method: "get",
    path: "/runs/{run}/snapshots/{version}",
    bounds: { bytesMax: z.int().min(1).max(STATE_BYTES_MAX).default(STATE_BYTES_MAX) },
  },
});

export const snapshotSyntax = (): Syntaxes => ({ snapshot: { group: "Recordings", words: "<run> <version>" } });
