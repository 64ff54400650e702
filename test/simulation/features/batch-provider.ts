/**
 * The provider of a model whose replies come from batches. It outlives every process of the history. As long as the history
 * is not calm, it may refuse a request, lose its answer, get it late, or not know yet whether it has a batch.
 */
import { APICallError } from "@ai-sdk/provider";
import type { AsynchronousCalls } from "../../../src/ports/asynchronous-model.ts";
import type { Clock } from "../../../src/ports/world.ts";
import type { SeededChoices } from "../seeded-choices.ts";
import { type Process, arrivesWithin } from "../services.ts";
import type { BatchPlan } from "./batch-plan.ts";

type Asked = Parameters<AsynchronousCalls["submit"]>[0];
type Result = Extract<Awaited<ReturnType<AsynchronousCalls["poll"]>>, { readonly kind: "done" }>["result"];

/** A batch that the provider has, or had. */
export interface Batch {
  readonly reference: string;
  readonly key: string;
  /** The number of its reply, as its output tokens: no other reply of the history has it. */
  readonly tokensOut: number;
  /** The place of its start in the history. */
  readonly order: number;
  readonly doneAt: number;
  readonly fails: boolean;
  state: "working" | "delivered" | "cancelled";
}

export interface BatchProviderOptions {
  readonly plan: BatchPlan;
  readonly chance: SeededChoices;
  /** The true time. */
  readonly clock: Clock;
  readonly isCalm: () => boolean;
  readonly next: () => number;
  readonly note: (text: string) => void;
  /** What a model of this provider says; throws if it cannot be asked. */
  readonly reply: (asked: Asked) => Promise<Result>;
  /** A batch was charged for. */
  readonly pay: () => void;
  /** It may be charged for. */
  readonly mayPay: () => void;
}

/** How a request to start a batch may go. Most of them are answered. */
const STARTS = ["not connected", "answer lost", "on its way", "never arrives", "refused"] as const;
const STARTS_ONE_IN = 16;
const POLLS_ONE_IN = 8;
const FAILS_ONE_IN = 12;
/** No other reply of a history has so many output tokens. */
const FIRST_TOKENS = 1_000;

const overloaded = (): Error =>
  new APICallError({ message: "overloaded", url: "http://provider", requestBodyValues: {}, statusCode: 503 });

const refused = (): Error =>
  new APICallError({ message: "refused", url: "http://provider", requestBodyValues: {}, statusCode: 429 });

export class BatchProvider {
  readonly batches: Batch[] = [];
  readonly #results = new Map<string, Result>();
  readonly #of: BatchProviderOptions;

  constructor(options: BatchProviderOptions) {
    this.#of = options;
  }

  /** The batches as one process reaches them. */
  callsIn(here: Process): AsynchronousCalls {
    const { lostStart } = this.#of.plan;
    return {
      submit: (asked, key) => this.#submit(here, asked, key),
      poll: async (_, reference) => {
        await here.pause();
        if (this.#mayFault(POLLS_ONE_IN)) throw new Error("the provider cannot be asked");
        return this.#look(here, reference);
      },
      ...(lostStart === "find" && {
        find: async (_: Asked, { key }: { readonly key: string }) => {
          await here.pause();
          if (this.#mayFault(POLLS_ONE_IN)) return { kind: "unsure" as const, why: "its index is behind" };
          const found = this.batches.find((batch) => batch.key === key);
          here.note(`looks for batch ${key}: ${found?.reference ?? "absent"}`);
          return found === undefined
            ? { kind: "absent" as const }
            : { kind: "found" as const, reference: found.reference };
        },
      }),
      cancel: async (_, reference) => {
        await here.pause();
        const batch = this.batches.find((each) => each.reference === reference);
        if (batch?.state !== "working") return;
        batch.state = "cancelled";
        // What was done of it may be charged.
        this.#of.mayPay();
      },
      ...(lostStart === "key" && { honoursKeys: true as const }),
    };
  }

  async #submit(here: Process, asked: Asked, key: string): Promise<string> {
    await here.pause();
    const { isCalm, chance, mayPay, clock } = this.#of;
    // A start that is repeated comes while its provider is busy, more often than not.
    const isRefused = !isCalm() && this.batches.some((each) => each.key === key) && chance.oneIn(2);
    const how = isCalm() ? undefined : isRefused ? "refused" : STARTS[chance.below(STARTS_ONE_IN)];
    here.note(`starts batch ${key}${how === undefined ? "" : ` (${how})`}`);
    if (how === "not connected") throw Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
    if (how === "refused") throw refused();
    const result = await this.#of.reply(asked);
    if (how === "never arrives") {
      mayPay();
      throw new Error("the connection broke");
    }
    if (how === "on its way") {
      clock.after(chance.below(arrivesWithin(here, clock.now())), () => void this.#begin(key, result));
      throw new Error("the connection broke");
    }
    const reference = this.#begin(key, result);
    await here.pause();
    if (how === "answer lost") throw new Error("the answer was lost");
    return reference;
  }

  #begin(key: string, result: Result): string {
    const { plan, chance, clock, isCalm, next, note } = this.#of;
    const known = plan.lostStart === "key" ? this.batches.find((batch) => batch.key === key) : undefined;
    if (known !== undefined) return known.reference;
    const number = this.batches.length + 1;
    const batch: Batch = {
      ...{ reference: `batch-${number}`, key, tokensOut: FIRST_TOKENS + number, order: next(), state: "working" },
      ...{ doneAt: clock.now() + plan.ms, fails: !isCalm() && chance.oneIn(FAILS_ONE_IN) },
    };
    this.batches.push(batch);
    this.#results.set(batch.reference, result);
    if (!batch.fails) this.#of.pay();
    note(`has ${batch.reference} of ${key}${batch.fails ? ", which fails" : ""}`);
    return batch.reference;
  }

  #look(here: Process, reference: string): Awaited<ReturnType<AsynchronousCalls["poll"]>> {
    const batch = this.batches.find((each) => each.reference === reference);
    const result = this.#results.get(reference);
    if (batch === undefined || result === undefined)
      return { kind: "failed", error: new Error("there is no such batch") };
    if (batch.state === "cancelled") return { kind: "failed", error: new Error("it was cancelled") };
    if (this.#of.clock.now() < batch.doneAt) return { kind: "pending" };
    here.note(`reads ${reference}`);
    batch.state = "delivered";
    if (batch.fails) return { kind: "failed", error: overloaded() };
    const usage = { ...result.usage, outputTokens: { total: batch.tokensOut, text: batch.tokensOut, reasoning: 0 } };
    return { kind: "done", result: { ...result, usage } };
  }

  #mayFault(oneIn: number): boolean {
    return !this.#of.isCalm() && this.#of.chance.oneIn(oneIn);
  }
}
