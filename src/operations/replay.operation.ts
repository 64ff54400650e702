import * as z from "zod";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import { AGENT_UNKNOWN, VERSION_UNKNOWN } from "./outcomes.ts";
import { type ReplayOutcome, replayStored } from "./replay.ts";
import { type Syntaxes, wholeNumbers, MAX_VERSION } from "./syntax.ts";

export const replayOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "replay" }],
  help: "replay a run or its export from its events, and compare it with what was stored",
  input: runInput.extend({
    at: z.int().nonnegative().nullable().default(null),
    against: z.string().nullable().default(null),
  }),
  run: async (
    { world, agentOf, onStep },
    { run, at, against },
  ): Promise<ReplayOutcome | { readonly kind: "agentUnknown" }> => {
    const agent = against === null ? null : await agentOf(against);
    if (against !== null && agent === null) return { kind: "agentUnknown" };
    return replayStored(world, { run, at, against: agent, onStep });
  },
  outcomes: {
    identical: respond.done("The events give the stored states, and each compared request is the same."),
    differs: { exit: "failed", status: 200, code: null, says: "Something differs." },
    damaged: { exit: "failed", status: 200, code: null, says: "A part of the history cannot be read." },
    unrecorded: respond.refused("RequestsUnrecorded", "No reply has a digest of its request to compare with."),
    versionUnknown: VERSION_UNKNOWN,
    agentUnknown: AGENT_UNKNOWN,
    missing: RESPONSES.missing,
  },
  over: ["store", "http"],
  http: { method: "get", path: "/runs/{run}/replay" },
});

export const replaySyntax = (): Syntaxes => ({
  replay: {
    group: "Recordings",
    words: "<run>",
    flags: [
      { flag: "--at <version>", help: "stop at that version", takes: wholeNumbers(0, MAX_VERSION) },
      { flag: "--against <agent>", help: "also show the first request that today's agent would make differently" },
    ],
  },
});
