/**
 * The people of a history: whoever starts the run, and operators who steer it, sometimes many at once. Each of their
 * attempts is a process of its own that can die, freeze or lose its answers at any of its calls; then they try again,
 * until they are acknowledged or lose heart. Those who answer questions are in `persons.ts`.
 */
import { type Started, startRun } from "../../src/operations/start.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { attempts } from "./attempts.ts";
import { wantUndone } from "./sagas.ts";
import type { Sim } from "./sim.ts";

export interface Steered {
  readonly what: "send" | "pause" | "resume" | "cancel" | "undo" | "restart";
  readonly id: string;
  /** `unheard`: whoever asked lost heart before there was an answer. */
  readonly outcome: string;
  /** The version of the run at that time. */
  readonly version: number;
}

/** The run exists from here on, whoever had to help. */
export async function startedRun(sim: Sim): Promise<void> {
  const { outside, world } = sim;
  const agent = outside.agentIn({ clock: sim.clock, pause: async () => undefined, note: () => undefined, calling: 0 });
  const of = { agent, input: {}, tenant: "local", idempotencyKey: "once" };
  const started = await attempts<Started>(sim, {
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
const WISHES = ["send", "send", "send", "send", "send", "pause", "pause", "resume", "resume", "cancel"] as const;
/** Of a run that can undo what it did. */
const UNDO_WISHES = [...WISHES, "undo", "restart", "restart"] as const;
const WITHOUT_CANCEL = WISHES.filter((wish) => wish !== "cancel");

/** Many at once, in no order: words, the same words again, pauses, resumes, and now and then a cancel. */
export function storm(sim: Sim, run: string): void {
  const { people } = sim.chances;
  const wishes = people.oneIn(2) ? (sim.plan.saga === null ? WISHES : UNDO_WISHES) : WITHOUT_CANCEL;
  const count = 1 + people.below(BURST);
  for (let index = 0; index < count; index += 1) void steer(sim, run, people.pick(wishes));
  sim.stormsLeft -= 1;
}

const WAKES_MAX = 3;
const wokenAt = new WeakMap<Sim, readonly number[]>();

/** Somebody speaks to a run that waits for its model's provider, or resumes it: once in a wait, and some times at most. */
export function wakeIfAway(sim: Sim): boolean {
  const [row] = sim.world.store.rows.values();
  const wakes = sim.plan.away?.wakes ?? null;
  if (wakes === null || row?.phase !== "RetryingLLM") return false;
  const before = wokenAt.get(sim) ?? [];
  if (before.length >= WAKES_MAX || before.includes(row.version)) return false;
  wokenAt.set(sim, [...before, row.version]);
  void steer(sim, row.run, wakes);
  return true;
}

export async function steer(sim: Sim, run: string, what: Steered["what"]): Promise<void> {
  const id = String(sim.chances.people.below(IDS));
  const outcome = await wished(sim, { run, what, id });
  const { world, record, steered } = sim;
  const told = outcome ?? "unheard";
  steered.push({ what, id, outcome: told, version: world.store.rows.get(run)?.version ?? 0 });
  record.reached.add(`steer ${what} ${told}`);
  record.note("operator", `${what} ${what === "send" ? `${id} ` : ""}→ ${told}`);
}

function wished(
  sim: Sim,
  { run, what, id }: { readonly run: string } & Pick<Steered, "what" | "id">,
): Promise<string | null> {
  if (what === "undo" || what === "restart") return wantUndone(sim, { run, next: what === "undo" ? "cancel" : what });
  return attempts<string>(sim, {
    act: async (world) =>
      what === "send"
        ? (await send(world, { run, text: `words ${id}`, by: "operator", id })).kind
        : sendRequest(world, { run, want: what }),
    mayGiveUp: () => true,
  });
}
