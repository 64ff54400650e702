/**
 * The ports of a worker, which wait while another process holds the store. A worker does not wait in SQLite: that would
 * stop its timers and its other runs. Nothing of a refused access has happened, so it is repeated as it is.
 */
import type { Ambiguous } from "../../../ports/run-table.ts";
import type { ObjectStore } from "../../../ports/object-store.ts";
import type { Records } from "../../../ports/records.ts";
import { CLAIM } from "../../../protocol/row-claim.ts";
import { COMMIT } from "../../../protocol/row-commit.ts";
import type { Clock, World } from "../../../ports/world.ts";
import { StoreHeld } from "./store-errors.ts";

/** How long an access waits before its store counts as unreachable. */
const WAIT_MS = 5_000;
/** How long a put or a record waits before it says that the store is busy. Its beat then decides how long it can wait. */
const BRIEF_WAIT_MS = 500;
const PAUSE_MS = { first: 25, longest: 400 };

/**
 * A claim, a put, a record and a commit answer that the store is busy, as that of any world may: their beat knows how long
 * it can wait (schedule 236). All others wait here.
 */
export function patientPorts(world: World): World {
  const { clock, table, inbox, leases, records, objects, chain } = world;
  const waits: Waits = new Map();
  const waiting = <Port extends object>(port: Port, waitMs = WAIT_MS): Port =>
    waitingPort(port, { clock, waits, waitMs });
  const brief = { objects: waiting(objects, BRIEF_WAIT_MS), records: waiting(records, BRIEF_WAIT_MS) };
  const patient = waiting(table);
  return {
    ...world,
    heldBy: () => waits.values().next().value ?? null,
    table: {
      ...patient,
      decide: (asked, decision) =>
        BRIEF.has(decision.name) ? busyIfHeld(() => table.decide(asked, decision))() : patient.decide(asked, decision),
    },
    inbox: waiting(inbox),
    leases: waiting(leases),
    records: {
      ...waiting(records),
      add: busyIfHeld((...given: Parameters<Records["add"]>) => brief.records.add(...given)),
      replace: busyIfHeld((...given: Parameters<Records["replace"]>) => brief.records.replace(...given)),
      overwriteDamaged: busyIfHeld((...given: Parameters<Records["overwriteDamaged"]>) =>
        brief.records.overwriteDamaged(...given),
      ),
    },
    objects: {
      ...waiting(objects),
      put: busyIfHeld((...given: Parameters<ObjectStore["put"]>) => brief.objects.put(...given)),
    },
    chain: waiting(chain),
  };
}

const BRIEF: ReadonlySet<string> = new Set([CLAIM.name, COMMIT.name]);

/** The accesses that wait, each with the error of its last try: it says who holds the store. */
type Waits = Map<object, string>;

type Access<Given extends readonly unknown[], Outcome> = (...given: Given) => Promise<Outcome>;

const busyIfHeld =
  <Given extends readonly unknown[], Outcome>(access: Access<Given, Outcome>) =>
  async (...given: Given): Promise<Outcome | Ambiguous> => {
    try {
      return await access(...given);
    } catch (error) {
      if (!(error instanceof StoreHeld)) throw error;
      return { kind: "ambiguous", why: error.message, isBusy: true };
    }
  };

interface Waiting {
  readonly clock: Clock;
  readonly waits: Waits;
  readonly waitMs: number;
}

/** The port of which each method repeats what was refused because another process holds the store. */
function waitingPort<Port extends object>(port: Port, waiting: Waiting): Port {
  const patient = Object.entries(port).map(([name, method]: [string, unknown]) => {
    if (typeof method !== "function") return [name, method];
    const call = method as (...given: readonly unknown[]) => unknown;
    return [name, (...given: readonly unknown[]) => repeated(() => call(...given), waiting)];
  });
  return Object.fromEntries(patient) as Port;
}

function repeated(call: () => unknown, waiting: Waiting): unknown {
  const answer = call();
  return answer instanceof Promise
    ? untilFree(answer, call, waiting).finally(() => waiting.waits.delete(call))
    : answer;
}

async function untilFree(
  first: Promise<unknown>,
  call: () => unknown,
  { clock, waits, waitMs }: Waiting,
): Promise<unknown> {
  const until = clock.now() + waitMs;
  let pauseMs = PAUSE_MS.first;
  for (let answer: unknown = first; ; answer = call()) {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof StoreHeld) || clock.now() >= until) throw error;
      waits.set(call, error.message);
    }
    const ms = pauseMs;
    await new Promise<void>((resolve) => void clock.after(ms, resolve));
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest);
  }
}
