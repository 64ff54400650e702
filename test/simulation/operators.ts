/**
 * The operators of a history. One starts the run; others send, pause, resume, cancel and undo, sometimes many at once;
 * others reconcile calls with an unknown outcome. Each attempt is a process of its own that can die, freeze or lose its
 * responses at any call. Then the operator tries again until a response arrives or the operator gives up.
 *
 * An operator who reconciles reports what is true at that moment. Some look too early. Some look once and send the same
 * answer again and again. Two of them may be asked the same.
 */
import { upgradesOf } from "../../src/core/policy/holds.ts";
import { type Started, startRun } from "../../src/operations/start.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { retryUntilAcknowledged } from "./operator-attempts.ts";
import { requestUndo } from "./sagas.ts";
import type { Sim } from "./sim.ts";
import type { Answer } from "../../src/core/event.ts";
import type { OpenCall } from "../../src/core/state.ts";
import { type Row, hasEnded } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { type Reconciled, reconcile } from "../../src/operations/reconcile.ts";
import { acceptUpgrade } from "../../src/operations/upgrade.ts";
import type { Actor } from "./actor.ts";
import { LOOKS_AGAIN_MS, OPERATOR_MS, SETTLE_MS } from "./modes.ts";
import { hasFeatures } from "./features/plan.ts";
import { endOneWait } from "./features/wait-people.ts";
import { decideGate } from "./gate-decisions.ts";

export interface OperatorRequest {
  readonly what: "send" | "pause" | "resume" | "cancel" | "undo" | "restart";
  readonly id: string;
  /** `unheard`: whoever asked lost heart before there was an answer. */
  readonly outcome: string;
  /** The version of the run at that time. */
  readonly version: number;
}

/** The run exists from here on, whoever had to help. */
export async function startSimulatedRun(sim: Sim): Promise<void> {
  const { outside, world } = sim;
  const agent = outside.agentIn({
    clock: sim.clock,
    pause: async () => undefined,
    note: () => undefined,
    calling: 0,
    task: 0,
    deadline: 0,
  });
  const of = { agent, input: {}, tenant: "local", idempotencyKey: "once" };
  const started = await retryUntilAcknowledged<Started>(sim, {
    act: (world) => startRun(world, of),
    // Before there is a row nobody can make up for it.
    mayGiveUp: () => world.store.rows.size > 0,
  });
  const kind = started?.kind ?? "unheard";
  sim.record.note("starter", kind);
  if (kind !== "started" && kind !== "exists" && kind !== "unheard") throw new Error(`not started: ${kind}`);
}

const IDS = 6;
const BURST = 9;
const REQUESTS = ["send", "send", "send", "send", "send", "pause", "pause", "resume", "resume", "cancel"] as const;
/** Of a run that can undo what it did. */
const SAGA_REQUESTS = [...REQUESTS, "undo", "restart", "restart"] as const;
const WITHOUT_CANCEL = REQUESTS.filter((kind) => kind !== "cancel");

/** Many at once, in no order: words, the same words again, pauses, resumes, and now and then a cancel. */
export function operatorBurst(sim: Sim, run: string): void {
  const { people } = sim.chances;
  const requests = people.oneIn(2) ? (sim.plan.saga === null ? REQUESTS : SAGA_REQUESTS) : WITHOUT_CANCEL;
  const count = 1 + people.below(BURST);
  for (let index = 0; index < count; index += 1) void steer(sim, run, people.pick(requests));
  sim.stormsLeft -= 1;
}

const WAKES_MAX = 3;
const wokenAt = new WeakMap<Sim, readonly number[]>();

/** Somebody speaks to a run that waits for its model's provider, or resumes it: once in a wait, and some times at most. */
export function wakeDuringModelOutage(sim: Sim): boolean {
  const [row] = sim.world.store.rows.values();
  const wakes = sim.plan.away?.wakes ?? null;
  if (wakes === null || row?.phase !== "RetryingLLM") return false;
  const before = wokenAt.get(sim) ?? [];
  if (before.length >= WAKES_MAX || before.includes(row.version)) return false;
  wokenAt.set(sim, [...before, row.version]);
  void steer(sim, row.run, wakes);
  return true;
}

export async function steer(sim: Sim, run: string, what: OperatorRequest["what"]): Promise<void> {
  const id = String(sim.chances.people.below(IDS));
  const outcome = await sendOperatorRequest(sim, { run, what, id });
  const { world, record, steered } = sim;
  const told = outcome ?? "unheard";
  steered.push({ what, id, outcome: told, version: world.store.rows.get(run)?.version ?? 0 });
  record.reached.add(`steer ${what} ${told}`);
  record.note("operator", `${what} ${what === "send" ? `${id} ` : ""}→ ${told}`);
}

function sendOperatorRequest(
  sim: Sim,
  { run, what, id }: { readonly run: string } & Pick<OperatorRequest, "what" | "id">,
): Promise<string | null> {
  if (what === "undo" || what === "restart") return requestUndo(sim, { run, next: what === "undo" ? "cancel" : what });
  return retryUntilAcknowledged<string>(sim, {
    act: async (world) =>
      what === "send"
        ? (await send(world, { run, text: `words ${id}`, by: "operator", id })).kind
        : sendRequest(world, { run, want: what }),
    mayGiveUp: () => true,
  });
}

export interface ReconcileAttempt {
  readonly key: string;
  /** The call, and which question about it. */
  readonly question: readonly [call: string, asked: number];
  readonly as: Answer["as"];
  readonly outcome: Reconciled["kind"] | "unheard";
}

type ReconcileDraft = Omit<ReconcileAttempt, "outcome">;

/** One person looks at the run's open questions and answers one of them. */
export async function reconcileOpenCall(sim: Sim, run: string): Promise<void> {
  let said: ReconcileDraft | null = null;
  // Some clients send again what they were told to send, without another look.
  const isStubborn = sim.chances.people.oneIn(3);
  const outcome = await retryUntilAcknowledged<Reconciled["kind"] | "nothing">(sim, {
    act: async (world, actor) => {
      if (said === null || !isStubborn) said = (await readOpenCall({ sim, world, actor, run })) ?? said;
      return said === null ? "nothing" : (await reconcile(world, wordsOf(run, said))).kind;
    },
    mayGiveUp: () => true,
  });
  if (said !== null)
    note(sim, {
      ...(said as ReconcileDraft),
      outcome: outcome === null || outcome === "nothing" ? "unheard" : outcome,
    });
}

const wordsOf = (run: string, { question: [call, asked], as }: ReconcileDraft) =>
  ({ run, call, asked, as, result: null, by: "person", note: null }) as const;

function note(sim: Sim, answer: ReconcileAttempt): void {
  sim.answers.push({ ...answer, order: sim.record.next() });
  sim.record.reached.add(`answer ${answer.as} ${answer.outcome}`);
  sim.record.note("person", `${answer.key} ${answer.as} → ${answer.outcome}`);
}

interface OperatorView {
  readonly sim: Sim;
  readonly world: World;
  readonly actor: Actor;
  readonly run: string;
}

/** What a person sees of one of the open questions when they can know it; null where nothing is asked. */
async function readOpenCall(of: OperatorView): Promise<ReconcileDraft | null> {
  const { sim, world, actor, run } = of;
  const row = await world.table.read(run, world.clock.now());
  if (row === null || hasEnded(row)) return null;
  const { state } = await load(world, row, new SegmentCache());
  const unknown = state.open.filter((call) => call.status === "unknown" && call.answer === null);
  const open = unknown[sim.chances.people.below(unknown.length)];
  if (open === undefined) return null;
  const reconcilableFrom = open.reconcilableFrom ?? 0;
  if (actor.clock.now() < reconcilableFrom) {
    if (!(await isTooEarly(of, open))) return null;
    await new Promise<void>((go) => actor.clock.after(reconcilableFrom - actor.clock.now(), go));
  }
  await actor.pause();
  const said = seen(sim, open);
  sim.record.note(actor.name, `looks at ${said.key}: ${said.as}`);
  return said;
}

/** What is true at this moment. */
function seen(sim: Sim, { call, timesUnknown, intent }: OpenCall): ReconcileDraft {
  const key = intent?.key ?? "";
  const happened = sim.outside.services.effects.some((effect) => effect.key === key);
  // Where it can be undone, some do not care what became of it.
  const isEnough = intent?.undo === true && sim.chances.people.oneIn(3);
  const known = happened ? "succeeded" : sim.chances.people.pick(["failed", "retry"] as const);
  const as = isEnough ? "compensate" : known;
  return { key, question: [call, timesUnknown], as };
}

/**
 * Whoever looks too early says at once what they see: nothing may happen in between, or they would have seen it. It has
 * to be refused, unless it says that it happened.
 */
async function isTooEarly({ sim, actor, run }: OperatorView, open: OpenCall): Promise<boolean> {
  const said = seen(sim, open);
  const { kind } = await reconcile({ ...sim.world, clock: actor.clock }, wordsOf(run, said));
  sim.record.note(actor.name, `looks early at ${said.key}: ${said.as}`);
  note(sim, { ...said, outcome: kind });
  return kind === "tooEarly";
}

/** People come when they are needed, each in their own time. */
export function callOperators(sim: Sim, run: string): void {
  const { world, clock, chances, plan } = sim;
  const { people } = chances;
  const row = world.store.rows.get(run);
  if (row === undefined || sim.attending > 0 || !isNeeded(sim, row)) return;
  const isPaused = row.status === "paused";
  for (let index = 0; index < (isPaused ? 1 : plan.persons); index += 1) {
    sim.attending += 1;
    // Some sit in front of their screen, and see every moment that others miss.
    const comesIn = plan.mode.mayDouble || people.oneIn(2) ? people.below(2 * SETTLE_MS) : people.below(OPERATOR_MS);
    clock.after(comesIn, () => {
      const answers =
        row.status === "waiting" ? decideOrAnswer : row.phase === "AwaitingAgent" ? acceptVersion : reconcileOpenCall;
      const act = isPaused ? steer(sim, run, "resume") : answers(sim, run);
      void act.finally(() => {
        sim.attending -= 1;
      });
    });
  }
}

/** A run that waits does so at a gate, for an input, or for the next message of its user. */
async function decideOrAnswer(sim: Sim, run: string): Promise<void> {
  const given = (): number => sim.decisions.length + sim.features.inputs.length + sim.steered.length;
  const before = given();
  await decideGate(sim, run);
  const { unasked, plan, chances } = sim;
  if (plan.features.waits !== null) await endOneWait(sim, run);
  if (unasked.messages > 0 && chances.features.oneIn(2)) {
    unasked.messages -= 1;
    await steer(sim, run, "send");
  }
  const version = sim.world.store.rows.get(run)?.version ?? 0;
  const isFruitless = hasFeatures(plan.features) && given() === before;
  if (isFruitless) sim.features.nothingToGive = { version, until: sim.clock.now() + LOOKS_AGAIN_MS };
}

/** Somebody accepts the version that the run waits for. */
async function acceptVersion(sim: Sim, run: string): Promise<void> {
  const outcome = await retryUntilAcknowledged<string>(sim, {
    act: async (world) => (await acceptUpgrade(world, { run, by: "person" })).kind,
    mayGiveUp: () => true,
  });
  sim.record.reached.add(`upgrade ${outcome ?? "unheard"}`);
  sim.record.note("person", `lets it go on → ${outcome ?? "unheard"}`);
  // It may wait for no version: the provider of its model refuses what it asks, or its replies are cut.
  const row = sim.world.store.rows.get(run);
  if (outcome === "stale" && row?.phase === "AwaitingAgent") await mendModel(sim, row);
}

const RESUMES_MAX = 8;
const resumed = new WeakMap<Sim, number>();

/** Somebody mends what the provider refuses, and resumes the run; they give up one that it does not help. */
async function mendModel(sim: Sim, row: Row): Promise<void> {
  const { state } = await load(sim.world, row, new SegmentCache());
  if (upgradesOf(state).lack?.kind !== "operator") return;
  const before = resumed.get(sim) ?? 0;
  resumed.set(sim, before + 1);
  await steer(sim, row.run, before < RESUMES_MAX ? "resume" : "cancel");
}

/**
 * A run that was cancelled comes to its end without anybody, and one whose question was answered takes the answer by
 * itself: nobody comes to wake it a second time.
 */
function isNeeded(sim: Sim, row: Row): boolean {
  const { world } = sim;
  const { run, born, status, cancel, wakeCount, wakeCountSeen } = row;
  // Unless it undoes what it did before, and somebody has to say what became of that.
  if (cancel && (sim.plan.saga === null || status === "paused")) return false;
  if (status === "paused") return true;
  const { nothingToGive: nothing } = sim.features;
  if (status === "waiting" && row.version === nothing.version && sim.clock.now() < nothing.until) return false;
  const isAnswered = [...world.store.messages.values()].some(
    ({ of, message }) =>
      of.run === run &&
      of.born === born &&
      message !== null &&
      /^(reconcile|decision|upgrade|answer|signal)$/.test(message.body.kind),
  );
  return (status === "blocked" || status === "waiting") && !(isAnswered && wakeCount !== wakeCountSeen);
}
