/** The processes that a part of a test starts from the test's own process. */
import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

const CHANNEL = "child_process";

/** Calls `onStarted` for each process from now on, until the returned function is called. */
export function watchStarted(onStarted: (child: ChildProcess) => void): () => void {
  const hear = (message: unknown): void => onStarted((message as { readonly process: ChildProcess }).process);
  subscribe(CHANNEL, hear);
  return () => void unsubscribe(CHANNEL, hear);
}
