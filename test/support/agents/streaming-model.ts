/** A model whose replies a test says piece by piece. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";

/** One call of the model that streams. */
export interface SpokenCall {
  say(text: string): void;
  /** Ends the text, and the reply. */
  finish(): void;
  /** The connection breaks in the middle of the reply. */
  breakOff(): void;
}

export interface StreamingModel {
  readonly model: LanguageModelV4;
  /** The next call, once it has left. */
  nextCall(): Promise<SpokenCall>;
  /** How many calls streamed, and how many did not. */
  readonly counts: { streamed: number; whole: number };
}

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const FINISH = { unified: "stop", raw: undefined } as const;

/** `whole`: what a call answers that does not stream. */
export function streamingModel(whole = "whole"): StreamingModel {
  const calls: SpokenCall[] = [];
  const waiting: ((call: SpokenCall) => void)[] = [];
  const counts = { streamed: 0, whole: 0 };
  const model: LanguageModelV4 = {
    ...{ specificationVersion: "v4", provider: "test", modelId: "streaming", supportedUrls: {} },
    doGenerate: async () => {
      counts.whole += 1;
      return { content: [{ type: "text", text: whole }], finishReason: FINISH, usage: USAGE, warnings: [] };
    },
    doStream: async ({ abortSignal }) => {
      counts.streamed += 1;
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start: (controller) => {
          abortSignal?.addEventListener("abort", () => controller.error(new Error("aborted")), { once: true });
          const call = spokenTo(controller);
          const next = waiting.shift();
          if (next === undefined) calls.push(call);
          else next(call);
        },
      });
      return { stream };
    },
  };
  const nextCall = async (): Promise<SpokenCall> => calls.shift() ?? new Promise((resolve) => waiting.push(resolve));
  return { model, nextCall, counts };
}

function spokenTo(controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): SpokenCall {
  controller.enqueue({ type: "text-start", id: "0" });
  return {
    say: (delta) => controller.enqueue({ type: "text-delta", id: "0", delta }),
    finish: () => {
      controller.enqueue({ type: "text-end", id: "0" });
      controller.enqueue({ type: "finish", finishReason: FINISH, usage: USAGE });
      controller.close();
    },
    breakOff: () => controller.error(Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })),
  };
}
