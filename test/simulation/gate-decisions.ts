/**
 * Persons who decide about calls that wait at a gate. They make up their mind once and send the same decision until it
 * is acknowledged; two of them may decide otherwise, and some come when the gate has expired.
 */
import type { HumanDecision } from "../../src/core/approval.ts";
import type { Json } from "../../src/core/json.ts";
import { argsOf } from "../../src/core/calls/ledger.ts";
import { hasEnded } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { decide } from "../../src/operations/decide.ts";
import { SegmentCache, jsonOf, load } from "../../src/history/load.ts";
import { retryUntilAcknowledged } from "./operator-attempts.ts";
import type { Sim } from "./sim.ts";

export interface GateDecision {
  readonly gate: string;
  readonly as: HumanDecision["as"];
  readonly outcome: string;
}

type DecisionDraft = Omit<GateDecision, "outcome"> & { readonly args: Json };

/** One person looks at the run's open gates and decides about one of them. */
export async function decideGate(sim: Sim, run: string): Promise<void> {
  // Who is told that there is no such gate looks again.
  if ((await decideOnce(sim, { run, mayErr: true })) === "stale") await decideOnce(sim, { run, mayErr: false });
}

interface Deciding {
  readonly run: string;
  /** Perhaps about another plan. */
  readonly mayErr: boolean;
}

async function decideOnce(sim: Sim, { run, mayErr }: Deciding): Promise<string | null> {
  let said: DecisionDraft | null = null;
  const kind = await retryUntilAcknowledged<string>(sim, {
    act: async (world) => {
      said ??= await chosen(sim, { world, run, mayErr });
      return said === null ? "nothing" : (await decide(world, { ...said, run, by: "person", note: null })).kind;
    },
    mayGiveUp: () => true,
  });
  if (said === null) return null;
  const { gate, as } = said as DecisionDraft;
  const outcome = kind ?? "unheard";
  sim.decisions.push({ gate, as, outcome });
  sim.record.reached.add(`decision ${as} ${outcome}`);
  sim.record.note("person", `${as} ${gate} → ${outcome}`);
  return outcome;
}

async function chosen(sim: Sim, of: Deciding & { readonly world: World }): Promise<DecisionDraft | null> {
  const { world, run, mayErr } = of;
  const row = await world.table.read(run, world.clock.now());
  if (row === null || hasEnded(row)) return null;
  const { state } = await load(world, row, new SegmentCache());
  const open = state.open.flatMap(({ call, heldBy }) =>
    heldBy?.by === "gate" && heldBy.decision === null ? [{ call, asks: heldBy.gate }] : [],
  );
  const { people } = sim.chances;
  const found = open[people.below(open.length)];
  if (found === undefined) return null;
  const { call, asks } = found;
  const as = people.pick(["approve", "approve", "deny", "edit"] as const);
  const asked = (await jsonOf(world.objects, row, argsOf(state, call))) as { readonly step: number };
  // Somebody has another plan before them; by the time of day, so that no draw of others changes.
  const gate = mayErr && world.clock.now() % OTHER_PLAN_MS === 0 ? `${asks}-of-another-plan` : asks;
  return { gate, as, args: { step: asked.step, index: OTHER_INDEX } };
}

const OTHER_PLAN_MS = 31;

/** What an edit puts in the place of any other index. */
const OTHER_INDEX = 99;
