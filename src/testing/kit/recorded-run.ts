/**
 * A recorded run as the surroundings of a new one: the model replies, the tools answer and the operator decides as they
 * did then. So a change of the agent shows in what becomes of the run.
 */
import assert from "node:assert/strict";
import { type Archive, type LedgerEntry, readArchive } from "../../codec/archive.ts";
import { Unreadable, canonical } from "../../codec/canonical.ts";
import { asJson } from "../../codec/value.ts";
import { READ_RESULT } from "../../core/calls/stored-values.ts";
import { proposedCalls } from "../../core/calls/proposed-calls.ts";
import type { Event } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { recordedJson, recordedModel } from "../../sdk/recorded.ts";
import type { FakeService } from "./fake-service.ts";
import type { AgentRun, RunAgentOptions } from "./run-agent.ts";

/** What a run came to: the expectation of a pinned test. */
export interface Pinned {
  readonly status: string;
  readonly result: Json;
  readonly calls: readonly PinnedCall[];
}

/** One entry of the ledger. */
export interface PinnedCall extends Pick<LedgerEntry, "call" | "tool" | "effect"> {
  readonly status: LedgerEntry["status"];
}

export interface RecordedRun {
  /** For `runAgent`. */
  readonly options: Omit<RunAgentOptions, "input"> & { readonly input: never };
  /** What the recorded run came to. */
  readonly pinned: Pinned;
}

/** Throws `AssertionError` if the run came to something else. */
export function expectPinned({ status, result, calls }: AgentRun, pinned: Pinned): void {
  const seen: Pinned = { status, result, calls: calls.map((call) => pinnedCall(call, true)) };
  assert.deepStrictEqual(seen, pinned);
}

/**
 * The run in `exported`, the bytes of a file from `cairn export`.
 *
 * @throws Unreadable if the file is no complete export, or if the run cannot be repeated: it has not completed or
 * failed, is a fork with a part of its run's transcript, dispatched child runs, or had a call that a human edited or whose outcome stayed unknown
 */
export function recordedRun(exported: Uint8Array): RecordedRun {
  const archive = readArchive(exported);
  const { run, calls, commits } = archive;
  const events = commits.flatMap((commit) => commit.events);
  const why = whyNotRepeatable(archive, events);
  if (why !== null) throw new Unreadable(`run ${run.run} cannot be repeated: ${why}`, "NotRepeatable");
  const results = resultsIn(archive, events);
  const waits = waitsIn(archive, { events, results });
  // What reads recorded results has no effect, and reads those of the repeated run.
  const ran = calls.filter(({ call, tool, attempts }) => attempts > 0 && !waits.has(call) && tool !== READ_RESULT);
  const tools = new Set(ran.map(({ tool }) => tool));
  const recorded = callsIn(archive, { events, results });
  const input = recordedJson(archive, run.task) as never;
  return {
    options: {
      input,
      model: recordedModel(exported),
      tools: Object.fromEntries([...tools].map((tool) => [tool, recordedTool(tool, recorded)])),
      // Today's agent may let a call run that was refused or denied then. It must not act for that.
      otherTools: (tool) => recordedTool(tool, []),
      decide: ({ call }) => (deniedIn(events).has(call) ? "deny" : "approve"),
      answer: ({ call }) => waits.get(call),
    },
    pinned: {
      status: run.status,
      result: run.result === null ? null : recordedJson(archive, run.result),
      calls: calls.map((entry) => pinnedCall(entry, results.has(entry.call))),
    },
  };
}

const SETTLED: ReadonlySet<string> = new Set(["succeeded", "failed", "reconciled", "compensated"]);

function whyNotRepeatable({ run, calls, begun }: Archive, events: readonly Event[]): string | null {
  const { forked, messages = [] } = begun?.state ?? {};
  if (forked !== undefined && messages.length > 1)
    return `it is a fork of ${forked.run}, and its transcript begins there`;
  if (run.status !== "completed" && run.status !== "failed") return `it is ${run.status}`;
  const open = calls.find(({ status }) => !SETTLED.has(status));
  if (open !== undefined) return `call ${open.call} of ${open.tool} is ${open.status}`;
  if (events.some(({ kind }) => kind === "ChildDispatched")) return "it dispatched child runs";
  const edited = events.find((event) => event.kind === "HumanApprovalReceived" && event.decision.as === "edit");
  return edited === undefined ? null : "a human edited one of its calls";
}

/** How a call was settled does not matter: a reconciled call succeeds or fails by itself in the new run. */
const pinnedCall = ({ call, tool, effect, status }: LedgerEntry, succeeded: boolean): PinnedCall => ({
  call,
  tool,
  effect,
  status: status !== "reconciled" ? status : succeeded ? "succeeded" : "failed",
});

const deniedIn = (events: readonly Event[]): ReadonlySet<string> =>
  new Set(
    events.flatMap((event) =>
      event.kind === "HumanApprovalReceived" && event.decision.as === "deny" ? [event.call] : [],
    ),
  );

/** The calls that waited, each with what ended its wait; undefined: nothing came. */
function waitsIn(
  archive: Archive,
  { events, results }: { readonly events: readonly Event[]; readonly results: ReadonlyMap<string, Json> },
): ReadonlyMap<string, Json | undefined> {
  const answers = new Map<string, Json>();
  for (const event of events) {
    if (event.kind !== "MessageAbsorbed" || event.stage !== "taken" || event.body.kind !== "answer") continue;
    answers.set(event.body.call, recordedJson(archive, event.body.value));
  }
  const waits = events.filter((event) => event.kind === "WaitBegun");
  return new Map(
    waits.map(({ call, wait }) => [call, wait.for === "answer" ? answers.get(call) : detailOf(results.get(call))]),
  );
}

/** What an event carried, in the result of the call that waited for it. */
const detailOf = (result: Json | undefined): Json | undefined =>
  typeof result === "object" && result !== null && !Array.isArray(result) && "detail" in result
    ? result.detail
    : undefined;

interface RecordedCall {
  readonly tool: string;
  readonly args: string;
  readonly outcome: { readonly kind: "succeeded"; readonly result: Json } | { readonly kind: "failed" };
}

/** The results of the calls that succeeded. */
function resultsIn(archive: Archive, events: readonly Event[]): ReadonlyMap<string, Json> {
  const results = new Map<string, Json>();
  for (const event of events) {
    if (event.kind === "ToolResultRecorded" && event.outcome === "succeeded")
      results.set(event.call, recordedJson(archive, event.value));
    if (event.kind === "ToolResultReconciled" && event.answer.as === "succeeded")
      results.set(event.call, event.answer.value === null ? null : recordedJson(archive, event.answer.value));
  }
  return results;
}

/** The calls that ran, in the order in which the model proposed them. */
function callsIn(
  archive: Archive,
  { events, results }: { readonly events: readonly Event[]; readonly results: ReadonlyMap<string, Json> },
): readonly RecordedCall[] {
  const args = new Map(proposedCalls(events).map((part) => [part.call, canonical(recordedJson(archive, part.args))]));
  return archive.calls.flatMap(({ call, tool, attempts, undoes }): RecordedCall[] => {
    if (attempts === 0 || undoes !== undefined) return [];
    const result = results.get(call);
    const outcome = result === undefined ? ({ kind: "failed" } as const) : ({ kind: "succeeded", result } as const);
    return [{ tool, args: args.get(call) ?? "", outcome }];
  });
}

/** A tool that answers as it did. A repeated key gets its answer again. */
function recordedTool(name: string, recorded: readonly RecordedCall[]): FakeService<unknown> {
  let left = recorded.filter(({ tool }) => tool === name);
  const byKey = new Map<string, RecordedCall>();
  const next = (input: unknown): RecordedCall | undefined => {
    const parsed = asJson(input);
    const args = parsed.ok ? canonical(parsed.json) : "";
    // A schema may have added defaults to the recorded arguments, so without a match the next call counts.
    const found = left.find((call) => call.args === args) ?? left[0];
    left = left.filter((call) => call !== found);
    return found;
  };
  return {
    name,
    requests: [],
    effects: [],
    call: async ({ input, key }) => {
      const call = byKey.get(key) ?? next(input);
      if (call === undefined) throw new Error(`the recorded run has no further call of ${name}`);
      byKey.set(key, call);
      if (call.outcome.kind === "failed") throw new Error(`${name} failed in the recorded run`);
      return call.outcome.result;
    },
    probe: ({ key }) => {
      const outcome = byKey.get(key)?.outcome;
      return outcome?.kind === "succeeded" ? { kind: "happened", result: outcome.result } : { kind: "absent" };
    },
    undo: () => undefined,
    reset: () => {
      left = recorded.filter(({ tool }) => tool === name);
      byKey.clear();
    },
  };
}
