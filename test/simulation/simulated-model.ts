/**
 * The model of a history, as each process has it: it has moods, its provider may be away, and its replies come at once or
 * from batches. Whatever it may charge for is counted.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Conversation, type ScriptedReply, scriptedModel } from "../../src/index.ts";
import type { AsynchronousModel } from "../../src/ports/asynchronous-model.ts";
import type { Clock } from "../../src/ports/world.ts";
import { BatchProvider } from "./features/batch-provider.ts";
import type { FeatureLog } from "./features/log.ts";
import type { FeaturePlan } from "./features/plan.ts";
import { type EndingsPlan, type ModelOutagePlan, Provider, keyRefused } from "./provider.ts";
import { type Script, replyOf } from "./script.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import { type Process, later } from "./services.ts";

export interface ModelOptions {
  readonly script: Script;
  readonly moods: SeededChoices;
  readonly batchChances: SeededChoices;
  /** The true time. */
  readonly clock: Clock;
  readonly endings: EndingsPlan | null;
  readonly endingChances: SeededChoices;
  readonly away: ModelOutagePlan | null;
  readonly features: FeaturePlan;
  readonly log: FeatureLog;
  readonly isCalm: () => boolean;
  readonly next: () => number;
  readonly note: (text: string) => void;
}

type Asked = Parameters<LanguageModelV4["doGenerate"]>[0];

/** How a call to the model may go. Most of them are answered. */
const MODEL_FAULTS = ["is away", "hangs", "says nothing"] as const;
type ModelFault = (typeof MODEL_FAULTS)[number];
const MODEL_FAULTS_ONE_IN = 30;
/** Longer than any call to a model may take. */
const HANGS_MS = 2_000;

export class SimulatedModel {
  /** Model calls that were paid for, and those that whoever made them gave up, and nobody charged for. */
  readonly counts = { paid: 0, givenUp: 0 };
  readonly batches: BatchProvider | null;
  readonly #of: ModelOptions;
  readonly #provider: Provider;

  constructor(options: ModelOptions) {
    const { away, clock, features, batchChances: chance, isCalm, next, note } = options;
    this.#of = options;
    this.#provider = new Provider(away, clock);
    const pay = (): void => void (this.counts.paid += 1);
    const mayPay = (): void => void (this.counts.givenUp += 1);
    const reply = async (asked: Asked) => {
      this.#provider.answer({ isFallback: false });
      const said = (conversation: Conversation) => this.#ended(replyOf(options.script, conversation));
      const model = scriptedModel({ name: "script", reply: said });
      return model.doGenerate(asked);
    };
    this.batches =
      features.batches === null
        ? null
        : new BatchProvider({ plan: features.batches, chance, clock, isCalm, next, note, pay, mayPay, reply });
  }

  /** The model as one process reaches it. */
  modelIn(here: Process, isFallback: boolean): LanguageModelV4 | AsynchronousModel {
    const name = isFallback ? "fallback" : "script";
    const modelFor = (pay: () => void) =>
      scriptedModel({ name, reply: (conversation) => this.#reply({ here, pay, isFallback }, conversation) });
    const doGenerate: LanguageModelV4["doGenerate"] = (asked) => {
      this.#noteCall(here, asked);
      const { giveUp, pay } = chargedCall(this.counts);
      asked.abortSignal?.addEventListener("abort", giveUp, { once: true });
      return modelFor(pay).doGenerate(asked);
    };
    const model = { ...modelFor(() => undefined), doGenerate };
    if (this.batches === null || isFallback) return model;
    const detached = this.batches.callsIn(here);
    return {
      ...model,
      detached: {
        ...detached,
        submit: (asked, key) => {
          this.#noteCall(here, asked);
          return detached.submit(asked, key);
        },
      },
    };
  }

  #noteCall({ task }: Process, { prompt }: Asked): void {
    const { log, next, clock } = this.#of;
    const [first] = prompt;
    log.modelCalls.push({ order: next(), at: clock.now(), task, shows: first?.role === "system" ? first.content : "" });
  }

  /** The reply as its limit leaves it: whole, or cut wherever it was. */
  #ended(said: ScriptedReply): ScriptedReply {
    return this.#meets("cutOneIn") ? { ...said, cutBy: "max_tokens" } : said;
  }

  #meets(what: keyof EndingsPlan): boolean {
    const { endings, endingChances, isCalm } = this.#of;
    return endings !== null && !isCalm() && endingChances.oneIn(endings[what]);
  }

  async #reply(
    of: { readonly here: Process; readonly pay: () => void; readonly isFallback: boolean },
    conversation: Conversation,
  ): Promise<ScriptedReply> {
    const { here, pay, isFallback } = of;
    const { script, moods, isCalm } = this.#of;
    await here.pause();
    this.#provider.answer({ isFallback });
    const mood: ModelFault | undefined = isCalm() ? undefined : MODEL_FAULTS[moods.below(MODEL_FAULTS_ONE_IN)];
    if (mood !== undefined) here.note(`the model ${mood}`);
    if (this.#meets("refusedOneIn")) {
      here.note("the model's provider refuses the key");
      throw keyRefused();
    }
    if (mood === "is away") throw Object.assign(new Error("connection reset"), { code: "ECONNRESET" });
    const said = mood === "says nothing" ? { tokensIn: 1, tokensOut: 0 } : this.#ended(replyOf(script, conversation));
    pay();
    if (mood === "hangs") await later(here.clock, { ms: HANGS_MS, signal: null });
    return said;
  }
}

/** One model call: the provider may charge for it after its caller gave it up. */
function chargedCall(counts: { paid: number; givenUp: number }): {
  readonly giveUp: () => void;
  readonly pay: () => void;
} {
  let state: "open" | "paid" | "given up" = "open";
  const giveUp = (): void => {
    if (state !== "open") return;
    state = "given up";
    counts.givenUp += 1;
  };
  const pay = (): void => {
    if (state === "given up") counts.givenUp -= 1;
    state = "paid";
    counts.paid += 1;
  };
  return { giveUp, pay };
}
