/**
 * What lies between an actor and the stores. A call may be cut off before or after it was applied, its answer may be
 * lost or late, it may land long after its sender gave up, the store may be away, and bytes may come back wrong.
 */
import type { World } from "../../src/ports/world.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import type { Actor } from "./actor.ts";
import { BEAT_MS, LONG_OUTAGE_MS, OUTAGE_MS } from "./modes.ts";
import { limitsWithCap, noticeCap } from "./features/cap-operator.ts";
import { hasFeatures } from "./features/plan.ts";
import { webhooksIn } from "./features/webhook-endpoint.ts";
import { nameOfCall } from "../support/harness/ports.ts";
import type { Call, FaultKind, Operation } from "./record.ts";
import { type Outage, STORES, type Sim, isCalm, recordFault } from "./sim.ts";

const ANY = ["crash before", "crash after", "unavailable", "answer late"] as const;
/** Only a conditional write may answer that nobody knows. */
const CONDITIONAL = [...ANY, "answer lost", "not applied", "lands late", "throttled"] as const;

/** Which faults an operation can meet. Whoever adds one to a port says it here, and the reach table asks for it. */
export const MEETS: { readonly [O in Operation]: readonly FaultKind[] } = {
  "table.create": CONDITIONAL,
  "table.createChildren": [],
  "table.fenceChild": [],
  "table.claim": CONDITIONAL,
  "table.commit": CONDITIONAL,
  "table.park": CONDITIONAL,
  "inbox.deliver": CONDITIONAL,
  "table.request": CONDITIONAL,
  "table.handOver": CONDITIONAL,
  "leases.take": CONDITIONAL,
  // An end that somebody else waits for: each call of it is enumerated in `test/crash`.
  "table.recordEndNotified": [],
  "table.keepKey": CONDITIONAL,
  "table.readKey": ANY,
  "table.forgetKey": [],
  "table.redrive": CONDITIONAL,
  // The word of an operator: `test/property/restored.test.ts` says it.
  "table.checkRestored": [],
  "table.read": ANY,
  "inbox.unread": ANY,
  "inbox.clear": ANY,
  "table.alive": ANY,
  // For people who look at lists; no history depends on it.
  "table.list": [],
  "leases.cursorOf": [],
  "records.add": CONDITIONAL,
  "records.replace": CONDITIONAL,
  // Nothing damages a record of a history.
  "records.overwriteDamaged": [],
  "records.get": ANY,
  "records.list": ANY,
  "objects.put": CONDITIONAL,
  "objects.get": [...ANY, "damaged", "missing"],
  // What is done about runs that are gone: each call of it is enumerated in `test/history/clean-up-faults.long.test.ts`.
  "table.purge": [],
  "inbox.forget": [],
  "table.storeId": [],
  "objects.keysAfter": [],
  "objects.removeUnder": [],
  "objects.storeId": [],
  "chain.start": ANY,
  "chain.wake": ANY,
};

const CONDITIONALS: ReadonlySet<Operation> = new Set(
  (Object.keys(MEETS) as Operation[]).filter((operation) => MEETS[operation] === CONDITIONAL),
);

/** Calls that few histories make. One in so many meets a fault, so that every kind of fault is reached. */
const RARE: ReadonlyMap<Operation, number> = new Map([
  ["table.redrive", 2],
  ["records.add", 4],
  ["records.replace", 4],
]);

/** How many of the next calls meet the same silence. */
const CALLS_AWAY = 8;
/** A late answer may come after the deadline of whoever waits for it. */
const LATE_MS = BEAT_MS + BEAT_MS / 2;
/** A late write lands up to so many steps after it was sent: in a later epoch, or after the end. */
const LATE_STEPS = 60;
/** How often the bytes of one object come back wrong, at most. */
const READS_WRONG = 4;

const AMBIGUOUS = { kind: "ambiguous", why: "no answer" } as const;

/** The world as one actor has it. */
export function worldOf(sim: Sim, actor: Actor): World {
  const { world, record, plan } = sim;
  return {
    ...world,
    clock: actor.clock,
    table: reached(sim, actor, "table"),
    inbox: reached(sim, actor, "inbox"),
    leases: reached(sim, actor, "leases"),
    // Only features keep records of their own.
    ...(hasFeatures(plan.features) ? { records: reached(sim, actor, "records") } : {}),
    ...(plan.features.webhooks === null ? {} : { webhooks: webhooksIn(sim, actor) }),
    get limits() {
      return limitsWithCap(sim);
    },
    objects: reached(sim, actor, "objects"),
    chain: reached(sim, actor, "chain"),
    telemetry: {
      record: (each) => {
        const { phase } = each.detail;
        if (typeof phase === "string") actor.phase = phase as Actor["phase"];
        if (each.what === "SpendCapReached") noticeCap(sim);
        record.telemetry.push(each);
        record.note(actor.name, `${each.level === "alarm" ? "ALARM " : ""}${each.what} ${words(each.detail)}`);
      },
    },
  };
}

const words = (detail: object): string =>
  Object.entries(detail)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(" ");

function reached<P extends "table" | "inbox" | "leases" | "records" | "objects" | "chain">(
  sim: Sim,
  actor: Actor,
  name: P,
): World[P] {
  return new Proxy(sim.world[name], {
    get: (port, member) => {
      const apply: unknown = Reflect.get(port, member);
      if (typeof apply !== "function") return apply;
      return (...given: readonly unknown[]) => {
        const operation = `${name}.${nameOfCall(member, given)}` as Operation;
        const of = (member === "decide" ? given.slice(0, 1) : given) as Call["of"];
        return sent({ sim, actor, operation, of, send: async () => Reflect.apply(apply, port, given) });
      };
    },
  });
}

interface Request {
  readonly sim: Sim;
  readonly actor: Actor;
  readonly operation: Operation;
  readonly of: Call["of"];
  readonly send: () => Promise<unknown>;
}

async function sent(request: Request): Promise<unknown> {
  const { sim, actor } = request;
  const order = sim.record.next();
  const log = (fault: Call["fault"], outcome: unknown): void => {
    const { operation, of } = request;
    const known = outcome as Call["outcome"];
    sim.record.call({ who: actor.name, task: actor.task, operation, of, sent: order, fault, outcome: known });
  };
  await actor.pause();
  const fault = faultOf(request);
  if (fault !== null) sim.record.reached.add(`phase ${actor.phase ?? "none"} ${fault}`);
  if (fault === "damaged" || fault === "missing") return corrupt(request, { fault, log });
  if (fault === "lands late") launch(request, log);
  if (fault !== null && !ARRIVES.has(fault)) log(fault, null);
  if (fault === "crash before") return crash(actor);
  if (fault === "unavailable") throw new StoreUnreachable("the store does not answer", { store: request.operation });
  if (fault === "throttled") return { ...AMBIGUOUS, isBusy: true };
  if (fault === "not applied" || fault === "lands late") return AMBIGUOUS;
  const outcome = await request.send();
  log(fault, outcome);
  if (request.operation === "table.claim") noticePhase(actor, outcome);
  if (fault === "crash after") return crash(actor);
  if (fault === "answer late") await new Promise<void>((go) => actor.clock.after(lateMs(sim), go));
  await actor.pause();
  if (fault !== "answer lost") return outcome;
  // Of a call that is no conditional write nothing can be told but that its answer did not come.
  if (!CONDITIONALS.has(request.operation)) throw new StoreUnreachable("no answer", { store: request.operation });
  return AMBIGUOUS;
}

/** Faults that meet the answer and not the request. */
const ARRIVES: ReadonlySet<FaultKind> = new Set(["crash after", "answer late", "answer lost"]);

const lateMs = ({ chances }: Sim): number => 1 + chances.network.below(LATE_MS);

function noticePhase(actor: Actor, outcome: unknown): void {
  if (typeof outcome === "object" && outcome !== null && "row" in outcome) {
    actor.phase = (outcome.row as { readonly phase: Actor["phase"] }).phase;
  }
}

function crash(actor: Actor): Promise<never> {
  actor.die();
  return new Promise(() => undefined);
}

/** Nobody waits for it any more, and its sender may be dead when it lands. */
function launch({ sim, send }: Request, log: (fault: Call["fault"], outcome: unknown) => void): void {
  const due = sim.record.step + 1 + sim.chances.network.below(LATE_STEPS);
  sim.flights.push({ due, land: async () => log("landed", await send()) });
}

async function corrupt(
  { sim, actor, of, send }: Request,
  { fault, log }: { fault: "damaged" | "missing"; log: (fault: Call["fault"], outcome: unknown) => void },
): Promise<Uint8Array | null> {
  const bytes = (await send()) as Uint8Array | null;
  const key = String(of[0]);
  const left = (sim.damaged.get(key)?.left ?? sim.chances.network.below(READS_WRONG)) - 1;
  if (left >= 0) sim.damaged.set(key, { how: fault, left });
  else sim.damaged.delete(key);
  actor.sawDamage = true;
  log(fault, null);
  await actor.pause();
  if (bytes === null || fault === "missing") return null;
  const wrong = Uint8Array.from(bytes);
  // Not in the last byte, whose padding means nothing.
  const at = sim.chances.network.below(wrong.length - 1);
  wrong[at] = (wrong[at] ?? 0) ^ (1 + sim.chances.network.below(255));
  return wrong;
}

/** What this call meets, drawn once for each. */
function faultOf({ sim, actor, operation, of }: Request): FaultKind | null {
  if (isCalm(sim)) return null;
  const away = loseResponse(sim, operation);
  if (away !== null) return away;
  const wrong = operation === "objects.get" ? sim.damaged.get(String(of[0])) : undefined;
  if (wrong !== undefined) return wrong.how;
  const { chances, plan, outage, clock, record } = sim;
  // People are many in a storm: the faults are meant for the run as well.
  const oneIn = actor.isPerson ? 2 * plan.oneIn : plan.oneIn;
  if (!chances.network.oneIn(RARE.get(operation) ?? oneIn)) return null;
  const fault = chances.network.pick(
    MEETS[operation].filter((each) => plan.repaired === "losses" || !ONLY_SWEPT.has(each)),
  );
  recordFault(sim, `${operation} ${fault}`);
  if ((fault === "throttled" || fault === "unavailable") && outage === null) {
    const until = chances.network.oneIn(3) ? clock.now() + outageMs(sim) : clock.now();
    const flavour = fault === "unavailable" && chances.network.oneIn(3) ? "unheard" : fault;
    const store = chances.network.oneIn(2) ? storeOf(operation) : chances.network.pick(STORES);
    sim.outage = { store, flavour, until, callsLeft: chances.network.below(CALLS_AWAY) };
    record.reached.add(`outage of ${store} ${flavour}`);
  }
  return fault;
}

/** A beat that reads such bytes leaves its run to the sweeper. */
const ONLY_SWEPT: ReadonlySet<FaultKind> = new Set(["damaged", "missing"]);

/** While the store is away nobody gets an answer; once it is back it is so for everybody. */
function loseResponse(sim: Sim, operation: Operation): FaultKind | null {
  const { outage, clock, record } = sim;
  if (outage === null) return null;
  if (outage.callsLeft <= 0 && clock.now() >= outage.until) {
    sim.outage = null;
    return null;
  }
  if (outage.store !== "everything" && outage.store !== storeOf(operation)) return null;
  outage.callsLeft -= 1;
  if (outage.flavour === "unheard") return "answer lost";
  const fault = MEETS[operation].includes(outage.flavour) ? outage.flavour : "unavailable";
  record.reached.add(`${operation} ${fault}`);
  return fault;
}

/** Rows, messages and mutex leases are in one table. */
const storeOf = (operation: Operation): Outage["store"] => {
  const [port = ""] = operation.split(".");
  return port === "objects" || port === "chain" ? port : "table";
};

/** Most outages are over soon; some last for longer than several leases. */
function outageMs({ chances }: Sim): number {
  return chances.network.below(chances.network.oneIn(4) ? LONG_OUTAGE_MS : OUTAGE_MS);
}
