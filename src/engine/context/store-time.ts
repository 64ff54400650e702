/**
 * The stores of a world, within the time of one invocation. A store call that is not answered in time counts as one
 * whose answer was lost. Without this bound a silent store would hold the invocation until its process is killed.
 *
 * Schedule 136: the object store accepts each request and answers none. Each invocation waits for it until Lambda ends
 * the process, which counts as a death; after a few of them the run fails as a crash loop. Test:
 * `test/schedules/outages.test.ts`.
 *
 * The first bound leaves time to release the run, the second one to reply. The request itself may still arrive: the
 * epoch of the run's row decides then, as for every late write (schedule 6).
 */
import { patient } from "../../history/resolve-ambiguous-write.ts";
import type { Ambiguous } from "../../ports/run-table.ts";
import type { Invocation } from "../../ports/tasks.ts";
import { type Clock, StoreUnreachable, type World } from "../../ports/world.ts";

/** How long the store calls of one invocation may take. */
export class StoreTime {
  /**
   * The world with calls that end in time. What a process knows of secrets and seal keys belongs to their ports, so
   * these stay as they are; the timeouts of their clients are short.
   */
  readonly world: World;
  readonly #clock: Clock;
  /** Whether the invocation may wait for a held store now; false until its run is loaded. */
  mayHoldOn: () => boolean = () => false;
  /** Called when the deadline of the invocation was moved for a commit. */
  onHeldOn: () => void = () => undefined;
  readonly #tell: (why: string) => boolean;
  #releaseUntil: number;
  #until: number;

  constructor(world: World, { deadline, holdOn }: Pick<Invocation, "deadline" | "holdOn">) {
    const { table, inbox, leases, objects, chain, clock, limits } = world;
    this.#clock = clock;
    this.#tell = holdOn ?? (() => false);
    this.#until = deadline - limits.drainMs / 2;
    this.#releaseUntil = deadline - limits.drainMs / 4;
    const bounded = this.#bounded(objects, { store: "the objects", writes: OBJECT_WRITES });
    this.world = {
      ...world,
      table: this.#bounded(table, { store: "the table", writes: ROW_WRITES }),
      inbox: this.#bounded(inbox, { store: "the table", writes: INBOX_WRITES }),
      leases: this.#bounded(leases, { store: "the table", writes: LEASE_WRITES }),
      ...(holdOn === undefined
        ? { objects: bounded }
        : {
            objects: this.#holding(bounded, { world, writes: OBJECT_WRITES }),
            records: this.#holding(world.records, { world, writes: RECORD_WRITES }),
          }),
      chain: this.#bounded(chain, { store: "the chain", writes: NO_WRITES }),
    };
  }

  /** From now on the calls of this invocation release its run. */
  beginRelease(): void {
    this.#until = this.#releaseUntil;
  }

  /** A commit waits for a held store beyond the deadline (schedule 236). Once the store is free, it may take this long. */
  holdOn(why: string): boolean {
    this.#until = Math.max(this.#until, this.#clock.now() + HELD_MS);
    this.#releaseUntil = Math.max(this.#releaseUntil, this.#until);
    const isMoved = this.#tell(why);
    if (isMoved) this.onHeldOn();
    return isMoved;
  }

  /** A port whose writes wait for a held store, as the commit does that they are for (schedule 236). */
  #holding<Port extends object>(
    port: Port,
    holding: {
      readonly world: World;
      readonly writes: ReadonlySet<string>;
    },
  ): Port {
    const { clock, random } = holding.world;
    const untilFree = async (write: () => Promise<{ readonly kind: string }>): Promise<{ readonly kind: string }> => {
      const endless = patient({ clock, random, until: Infinity });
      for (;;) {
        const outcome = await write();
        if (!isBusy(outcome)) return outcome;
        if (this.mayHoldOn()) {
          this.holdOn(outcome.why);
          await endless();
        } else if (!(await patient({ clock, random, until: this.#until })())) return outcome;
      }
    };
    return new Proxy(port, {
      get: (target, name, receiver) => {
        const call: unknown = Reflect.get(target, name, receiver);
        if (typeof call !== "function" || typeof name !== "string" || !holding.writes.has(name)) return call;
        return (...args: readonly unknown[]) =>
          untilFree(() => call.apply(target, args) as Promise<{ readonly kind: string }>);
      },
    });
  }

  #bounded<Port extends object>(
    port: Port,
    { store, writes }: { readonly store: string; readonly writes: ReadonlySet<string> },
  ): Port {
    return new Proxy(port, {
      get: (target, name, receiver) => {
        const call: unknown = Reflect.get(target, name, receiver);
        if (typeof call !== "function" || typeof name !== "string") return call;
        return (...args: readonly unknown[]) =>
          this.#answered(() => call.apply(target, args) as Promise<unknown>, {
            store,
            isWrite: writes.has(name),
          });
      },
    });
  }

  async #answered(
    call: () => Promise<unknown>,
    { store, isWrite }: { readonly store: string; readonly isWrite: boolean },
  ): Promise<unknown> {
    const late = (): unknown => {
      const held = this.world.heldBy?.() ?? null;
      const why = `${store} did not answer within the time of this invocation${held === null ? "" : `: ${held}`}`;
      if (isWrite) return { kind: "ambiguous", why };
      throw new StoreUnreachable(`${why}; the run goes on once it answers`, { store });
    };
    // A call after the bound is sent too, and not waited for. What refuses it is the epoch, and not a clock.
    const leftMs = Math.max(0, this.#until - this.#clock.now());
    const over = Symbol("over");
    let forget = (): void => undefined;
    const timer = new Promise<typeof over>((resolve) => {
      forget = this.#clock.after(leftMs, () => resolve(over));
    });
    const first = await Promise.race([call(), timer]).finally(forget);
    return first === over ? late() : first;
  }
}

const HELD_MS = 5_000;

const isBusy = (outcome: { readonly kind: string }): outcome is Ambiguous =>
  outcome.kind === "ambiguous" && "isBusy" in outcome && outcome.isBusy === true;

/** The calls that return `ambiguous`. Every other call is safe to repeat, and rejects. */
const ROW_WRITES: ReadonlySet<string> = new Set([
  "create",
  "createChildren",
  "fenceChild",
  "decide",
  "request",
  "keepKey",
  "forgetKey",
]);
const INBOX_WRITES: ReadonlySet<string> = new Set(["deliver"]);
const LEASE_WRITES: ReadonlySet<string> = new Set(["take"]);
const OBJECT_WRITES: ReadonlySet<string> = new Set(["put"]);
/** What a commit adds to before it is sent: the spend of the day, and the outbox of webhooks. */
const RECORD_WRITES: ReadonlySet<string> = new Set(["add", "replace", "overwriteDamaged"]);
const NO_WRITES: ReadonlySet<string> = new Set();
