/**
 * Persons who look at the outside world and say what became of a call whose outcome is unknown. They tell the truth as
 * they see it at that moment: some look too early, some look once and send their answer again and again, and two of
 * them may be asked the same.
 */
import type { Answer } from "../../src/core/event.ts";
import type { OpenCall } from "../../src/core/state.ts";
import { type Row, hasEnded } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { type Reconciled, reconcile } from "../../src/operations/reconcile.ts";
import { acceptUpgrade } from "../../src/operations/upgrade.ts";
import type { Actor } from "./actor.ts";
import { PERSON_MS, SETTLE_MS } from "./modes.ts";
import { decideGate } from "./gates.ts";
import { attempts } from "./attempts.ts";
import { steer } from "./people.ts";
import type { Sim } from "./sim.ts";

export interface Answered {
  readonly key: string;
  /** The call, and which question about it. */
  readonly question: readonly [call: string, asked: number];
  readonly as: Answer["as"];
  readonly outcome: Reconciled["kind"] | "unheard";
}

type Said = Omit<Answered, "outcome">;

/** One person looks at the run's open questions and answers one of them. */
export async function askPerson(sim: Sim, run: string): Promise<void> {
  let said: Said | null = null;
  // Some clients send again what they were told to send, without another look.
  const isStubborn = sim.chances.people.oneIn(3);
  const outcome = await attempts<Reconciled["kind"] | "nothing">(sim, {
    act: async (world, actor) => {
      if (said === null || !isStubborn) said = (await looked({ sim, world, actor, run })) ?? said;
      return said === null ? "nothing" : (await reconcile(world, wordsOf(run, said))).kind;
    },
    mayGiveUp: () => true,
  });
  if (said !== null)
    note(sim, { ...(said as Said), outcome: outcome === null || outcome === "nothing" ? "unheard" : outcome });
}

const wordsOf = (run: string, { question: [call, asked], as }: Said) =>
  ({ run, call, asked, as, result: null, by: "person", note: null }) as const;

function note(sim: Sim, answer: Answered): void {
  sim.answers.push({ ...answer, order: sim.record.next() });
  sim.record.reached.add(`answer ${answer.as} ${answer.outcome}`);
  sim.record.note("person", `${answer.key} ${answer.as} → ${answer.outcome}`);
}

interface Looking {
  readonly sim: Sim;
  readonly world: World;
  readonly actor: Actor;
  readonly run: string;
}

/** What a person sees of one of the open questions when they can know it; null where nothing is asked. */
async function looked(of: Looking): Promise<Said | null> {
  const { sim, world, actor, run } = of;
  const row = await world.table.read(run, world.clock.now());
  if (row === null || hasEnded(row)) return null;
  const { state } = await load(world.objects, row, new SegmentCache());
  const unknown = state.open.filter((call) => call.status === "unknown" && call.answer === null);
  const open = unknown[sim.chances.people.below(unknown.length)];
  if (open === undefined) return null;
  const askFrom = open.askFrom ?? 0;
  if (actor.clock.now() < askFrom) {
    if (!(await isTooEarly(of, open))) return null;
    await new Promise<void>((go) => actor.clock.after(askFrom - actor.clock.now(), go));
  }
  await actor.pause();
  const said = seen(sim, open);
  sim.record.note(actor.name, `looks at ${said.key}: ${said.as}`);
  return said;
}

/** What is true at this moment. */
function seen(sim: Sim, { call, asked, intent }: OpenCall): Said {
  const key = intent?.key ?? "";
  const happened = sim.outside.services.effects.some((effect) => effect.key === key);
  // Where it can be undone, some do not care what became of it.
  const isEnough = intent?.undo === true && sim.chances.people.oneIn(3);
  const known = happened ? "succeeded" : sim.chances.people.pick(["failed", "retry"] as const);
  const as = isEnough ? "compensate" : known;
  return { key, question: [call, asked], as };
}

/**
 * Whoever looks too early says at once what they see: nothing may happen in between, or they would have seen it. It has
 * to be refused, unless it says that it happened.
 */
async function isTooEarly({ sim, actor, run }: Looking, open: OpenCall): Promise<boolean> {
  const said = seen(sim, open);
  const { kind } = await reconcile({ ...sim.world, clock: actor.clock }, wordsOf(run, said));
  sim.record.note(actor.name, `looks early at ${said.key}: ${said.as}`);
  note(sim, { ...said, outcome: kind });
  return kind === "tooEarly";
}

/** People come when they are needed, each in their own time. */
export function attend(sim: Sim, run: string): void {
  const { world, clock, chances, plan } = sim;
  const { people } = chances;
  const row = world.store.rows.get(run);
  if (row === undefined || sim.attending > 0 || !isNeeded(sim, row)) return;
  const isPaused = row.status === "paused";
  for (let index = 0; index < (isPaused ? 1 : plan.persons); index += 1) {
    sim.attending += 1;
    // Some sit in front of their screen, and see every moment that others miss.
    const comesIn = plan.mode.mayDouble || people.oneIn(2) ? people.below(2 * SETTLE_MS) : people.below(PERSON_MS);
    clock.after(comesIn, () => {
      const answers = row.status === "waiting" ? decideGate : row.phase === "AwaitingAgent" ? letGoOn : askPerson;
      const act = isPaused ? steer(sim, run, "resume") : answers(sim, run);
      void act.finally(() => {
        sim.attending -= 1;
      });
    });
  }
}

/** Somebody accepts the version that the run waits for. */
async function letGoOn(sim: Sim, run: string): Promise<void> {
  const outcome = await attempts<string>(sim, {
    act: async (world) => (await acceptUpgrade(world, { run, by: "person" })).kind,
    mayGiveUp: () => true,
  });
  sim.record.reached.add(`upgrade ${outcome ?? "unheard"}`);
  sim.record.note("person", `lets it go on → ${outcome ?? "unheard"}`);
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
  const isAnswered = [...world.store.messages.values()].some(
    ({ of, message }) =>
      of.run === run &&
      of.born === born &&
      message !== null &&
      (message.body.kind === "reconcile" || message.body.kind === "decision" || message.body.kind === "upgrade"),
  );
  return (status === "blocked" || status === "waiting") && !(isAnswered && wakeCount !== wakeCountSeen);
}
