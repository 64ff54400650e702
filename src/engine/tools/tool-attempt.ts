/**
 * One try of one tool call. A timeout is no failure: whether the effect happened is unknown, and the resume table
 * says what follows (seed 4). A promise that goes on after its signal and its grace has outlived its timeout; the
 * process that holds it must end, or it could act inside a later invocation (schedule 28).
 */
import type { Tool, ToolContext } from "../../ports/agent.ts";
import { isErrorNamed, sentenceOf } from "../../codec/value.ts";
import type { Clock } from "../../ports/world.ts";

export type Try =
  /** It was not started: its own code threw before that. */
  | { readonly kind: "unstarted"; readonly why: string }
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly why: string; readonly error: unknown }
  /** Nobody can tell whether it happened. */
  | { readonly kind: "silent"; readonly why: string; readonly outlived: boolean };

export async function callTool(options: {
  readonly tool: Tool;
  readonly context: Omit<ToolContext<unknown>, "signal" | "deadline">;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly clock: Clock;
}): Promise<Try> {
  const { tool, timeoutMs, graceMs, clock } = options;
  const stop = new AbortController();
  const context = { ...options.context, signal: stop.signal, deadline: clock.now() + timeoutMs };
  const settled = settle(() => tool.run(context));
  const first = await within(settled, timeoutMs, clock);
  if (first !== null) return first;
  const why = `no answer within ${timeoutMs} ms`;
  stop.abort(new DOMException(why, "TimeoutError"));
  const last = await within(settled, graceMs, clock);
  if (last === null) return { kind: "silent", why, outlived: true };
  return last.kind === "returned" ? last : { kind: "silent", why, outlived: false };
}

async function settle(run: () => unknown): Promise<Try> {
  try {
    const given = run();
    // A value that is no promise is not awaited: that alone would throw for a revoked proxy, and the tool has returned.
    return { kind: "returned", value: isThenable(given) ? await given : given };
  } catch (error) {
    return isErrorNamed(error, "OutcomeUnknown")
      ? { kind: "silent", why: sentenceOf(error), outlived: false }
      : { kind: "threw", why: sentenceOf(error), error };
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof (value as { readonly then?: unknown } | null | undefined)?.then === "function";
  } catch {
    return false;
  }
}

/** What the promise gives within that time, or null. */
export async function within<T>(promise: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  let forget = (): void => undefined;
  const late = new Promise<null>((resolve) => {
    forget = clock.after(ms, () => resolve(null));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    forget();
  }
}
