/**
 * Reads something again and again while the page is visible, and knows how old it is. All such readers share one state
 * of the connection: the first failure shows, and the first success heals it.
 */
import { type Signal, computed, effect, signal } from "@preact/signals";
import { awaited } from "../api/http.ts";
import { type ShownProblem, troubleOf } from "../api/problem.ts";
import { now } from "./clock.ts";

export type Connection =
  | { readonly kind: "live" }
  | { readonly kind: "reconnecting"; readonly since: number }
  | { readonly kind: "paused" };

const lostAt = signal<number | null>(null);
const visible = signal(document.visibilityState === "visible");

document.addEventListener("visibilitychange", () => {
  visible.value = document.visibilityState === "visible";
});

export const connection = computed<Connection>(() => {
  if (!visible.value) return { kind: "paused" };
  return lostAt.value === null ? { kind: "live" } : { kind: "reconnecting", since: lostAt.value };
});

/** When the last answer came. Null before the first. */
export const answeredAt = signal<number | null>(null);

const STALE_MS = 10_000;

/** What the page shows is old, because the server does not answer. */
export const stale = computed(() => lostAt.value !== null && now.value - (answeredAt.value ?? 0) > STALE_MS);

export const answered = (): void => {
  lostAt.value = null;
  answeredAt.value = Date.now();
};

export function failed(trouble: ShownProblem): void {
  // Another status than 5xx comes from a server that works.
  if (trouble.status !== null && trouble.status < 500) answered();
  else lostAt.value ??= Date.now();
}

/** A server that answers no request for this long does not answer, although no request has failed. */
const SILENT_MS = 6_000;

effect(() => {
  const since = Math.max(awaited.heardAt, Math.min(...awaited.since.values()));
  if (now.value - since > SILENT_MS && Number.isFinite(since)) lostAt.value ??= since;
});

/** Waits, but not longer than until `signal` fires or the network comes back. */
export const elapse = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      removeEventListener("online", end);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener("online", end);
    signal?.addEventListener("abort", end);
  });

/**
 * Calls `look` whenever the page is visible, until `stop` fires. What `look` reads goes on until its signal fires, which
 * is when the page is hidden or `stop` fires.
 */
export async function whileVisible(stop: AbortSignal, look: (signal: AbortSignal) => Promise<void>): Promise<void> {
  while (!stop.aborted) {
    const part = new AbortController();
    const end = (): void => part.abort();
    const isVisible = visible.peek();
    const unwatch = visible.subscribe((value) => value !== isVisible && end());
    stop.addEventListener("abort", end);
    await (isVisible ? look(part.signal) : firing(part.signal));
    unwatch();
    stop.removeEventListener("abort", end);
  }
}

const firing = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

const RETRY_MS_MAX = 5_000;

const retryMs = (failures: number): number => Math.min(RETRY_MS_MAX, 500 * 2 ** failures);

/** Reads something once. It is asked again, while the page is visible, until an answer comes; a refusal is one. */
export async function readOnce<Read>(
  read: (signal: AbortSignal) => Promise<Read>,
  target: {
    readonly stop: AbortSignal;
    readonly value: Signal<Read | null>;
    readonly trouble: Signal<ShownProblem | null>;
  },
): Promise<void> {
  const done = new AbortController();
  await whileVisible(AbortSignal.any([target.stop, done.signal]), async (signal) => {
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        const came = await read(target.stop);
        if (target.stop.aborted) return;
        [target.value.value, target.trouble.value] = [came, null];
        return done.abort();
      } catch (error) {
        if (target.stop.aborted) return;
        const trouble = troubleOf(error);
        target.trouble.value = trouble;
        if (trouble.status !== null && trouble.status < 500) return done.abort();
        await elapse(retryMs(failures), signal);
      }
    }
  });
}

/** Calls `read` while the page is visible, until `signal` fires. `trouble` has its last failure, or null. */
export async function poll(
  read: () => Promise<unknown>,
  options: { readonly everyMs: number; readonly signal: AbortSignal; readonly trouble: Signal<ShownProblem | null> },
): Promise<void> {
  await whileVisible(options.signal, async (signal) => {
    for (let failures = 0; !signal.aborted;) {
      try {
        await read();
        answered();
        options.trouble.value = null;
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        const trouble = troubleOf(error);
        failed(trouble);
        options.trouble.value = trouble;
        failures += 1;
      }
      await elapse(failures === 0 ? options.everyMs : retryMs(failures), signal);
    }
  });
}
