import * as z from "zod";
import { type SpendCapReached, spendCapReached } from "../features/spend-caps/today.ts";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import { runId } from "../protocol/ids.ts";
import { type FileInvalid, contentsOf, sentFiles } from "./files.ts";
import { type CheckOutcome, operation, respond } from "./operation.ts";
import { START_OUTCOMES } from "./outcomes.ts";
import {
  type IsInput,
  type LeftByStart,
  type Started,
  findStart,
  isInput,
  repeatStart,
  startTask,
  taskToStart,
} from "./start.ts";
import { json, startLabels } from "./values.ts";
import { type Syntaxes, tenantFlag } from "./syntax.ts";

type StartRefused = { readonly kind: "agentUnknown" } | FileInvalid | Extract<Started, { readonly kind: "invalid" }>;

type StartCapped = { readonly kind: "spendCapReached" } & SpendCapReached;

/** A refusal of a new run while the spend cap is reached; null: it may start. */
async function cappedStart(world: World): Promise<StartCapped | null> {
  const reached = await spendCapReached(world);
  return reached === null ? null : { ...reached, kind: "spendCapReached" };
}

/** A start whose input was accepted, or one that repeats a known key, whatever the agent says of its input today. */
type CheckedStart =
  | {
      readonly isAccepted: true;
      readonly start: Omit<Parameters<typeof startTask>[1], "tenant" | "idempotencyKey" | "whileNew">;
    }
  | { readonly isAccepted: false; readonly left: LeftByStart; readonly isSame: IsInput };

type StartChecked = CheckOutcome<StartRefused, CheckedStart>;

/** A function of the API loads the example only for such an answer. */
async function refusedInput(
  agent: Agent,
  { why, issues }: Omit<Extract<Started, { readonly kind: "invalid" }>, "kind">,
): Promise<StartRefused> {
  const { exampleFor } = await import("./example.ts");
  return { kind: "invalid", why, issues, example: await exampleFor(agent) };
}

export const startOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "start" }],
  help: "start a run of an agent: a name from cairn.config.ts, or a file such as ./my-agent.ts",
  input: z.strictObject({
    agent: z.string(),
    input: json,
    files: sentFiles,
    key: z.string().nullable().default(null),
    labels: startLabels.default({}),
  }),
  check: async ({ world, tenant, agentOf }, { agent: name, input, files, key }): Promise<StartChecked> => {
    const sent = contentsOf(files);
    if (!sent.ok) return { kind: "refused", outcome: { kind: "fileInvalid", why: sent.why } };
    const refused = async (outcome: StartRefused): Promise<StartChecked> => {
      const left =
        key === null ? null : await findStart(world, runId(world.hash, { tenant, agent: name, idempotencyKey: key }));
      if (left === null) return { kind: "refused", outcome };
      return { kind: "passed", checked: { isAccepted: false, left, isSame: isInput(sent.contents, input) } };
    };
    const agent = await agentOf(name);
    if (agent === null) return refused({ kind: "agentUnknown" });
    const task = await taskToStart(world, { agent, input });
    if (!task.ok) return refused(await refusedInput(agent, task));
    const start = { agent, task: task.json, given: input, dropped: task.dropped, files: sent.contents };
    return { kind: "passed", checked: { isAccepted: true, start } };
  },
  settle: ({ world, tenant }, input) => {
    const key = input.key ?? world.random.hex();
    return { run: runId(world.hash, { tenant, agent: input.agent, idempotencyKey: key }), input: { ...input, key } };
  },
  run: async (
    { world, tenant, by, counted, trace },
    { key, labels },
    checked: CheckedStart,
  ): Promise<Started | StartRefused | StartCapped> => {
    if (!checked.isAccepted) return repeatStart(world, checked.left, checked.isSame);
    const whileNew = (): Promise<StartCapped | null> => cappedStart(world);
    return startTask(world, { ...checked.start, tenant, idempotencyKey: key, labels, by, counted, trace, whileNew });
  },
  outcomes: { ...START_OUTCOMES, spendCapReached: respond.refused("SpendCapReached", "No money is left for today.") },
  over: ["store", "http"],
  http: { method: "post", path: "/runs" },
});

export const startSyntax = (): Syntaxes => ({
  start: {
    group: "Runs",
    words: "<agent>",
    flags: [
      { flag: "--input <json>", help: "the task: JSON, @file, or - for stdin" },
      {
        flag: "--file <path>",
        help: "a file of the task: an image, a document; may be repeated",
        takes: { kind: "repeated" },
        fills: "files",
      },
      { flag: "--key <key>", help: "idempotency key: the same key gives the same run, also for 30 days after its end" },
      {
        flag: "--traceparent <header>",
        help: "the trace of the caller, as the W3C writes it: the run links to it (default: TRACEPARENT of the environment)",
      },
      {
        flag: "--label <name=value>",
        help: "what lists find the run by, such as team=ops; may be repeated",
        takes: { kind: "repeated" },
        fills: "labels",
      },
      {
        flag: "--wait",
        help: "wait until the run has ended or needs an operator; drive the run if no other process does",
      },
      tenantFlag("the tenant of the run"),
      {
        flag: "--beat-seconds <seconds>",
        help: "how long one beat may take, 0.5 to 900 (default: CAIRN_BEAT_SECONDS, then the config file, then 60)",
      },
    ],
  },
});
