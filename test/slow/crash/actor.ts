/**
 * Whoever acts in a history: a process of the chain, or somebody outside. It sees the world through its own gate, so
 * that it can die, freeze or meet a fault at each of its calls; what it was about to do then never happens.
 */
import type { Clock, World } from "../../../src/ports/world.ts";
import { type Operations, nameOfCall } from "../../support/harness/ports.ts";
import type { Gate } from "./scenario.ts";

/** What may happen to a call that reaches a port. */
export const FAULTS = ["crash before", "crash after", "answer lost", "not applied", "unavailable"] as const;
export type FaultKind = (typeof FAULTS)[number];

const CRASHES: readonly FaultKind[] = ["crash before", "crash after"];
const WRITES = [
  ...["create", "claim", "commit", "park", "deliver", "request", "handOver", "recordEndNotified"],
  ...["take", "purge", "keepKey", "forgetKey"],
] as const satisfies readonly (keyof Operations)[];
const CONDITIONAL: ReadonlySet<string> = new Set([...WRITES.map((write) => `table.${write}`), "objects.put"]);
/** The model of summaries, which another model can replace. */
export const CHEAP_MODEL = "model.cheap";
const PORT = /^(table|objects|chain)\./;

/** A write whose answer can be lost. */
export const isConditional = (point: string): boolean => CONDITIONAL.has(point);

/** Which faults can meet a call of that name. */
export function faultsOf(point: string): readonly FaultKind[] {
  if (isConditional(point)) return FAULTS;
  return PORT.test(point) || point === CHEAP_MODEL ? [...CRASHES, "unavailable"] : CRASHES;
}

export class Actor {
  readonly isProcess: boolean;
  isDead = false;
  isFrozen = false;
  /** Its attempt is out. */
  isBusy = false;
  readonly #late: (() => void)[] = [];
  readonly #endings: (() => void)[] = [];

  constructor(isProcess: boolean) {
    this.isProcess = isProcess;
  }

  /** From here on none of its promises settles. */
  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    for (const tell of this.#endings.splice(0)) tell();
  }

  whenDead(tell: () => void): void {
    this.#endings.push(tell);
  }

  freeze(): void {
    this.isFrozen = true;
  }

  thaw(): void {
    this.isFrozen = false;
    for (const go of this.#late.splice(0)) go();
  }

  /** Goes on at once, at the thaw, or never. */
  whenAwake(go: () => void): void {
    if (this.isDead) return;
    if (this.isFrozen) this.#late.push(() => this.whenAwake(go));
    else go();
  }

  awake(): Promise<void> {
    return new Promise((resolve) => {
      this.whenAwake(resolve);
    });
  }

  /** The world as it reaches it: every call of a port passes its gate. */
  worldOf(world: World, gate: Gate): World {
    const clock: Clock = {
      now: () => world.clock.now(),
      earliest: () => world.clock.earliest(),
      after: (delayMs, call) => world.clock.after(delayMs, () => this.whenAwake(call)),
    };
    return {
      ...{ ...world, clock },
      // Rows, messages and mutex leases are in one table.
      table: gated("table", world.table, gate),
      inbox: gated("table", world.inbox, gate),
      leases: gated("table", world.leases, gate),
      objects: gated("objects", world.objects, gate),
      chain: gated("chain", world.chain, gate),
    };
  }
}

function gated<T extends object>(name: string, port: T, gate: Gate): T {
  return new Proxy(port, {
    get: (target, member) => {
      const call: unknown = Reflect.get(target, member);
      if (typeof call !== "function") return call;
      return (...of: unknown[]): Promise<unknown> =>
        gate(`${name}.${nameOfCall(member, of)}`, async (): Promise<unknown> => Reflect.apply(call, target, of));
    },
  });
}
