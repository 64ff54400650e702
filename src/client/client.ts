/**
 * The client: every operation of the API as a method. Where runs are stored makes no difference to it. Its types are
 * those of the operation table and of the API's documents.
 */
import type * as z from "zod";
import type { messageDocument, runDocument, startedDocument } from "../api/schemas.ts";
import type { RunLabels } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import type { SuccessOf } from "../operations/operation.ts";
import type { InputTo } from "../operations/caller-outcome.ts";
import type { AnswerTo } from "./outcomes.ts";
import type { OPERATIONS, OperationName } from "../operations/table.ts";
import type { EventPage } from "../operations/event-page.ts";
import type { RoutedOperation } from "../operations/places.ts";
import { cursorText } from "../operations/live-cursor.ts";
import type { Live, Reset } from "../operations/live-page.ts";
import type { Delta } from "../ports/delta-log.ts";
import type { LedgerEntry, TimelineEntry } from "../operations/views.ts";
import type { Agent } from "../ports/agent.ts";
import { type Asked, type GivenInput, type Steering, performAt } from "./perform.ts";
import { type ClientFile, sent } from "./files.ts";
import type { MemoryClient } from "./memory.ts";
import { type DerivedClient, derivedAt } from "./derived.ts";
import type { Endpoint } from "./request.ts";

/** Agents by their names, as a module exports them. */
export type Agents = Readonly<Record<string, Agent>>;

/** The agents of a module or an object. What else it exports is left out, such as `chaos`. */
export type AgentsOf<Known extends object> = {
  readonly [Name in keyof Known as Known[Name] extends Agent ? Name : never]: Known[Name];
};

type NameIn<Known extends object> = keyof AgentsOf<Known> & string;
type InputOf<A> = A extends Agent<infer Task> ? z.input<Task> : Json;
type ResultOf<A> = A extends Agent<z.ZodType, infer Output> ? z.output<Output> : Json;

/** The document of a run, as `GET /runs/{run}` gives it. `result` is null until the run has completed. */
export type RunDocument<Result = Json> = Omit<z.output<typeof runDocument>, "result"> & {
  readonly result: Result | null;
};

/** That of a run of any agent. */
export type AnyRun = RunDocument<unknown>;

/** The answer to a start. `started` is false if an earlier request with the same key started the run. */
export type StartedRun = z.output<typeof startedDocument>;
export type SentMessage = z.output<typeof messageDocument>;

/** An event of a run. `cursor` continues after it: pass it as `after`. */
export type RunEvent = TimelineEntry & { readonly cursor: number };

/**
 * What a follower with deltas gets. `delta`: the model said more. `reset`: the text of that step belongs to no reply. The
 * next `ModelCallCompleted` replaces the text of the open step. `cursor` continues after it: pass it as `cursor`.
 */
export type LiveItem =
  | { readonly kind: "event"; readonly event: TimelineEntry; readonly cursor: string }
  | { readonly kind: "delta"; readonly delta: Delta; readonly cursor: string }
  | { readonly kind: "reset"; readonly reset: Reset; readonly cursor: string };

type Rows = typeof OPERATIONS;
type Options<N extends OperationName, Named extends string> = Omit<InputTo<N>, Named> & Asked;

/** The methods whose arguments, answers or keys are not those of the operation alone. */
interface WrittenClient<Known extends object> extends MemoryClient {
  /**
   * Starts a run. The same `key` gives the same run. Without one the client makes a key, so a request that it sends
   * again starts no second run.
   */
  start<Name extends NameIn<Known>>(
    agent: Name,
    input: InputOf<AgentsOf<Known>[Name]>,
    options?: Asked & { readonly key?: string; readonly files?: readonly ClientFile[]; readonly labels?: RunLabels },
  ): Promise<StartedRun>;
  get<Name extends NameIn<Known>>(run: string, options?: Asked): Promise<RunDocument<ResultOf<AgentsOf<Known>[Name]>>>;
  list(options?: InputTo<"list"> & Asked): Promise<SuccessOf<Rows["list"]>>;
  /** The events of the run, those to come included, until it has ended. It survives lost connections. */
  events(run: string, options?: Asked & { readonly after?: number }): AsyncGenerator<RunEvent, void, undefined>;
  /**
   * The same with what the model is saying. A model call streams if a reader follows the run when the call begins, so
   * follow a run before you send it a message.
   */
  follow(run: string, options?: Asked & { readonly cursor?: string }): AsyncGenerator<LiveItem, void, undefined>;
  /** Waits until the run has ended or needs a person: an approval, an answer, an outcome, an upgrade, a resume. */
  wait<Name extends NameIn<Known>>(run: string, options?: Asked): Promise<RunDocument<ResultOf<AgentsOf<Known>[Name]>>>;
  ledger(run: string, options?: Asked): Promise<readonly LedgerEntry[]>;
  cost(run: string, options?: Asked): Promise<SuccessOf<Rows["cost"]>>;
  diagnose(run: string, options?: Asked): Promise<SuccessOf<Rows["diagnose"]>>;
  verify(run: string, options?: Asked): Promise<SuccessOf<Rows["verify"]>>;
  /** The whole state of the run at one of its versions. */
  snapshot(run: string, version: number, options?: Asked): Promise<SuccessOf<Rows["snapshot"]>>;
  /** Folds the run again from its events. `against`: an agent whose requests to the model are compared. */
  replay(run: string, options?: Options<"replay", "run">): Promise<SuccessOf<Rows["replay"]>>;
  /** The export of the run, perhaps gzipped: a file of these bytes is what `cairn replay` and `cairn verify` take. */
  export(run: string, options?: Asked): Promise<Uint8Array>;
  /** The calls that wait for an approval, page by page. */
  approvals(options?: InputTo<"approvals"> & Asked): Promise<SuccessOf<Rows["approvals"]>>;
  agents(options?: Asked): Promise<SuccessOf<Rows["agents"]>>;
  /** Who did what, newest first, page by page. */
  auditLog(options?: InputTo<"auditLog"> & Asked): Promise<SuccessOf<Rows["auditLog"]>>;
  /**
   * Sends the model a message. The same `id` is one message; without one the client makes an ID. `stop`: it ends the answer
   * under way.
   */
  send(
    run: string,
    text: string,
    options?: Steering & { readonly id?: string; readonly files?: readonly ClientFile[]; readonly stop?: boolean },
  ): Promise<SentMessage>;
  /** The bytes of a file of the run. `file`: its digest, 8 characters of it, or its name. */
  file(run: string, file: string, options?: Asked): Promise<Uint8Array>;
  approve(run: string, gate: string, options?: Decision): Promise<SuccessOf<Rows["decide"]>>;
  deny(run: string, gate: string, options?: Decision): Promise<SuccessOf<Rows["decide"]>>;
  /** Answers a call that asks a human (`askHuman`). The first answer counts. */
  answer(run: string, call: string, result: Json, options?: Steering): Promise<SuccessOf<Rows["answer"]>>;
  /** Signals an event. The same `id` is one event; without one the client makes an ID. */
  signal(
    run: string,
    event: string,
    options?: Steering & { readonly detail?: Json; readonly id?: string },
  ): Promise<SuccessOf<Rows["signal"]>>;
  /** Says what became of a call with an unknown outcome. */
  reconcile(
    run: string,
    call: string,
    options: Options<"reconcile", "run" | "call"> & Steering,
  ): Promise<SuccessOf<Rows["reconcile"]>>;
  assign(run: string, to: string, options?: Steering): Promise<SuccessOf<Rows["assign"]>>;
  upgrade(run: string, options?: Options<"upgrade", "run"> & Steering): Promise<SuccessOf<Rows["upgrade"]>>;
  pause(run: string, options?: Options<"pause", "run"> & Steering): Promise<SuccessOf<Rows["pause"]>>;
  resume(run: string, options?: Options<"resume", "run"> & Steering): Promise<SuccessOf<Rows["resume"]>>;
  cancel(run: string, options?: Options<"cancel", "run"> & Steering): Promise<SuccessOf<Rows["cancel"]>>;
  /** Asks every live run of an agent to end. Without `confirmed` it fails with `NotConfirmed`, which names them. */
  cancelAll(agent: string, options?: Options<"cancelAll", "agent">): Promise<SuccessOf<Rows["cancelAll"]>>;
  restart(run: string, options?: Options<"restart", "run"> & Steering): Promise<SuccessOf<Rows["restart"]>>;
  /**
   * Begins a new run with the state of this one at version `at`. The same `key` is one fork; without one the client makes a
   * key. Past effects that the two do not share it fails with `NotConfirmed`, unless `confirmed`.
   */
  fork(run: string, options: Options<"fork", "run"> & Steering): Promise<AnswerTo<"fork">>;
  redrive(run: string, options?: Options<"redrive", "run"> & Steering): Promise<AnswerTo<"redrive">>;
  purge(run: string, options?: Options<"purge", "run"> & Steering): Promise<AnswerTo<"purge">>;
  /** Says that the external services were checked for what a restored run may have done. */
  checked(run: string, options?: Options<"checked", "run"> & Steering): Promise<AnswerTo<"checked">>;
  schedules(options?: Asked): Promise<SuccessOf<Rows["schedules"]>>;
  pauseSchedule(agent: string, options?: Asked): Promise<SuccessOf<Rows["pauseSchedule"]>>;
  resumeSchedule(agent: string, options?: Asked): Promise<SuccessOf<Rows["resumeSchedule"]>>;
  /** Starts a run of a scheduled agent now. The same `key` is one run; without one the client makes a key. */
  runSchedule(agent: string, options?: Options<"runSchedule", "agent">): Promise<AnswerTo<"runSchedule">>;
  /** Closes a store that the client opened. */
  close(): Promise<void>;
}

/**
 * Every operation of the API that has a method is one here: one of a new operation takes the fields of its path, then the
 * rest of its input. Each throws a `CairnError` with the code that the operation table gives the outcome.
 */
export interface Client<Known extends object = Agents>
  extends WrittenClient<Known>, Omit<DerivedClient, keyof WrittenClient<Agents> | Renamed> {}

/** `get`, `events` and `follow`, and `approve` and `deny` perform these. */
type Renamed = "show" | "timeline" | "decide";

/** `args`: other arguments for the call. `more`: what a gate of the budget grants. */
export type Decision = Partial<Omit<InputTo<"decide">, "run" | "gate" | "as">> & Steering;

/** How long one request waits for events, in seconds. */
const POLL_SECONDS = 20;

export function createClient<Known extends object>(
  endpoint: Endpoint,
  close: () => Promise<void> = async () => {},
): Client<Known> {
  const perform = performAt(endpoint);
  /** An operation on a run whose answer is its outcome. */
  const steer =
    <N extends RoutedOperation>(name: N) =>
    async (run: string, options: GivenInput & Steering = {}): Promise<AnswerTo<N>> =>
      (await perform(name, { run, ...options })) as AnswerTo<N>;
  const decide =
    (as: "approve" | "deny") =>
    (run: string, gate: string, options: Decision = {}) =>
      steer("decide")(run, { gate, as: as === "approve" && options.args !== undefined ? "edit" : as, ...options });
  const { get, events, follow, wait } = readersOf(perform);
  return {
    ...derivedAt(perform),
    start: async (agent, input, { key = crypto.randomUUID(), files = [], ...options } = {}) =>
      (await perform(
        "start",
        { agent, input, ...sent(files), ...options },
        { headers: { "idempotency-key": key }, repeatable: true },
      )) as StartedRun,
    get,
    events,
    follow,
    wait,
    ledger: async (run, options = {}) => {
      const all: LedgerEntry[] = [];
      for (let after: number | null = 0; after !== null;) {
        const found = (await perform("ledger", { run, after, ...options })) as SuccessOf<Rows["ledger"]>;
        all.push(...found.calls);
        after = found.next;
      }
      return all;
    },
    snapshot: (run, version, options = {}) => steer("snapshot")(run, { version, ...options }),
    export: async (run, options = {}) => (await perform("export", { run, ...options }, { bytes: true })) as Uint8Array,
    send: async (run, text, { id = crypto.randomUUID(), files = [], ...options } = {}) =>
      (await perform("send", { run, text, id, ...sent(files), ...options }, { repeatable: true })) as SentMessage,
    file: async (run, file, options = {}) =>
      (await perform("file", { run, file, ...options }, { bytes: true })) as Uint8Array,
    approve: decide("approve"),
    deny: decide("deny"),
    answer: (run, call, result, options = {}) => steer("answer")(run, { call, result, ...options }),
    signal: async (run, event, { id = crypto.randomUUID(), ...options } = {}) =>
      (await perform("signal", { run, event, id, ...options }, { repeatable: true })) as SuccessOf<Rows["signal"]>,
    assign: (run, to, options = {}) => steer("assign")(run, { to, ...options }),
    fork: async (run, { key = crypto.randomUUID(), ...options }) =>
      (await perform("fork", { run, key, ...options }, { repeatable: true })) as AnswerTo<"fork">,
    runSchedule: async (agent, { key = crypto.randomUUID(), ...options } = {}) =>
      (await perform("runSchedule", { agent, key, ...options }, { repeatable: true })) as AnswerTo<"runSchedule">,
    memoryEntry: async (scope, id, options = {}) =>
      ((await perform("memoryEntry", { scope, id, ...options })) as SuccessOf<Rows["memoryEntry"]>).entry,
    close,
  };
}

type Perform = ReturnType<typeof performAt>;

/** The methods that follow a run. */
function readersOf(perform: Perform): Pick<Client, "events" | "follow"> & {
  readonly get: (run: string, options?: Asked) => Promise<RunDocument<never>>;
  readonly wait: (run: string, options?: Asked) => Promise<RunDocument<never>>;
} {
  const get = async (run: string, options: Asked = {}): Promise<RunDocument<never>> =>
    (await perform("show", { run, ...options })) as RunDocument<never>;
  const page = async (run: string, given: GivenInput & Asked) =>
    (await perform("timeline", { run, wait: POLL_SECONDS, ...given })) as SuccessOf<Rows["timeline"]>;
  return {
    get,
    async *events(run, { after = 0, ...options } = {}) {
      for (let cursor = after; ;) {
        const { entries, next, more, inProgress } = await page(run, { after: cursor, ...options });
        for (const [index, entry] of entries.entries()) {
          // An event in the middle of a commit continues with that whole commit.
          const isLast = entries[index + 1]?.version !== entry.version;
          yield { ...entry, cursor: isLast ? entry.version : entry.version - 1 };
        }
        cursor = next;
        if (!inProgress && !more) return;
      }
    },
    async *follow(run, { cursor: from = "0", ...options } = {}) {
      for (let cursor = from; ;) {
        const { live, entries, next, more, inProgress } = await page(run, { deltas: true, cursor, ...options });
        if (live === undefined) throw new Error("the API answers without deltas: it is older than this client");
        yield* itemsOf({ live, entries, next });
        cursor = live.cursor;
        if (!inProgress && !more) return;
      }
    },
    wait: async (run, options = {}) => {
      for (;;) {
        const document = await get(run, options);
        if (!document.inProgress || needsPerson(document)) return document;
        await page(run, { after: document.version, ...options });
      }
    },
  };
}

/** The items of a page, in the order in which they apply. An event in the middle of a commit continues with that commit. */
function* itemsOf({ live, entries, next }: Pick<EventPage, "entries" | "next"> & { readonly live: Live }) {
  const versionBefore = (entries[0]?.version ?? next + 1) - 1;
  if (live.reset !== null)
    yield { kind: "reset", reset: live.reset, cursor: cursorText({ version: versionBefore, step: null }) } as const;
  for (const [index, event] of entries.entries()) {
    const isLast = entries[index + 1]?.version !== event.version;
    yield { kind: "event", event, cursor: `${isLast ? event.version : event.version - 1}` } as const;
  }
  for (const delta of live.deltas)
    yield { kind: "delta", delta, cursor: cursorText({ version: next, step: delta }) } as const;
}

/** Nothing but a person or another program continues the run. */
function needsPerson({ status, gates, unknown, waits, waitsFor }: RunDocument<never>): boolean {
  if (status === "paused" || waitsFor?.kind === "upgrade" || waitsFor?.kind === "operator") return true;
  if (waits.some((wait) => wait.for === "answer" && !wait.answered)) return true;
  return gates.some(({ decided }) => !decided) || (status === "blocked" && unknown.some(({ answered }) => !answered));
}
