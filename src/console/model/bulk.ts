/** One action for several runs: which runs it can change, and how the requests go out. */
import type { Summary } from "../../operations/views.ts";

export const BULK_ACTIONS = ["pause", "resume", "cancel", "redrive", "checked"] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** Runs of one dialog. More would be a list that no operator reads before the click. */
export const BULK_MAX = 200;

/** Why the action leaves this run as it is; null: the run is asked. The server decides again when the request comes. */
export function whyNot(
  name: BulkAction,
  { inProgress, status, restored }: Pick<Summary, "inProgress" | "status" | "restored">,
): string | null {
  if (name === "checked") return restored == null ? "its store was not restored, or it was said before" : null;
  if (name === "redrive") return status === "failed" ? null : "it has not failed";
  if (!inProgress) return "it has ended";
  if (name === "resume") return status === "paused" ? null : "it is not paused";
  return name === "pause" && status === "paused" ? "it is paused" : null;
}

/** Requests at the same time: the server stays free for other operators. */
const AT_ONCE = 4;

/** Sends each item once, in order. After a stop, what has not been sent stays unsent. */
export async function sendEach<Item>(
  items: readonly Item[],
  send: (item: Item) => Promise<void>,
  isStopped: () => boolean,
): Promise<void> {
  const waiting = items.values();
  const lane = async (): Promise<void> => {
    for (const item of waiting) {
      if (isStopped()) return;
      await send(item);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}
