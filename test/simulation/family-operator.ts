/** The operator of a family: says what the service knows of calls whose outcome is unknown, and decides about repeats. */
import type { MemoryWorld } from "../../src/adapters/memory/world.ts";
import { decide } from "../../src/operations/decide.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { type Shown, type UnknownCall, show, timeline } from "../../src/operations/views.ts";
import { type FamilyRecord, descendantsOf } from "./family-history.ts";
import type { FamilyService } from "./family-service.ts";
import type { SeededChoices } from "./seeded-choices.ts";

interface Operated {
  readonly stored: FamilyRecord["stored"];
  readonly service: FamilyService;
  /** What the operator makes up their mind with. */
  readonly deciding: SeededChoices;
}

/** Each question that waits for a human gets an answer. */
export async function answerBlocked(world: MemoryWorld, operated: Operated): Promise<void> {
  for (const { run, status } of [...world.store.rows.values()]) {
    if (status !== "blocked" && status !== "waiting") continue;
    const shown = await show(world, run);
    for (const asked of shown?.unknown ?? []) {
      if (asked.answered || world.clock.now() < asked.reconcilableFrom) continue;
      const as =
        asked.undoes === undefined
          ? await outcomeOf(world, operated, { run, asked })
          : await undoneByHand(world, operated, { run, asked });
      await reconcile(world, { run, call: asked.call, as, result: null, by: "ann", note: null });
    }
    await decideGates(world, operated, shown);
  }
}

interface Asked {
  readonly run: string;
  readonly asked: UnknownCall;
}

/** Of a hand-off: whether anything that its children did stands. */
async function outcomeOf(
  world: MemoryWorld,
  operated: Operated,
  { run, asked }: Asked,
): Promise<"succeeded" | "failed"> {
  const below = await madeBy(world, operated, { run, call: asked.call });
  const { service } = operated;
  return service.has(asked.key) || below.some((each) => service.standingOf(each) > 0) ? "succeeded" : "failed";
}

/** What no tool can undo, the operator takes back at the service or leaves. */
async function undoneByHand(
  world: MemoryWorld,
  operated: Operated,
  { run, asked }: Asked,
): Promise<"succeeded" | "failed"> {
  if (asked.byHand !== true) return operated.service.has(asked.key) ? "succeeded" : "failed";
  if (operated.deciding.oneIn(2)) return "failed";
  for (const each of await madeBy(world, operated, { run, call: asked.undoes ?? "" })) operated.service.undoAllOf(each);
  return "succeeded";
}

/** The children of that call, and all runs below them. */
async function madeBy(
  world: MemoryWorld,
  { stored }: Operated,
  handOff: { readonly run: string; readonly call: string },
): Promise<readonly string[]> {
  const events = (await timeline(world, { run: handOff.run, after: 0 })) ?? [];
  const made = events.flatMap((event) =>
    event.kind === "ChildDispatched" && event.call === handOff.call ? [event.child] : [],
  );
  return made.flatMap((child) => [child, ...descendantsOf({ stored }, child)]);
}

/** An equal hand-off is wanted again, or it is not. */
async function decideGates(world: MemoryWorld, { deciding }: Operated, shown: Shown | null): Promise<void> {
  for (const { gate, decided } of shown?.gates ?? []) {
    if (decided || shown === null) continue;
    const as = deciding.oneIn(3) ? "approve" : "deny";
    await decide(world, { run: shown.run, gate, as, args: null, by: "ann", note: null });
  }
}
