/**
 * The services that the tools of a history call. They remember what was done to them, so that checkers can count
 * effects. A keyed one honours keys; an unsafe one does what it is told, as often as it is told. Each try of a call goes
 * in its own way, as long as the history is not calm.
 */
import { OutcomeUnknown, type Probe } from "../../src/index.ts";
import type { Clock } from "../../src/ports/world.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import { BEAT_MS, SETTLE_MS, TIMEOUT_MS } from "./modes.ts";
import type { Placed } from "./record.ts";

export interface Effect {
  readonly tool: string;
  readonly key: string;
  readonly at: number;
  /** What the tool made of its arguments. */
  readonly body?: number;
  /** It is an undo: the key of what it undoes. */
  readonly undoes?: string;
}

/** A call by an invocation of that epoch. */
interface Called {
  readonly tool: string;
  readonly key: string;
  readonly epoch: number;
  readonly undoes?: string;
  readonly body?: number;
}

/** What of a process a tool can feel. */
export interface Process {
  /** Its timers die with it. */
  readonly clock: Clock;
  /** Lets go of the thread of control: it may die, freeze or be overtaken there. */
  readonly pause: () => Promise<void>;
  readonly note: (text: string) => void;
  /** Calls of it that are under way. */
  calling: number;
  /** Its current task, counted over all of them. */
  readonly task: number;
  /** The end of its beat, by the true time. */
  readonly deadline: number;
}

/** Within how many milliseconds from now a request of this process arrives: until its beat and the settle time are over. */
export const arrivesWithin = ({ deadline }: Process, now: number): number => Math.max(0, deadline - now) + SETTLE_MS;

export interface ServicesOptions {
  readonly behaviour: SeededChoices;
  /** The true time: what is on its way arrives by itself. */
  readonly clock: Clock;
  /** A try of a call goes in each of the ways below once in so many. */
  readonly triesOneIn: number;
  /** Places between a call and its effect where its process may freeze or die. */
  readonly hops: number;
  readonly isCalm: () => boolean;
  /** The place of what happens next in the history. */
  readonly next: () => number;
  readonly note: (text: string) => void;
}

/** How a try of a call may go. Most of them just happen. */
const TRIES = [
  "throws before",
  "late, deaf to its signal",
  "late, stops at its signal",
  "asleep for longer than its process may live",
  "on its way",
  "never returns in time",
  "answer lost",
] as const;

export class Services {
  /** Every time that something really happened, in order. */
  readonly effects: Placed<Effect & Called>[] = [];
  /** Tools that were called: from there on nothing of ours stands between the call and its effect. */
  readonly begun: Placed<Called>[] = [];
  /** Every question about a key, with the body that its probe was given. */
  readonly probed: { readonly key: string; readonly body: number }[] = [];
  readonly #done = new Set<string>();
  readonly #options: ServicesOptions;

  constructor(options: ServicesOptions) {
    this.#options = options;
  }

  /** Does what the tool is for; resolves when it has an answer. */
  async act(called: Called & { readonly signal: AbortSignal }, here: Process): Promise<void> {
    here.calling += 1;
    try {
      await this.#tried(called, here);
    } finally {
      here.calling -= 1;
    }
  }

  async #tried(called: Called & { readonly signal: AbortSignal }, here: Process): Promise<void> {
    const { clock, pause, note } = here;
    const { signal, ...what } = called;
    const { key, epoch } = what;
    const { behaviour, triesOneIn, hops, isCalm, next } = this.#options;
    this.begun.push({ ...what, order: next() });
    const how = isCalm() ? undefined : TRIES[behaviour.below(triesOneIn)];
    note(`calls ${key} of epoch ${epoch}${how === undefined ? "" : ` (${how})`}`);
    for (let hop = 0; hop < hops; hop += 1) await pause();
    if (how === "throws before") throw new Error("it did not happen");
    if (how === "late, deaf to its signal") await later(clock, { ms: LATE_MS, signal: null });
    if (how === "late, stops at its signal") await later(clock, { ms: LATE_MS, signal });
    if (how?.startsWith("asleep")) await later(clock, { ms: ASLEEP_MS, signal: null });
    if (how === "on its way") {
      // The request lands by itself, whatever becomes of its sender.
      const trueClock = this.#options.clock;
      trueClock.after(behaviour.below(arrivesWithin(here, trueClock.now())), () => this.#happen(what));
      throw new OutcomeUnknown("the connection broke");
    }
    this.#happen(what);
    await pause();
    if (how === "never returns in time") await later(clock, { ms: LATE_MS, signal: null });
    if (how === "answer lost") throw new OutcomeUnknown("the answer was lost");
  }

  /** The external service tells the truth about now, or that it cannot tell. */
  async probe(
    asked: { readonly key: string; readonly body: number },
    { pause, note, clock }: Process,
    takesMs: number,
  ): Promise<Probe> {
    const { key } = asked;
    this.probed.push(asked);
    await pause();
    const { behaviour, isCalm } = this.#options;
    if (takesMs > 0 && !isCalm()) await later(clock, { ms: takesMs, signal: null });
    const isSilent = !isCalm() && behaviour.oneIn(SILENT_ONE_IN);
    const happened = this.#done.has(key);
    note(`probes ${key}: ${isSilent ? "no answer" : happened ? "it happened" : "absent"}`);
    if (isSilent) return { kind: "unknown" };
    return happened ? { kind: "happened", result: "as probed" } : { kind: "absent" };
  }

  #happen(called: Called): void {
    const { tool, key, epoch, undoes } = called;
    const { clock, next, note } = this.#options;
    // Keys that are known are answered from memory; that is what makes a tool keyed.
    const isKnown = tool === "keyed" && this.#done.has(key);
    note(
      `${isKnown ? "knows already" : "HAPPENS"} ${key} of epoch ${epoch}${undoes === undefined ? "" : `, undoes ${undoes}`}`,
    );
    if (isKnown) return;
    this.#done.add(key);
    this.effects.push({ ...called, at: clock.now(), order: next() });
  }
}

const LATE_MS = 2 * TIMEOUT_MS;
const ASLEEP_MS = 2 * BEAT_MS;
const SILENT_ONE_IN = 8;

/** Waits on the simulation's clock; with a signal it stops when it is told to. */
export function later(clock: Clock, of: { readonly ms: number; readonly signal: AbortSignal | null }): Promise<void> {
  return new Promise((resolve, reject) => {
    clock.after(of.ms, resolve);
    of.signal?.addEventListener("abort", () => reject(new Error("stopped")));
  });
}
