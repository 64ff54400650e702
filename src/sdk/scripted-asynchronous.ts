/**
 * A scripted model that is asynchronous, for demos and tests: its jobs take a time, and stay in this process. A job that
 * is asked for before its time is pending. Another process knows no jobs, as with a provider that has forgotten them.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import type { AsynchronousModel } from "../ports/asynchronous-model.ts";
import type { Conversation } from "./conversation.ts";
import { DEFINITIONS } from "./definition-forms.ts";
import { checkDefined } from "./option-forms.ts";
import { type ScriptedReply, scripted } from "./scripted.ts";

/** A job that the model has, or had. */
export interface ScriptedDetachedCall {
  readonly reference: string;
  readonly key: string;
  readonly state: "working" | "done" | "cancelled";
  /** How often its result was asked for. */
  readonly polls: number;
}

export interface ScriptedAsynchronousOptions {
  readonly name: string;
  readonly reply: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
  /** How often a job is pending before its result is there. Default: once. */
  readonly pending?: number;
  /**
   * How a job whose start was not answered can be known. `find` (default): by its key. `key`: a second request with its
   * key starts no second job. `none`: not at all.
   */
  readonly lostStart?: "find" | "key" | "none";
}

export interface ScriptedAsynchronousModel extends AsynchronousModel {
  /** Every job that was started, in order. */
  started(): readonly ScriptedDetachedCall[];
}

/**
 * A model whose replies come from jobs: `submit` starts one, and `poll` says `pending` as often as the options say.
 *
 * @example
 *   const model = scriptedAsynchronousModel({ name: "slow", reply: () => ({ text: "Done." }), pending: 3 });
 */
export function scriptedAsynchronousModel(options: ScriptedAsynchronousOptions): ScriptedAsynchronousModel {
  checkDefined("scriptedAsynchronousModel", options, DEFINITIONS.scriptedAsynchronousModel);
  const { pending = 1, lostStart = "find" } = options;
  const model = scripted(options);
  const detached = new Map<string, ScriptedDetachedCall & { readonly result: LanguageModelV4GenerateResult }>();
  const change = (reference: string, to: Partial<ScriptedDetachedCall>): void => {
    const call = detached.get(reference);
    if (call !== undefined) detached.set(reference, { ...call, ...to });
  };
  // A test may run an agent several times, with the same keys. A job that is done belongs to an earlier run.
  const withKey = (key: string): ScriptedDetachedCall | undefined =>
    [...detached.values()].findLast((call) => call.key === key && call.state === "working");
  return {
    ...model,
    started: () => [...detached.values()].map(({ reference, key, state, polls }) => ({ reference, key, state, polls })),
    detached: {
      async submit(asked: LanguageModelV4CallOptions, key: string) {
        const known = lostStart === "key" ? withKey(key) : undefined;
        if (known !== undefined) return known.reference;
        const reference = `job-${detached.size + 1}`;
        detached.set(reference, { reference, key, state: "working", polls: 0, result: await model.doGenerate(asked) });
        return reference;
      },
      async poll(_, reference) {
        const call = detached.get(reference);
        if (call === undefined) return { kind: "failed", error: new Error(`there is no job ${reference}`) };
        if (call.state === "cancelled") return { kind: "failed", error: new Error(`job ${reference} was cancelled`) };
        const isDone = call.polls >= pending;
        change(reference, { polls: call.polls + 1, ...(isDone && { state: "done" as const }) });
        return isDone ? { kind: "done", result: call.result } : { kind: "pending" };
      },
      ...(lostStart === "find" && {
        async find(_: LanguageModelV4CallOptions, { key }: { readonly key: string }) {
          const found = withKey(key);
          return found === undefined
            ? { kind: "absent" as const }
            : { kind: "found" as const, reference: found.reference };
        },
      }),
      async cancel(_, reference) {
        if (detached.get(reference)?.state === "working") change(reference, { state: "cancelled" });
      },
      ...(lostStart === "key" && { honoursKeys: true as const }),
    },
  };
}
