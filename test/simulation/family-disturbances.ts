/** What people, retention and the platform do to a family while it works. */
import type { MemoryWorld } from "../../src/adapters/memory/world.ts";
import type { Row } from "../../src/protocol/row.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { send } from "../../src/operations/steer.ts";
import type { Disturbance } from "./family-plan.ts";
import type { SeededChoices } from "./seeded-choices.ts";

const PAUSE_MS = 8_000;

interface Disturbed {
  readonly world: MemoryWorld;
  readonly chance: SeededChoices;
  readonly step: number;
  readonly root: string;
  readonly removed: Set<string>;
}

/** Does that to a run of the family. Returns the run, or null if none of its runs fits. */
export function disturb(what: Disturbance, { world, chance, step, root, removed }: Disturbed): Row | null {
  const rows = [...world.store.rows.values()];
  const ignore = (): void => undefined;
  if (what === "remove") {
    const gone = rows.filter(
      ({ run, endNotified, expiresAtSec }) => run !== root && endNotified && expiresAtSec !== null,
    );
    if (gone.length === 0) return null;
    const row = chance.pick(gone);
    removed.add(row.run);
    world.store.rows.delete(row.run);
    return row;
  }
  const row = chance.pick(rows);
  const { run } = row;
  if (what === "send") void send(world, { run, text: "words", by: "ann", id: `w${step}` }).catch(ignore);
  else if (what === "undo" || what === "restart") {
    const next = what === "undo" ? "cancel" : "restart";
    void requestCompensation(world, { run, next, by: "ann" }).catch(ignore);
  } else if (what === "pause") {
    void sendRequest(world, { run, want: "pause" }).catch(ignore);
    world.clock.after(chance.below(PAUSE_MS), () => {
      void sendRequest(world, { run, want: "resume" }).catch(ignore);
    });
  } else void sendRequest(world, { run, want: "cancel" }).catch(ignore);
  return row;
}

/** How many children of that run work at this moment. */
export const childrenOut = (world: MemoryWorld, run: string): number =>
  [...world.store.rows.values()].filter(({ parent, owner, status }) => parent?.run === run && isWorking(status, owner))
    .length;

const isWorking = (status: Row["status"], owner: Row["owner"]): boolean =>
  owner !== null || /^(queued|running)$/.test(status);
