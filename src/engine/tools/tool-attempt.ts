/**
 * One attempt of one tool call. A timeout is an unknown outcome, not a failure, and the resume table (`ledger.ts`)
 * decides what follows. A promise that continues after its signal and its grace has outlived its
 * timeout. Its process must end, or the promise could act inside a later invocation (schedule 28).
 */
import type { Tool, ToolContext } from "../../ports/agent.ts";
import { isErrorNamed, sentenceOf } from "../../codec/value.ts";
import { withTimeout } from "../../ports/with-timeout.ts";
import type { Clock } from "../../ports/world.ts";

/** How one attempt ended. */
export type Try =
  /** The attempt was not started: code before the tool's function threw. */
  | { readonly kind: "unstarted"; readonly why: string }
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly why: string; readonly error: unknown }
  /** It threw after its signal had been aborted because the run is cancelled. */
  | { readonly kind: "stopped"; readonly why: string; readonly error: unknown }
  /** An unknown outcome: the effect may have happened. `outlived`: the promise still runs. */
  | { readonly kind: "silent"; readonly why: string; readonly outlived: boolean };

/** Runs one attempt. Aborts it after `timeoutMs` and waits `graceMs` more for its end. Rejects only with what `ran` throws. */
export async function attemptTool(options: {
  readonly tool: Tool;
  readonly context: Omit<ToolContext<unknown>, "signal" | "deadline">;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly clock: Clock;
  /** Aborts the attempt when it fires. Its end is awaited as before; absent or null: nothing does. */
  readonly cancelled?: AbortSignal | null;
  /** Called when the tool's function has returned, before anything else runs; what it throws ends the attempt. */
  readonly ran?: () => void;
}): Promise<Try> {
  const { tool, timeoutMs, graceMs, clock, cancelled = null, ran = () => {} } = options;
  const stop = new AbortController();
  const context = { ...options.context, signal: stop.signal, deadline: clock.now() + timeoutMs };
  const settled = settle(() => tool.run(context));
  ran();
  const onCancel = (): void => stop.abort(new DOMException("the run was cancelled", "AbortError"));
  cancelled?.addEventListener("abort", onCancel, { once: true });
  if (cancelled?.aborted === true) onCancel();
  const first = await withTimeout(settled, timeoutMs, clock);
  cancelled?.removeEventListener("abort", onCancel);
  if (first?.kind === "threw" && stop.signal.aborted) return { ...first, kind: "stopped" };
  if (first !== null) return first;
  const why = `no answer within ${timeoutMs} ms`;
  stop.abort(new DOMException(why, "TimeoutError"));
  const last = await withTimeout(settled, graceMs, clock);
  if (last === null) return { kind: "silent", why, outlived: true };
  return last.kind === "returned" ? last : { kind: "silent", why, outlived: false };
}

/** Runs the tool's function, and turns its result or error into an outcome. */
async function settle(run: () => unknown): Promise<Try> {
  try {
    const given = run();
    // Do not await a value that is not a promise. The await alone would throw for a revoked proxy, although the tool
    // has returned.
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
