/** What a view reads: once for what it is about, or again and again while it is shown. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ShownProblem } from "../api/problem.ts";
import { poll, readOnce } from "./poll.ts";

/**
 * `value`: what was read last, null before that. `trouble`: why the last read failed, or null. A new read ends the one
 * before, so a late answer never replaces a newer one. `read` is null while there is nothing to read.
 */
export function useRead<Read>(
  read: ((signal: AbortSignal) => Promise<Read>) | null,
  about: readonly unknown[],
): { readonly value: Read | null; readonly trouble: ShownProblem | null } {
  const value = useSignal<Read | null>(null);
  const trouble = useSignal<ShownProblem | null>(null);
  useEffect(() => {
    if (read === null) return undefined;
    const stop = new AbortController();
    void readOnce(read, { stop: stop.signal, value, trouble });
    return () => stop.abort();
  }, about);
  return { value: value.value, trouble: trouble.value };
}

/**
 * Reads every `everyMs` while the view is shown and the page is visible; not at all while it is not `isOn`. `again` reads
 * at once, as after an action.
 */
export function usePolled<Read>(
  read: () => Promise<Read>,
  { everyMs, isOn = true }: { readonly everyMs: number; readonly isOn?: boolean },
): { readonly value: Read | null; readonly trouble: ShownProblem | null; readonly again: () => void } {
  const value = useSignal<Read | null>(null);
  const trouble = useSignal<ShownProblem | null>(null);
  const look = async (): Promise<void> => {
    value.value = await read();
  };
  useEffect(() => {
    if (!isOn) return undefined;
    const stop = new AbortController();
    void poll(look, { everyMs, signal: stop.signal, trouble });
    return () => stop.abort();
  }, [isOn]);
  return { value: value.value, trouble: trouble.value, again: () => void look().catch(() => undefined) };
}
