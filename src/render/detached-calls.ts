/** Renders the events of jobs of asynchronous models as lines of a timeline. */
import type { EventOf } from "../core/event.ts";
import type { DetachedCallEnd, DetachedCallEvents } from "../core/detached-call.ts";
import type { Paint } from "./paint.ts";
import { short } from "./words.ts";

const WORDS_MAX = 300;

const ENDS: { readonly [H in DetachedCallEnd]: string } = {
  absent: "was never started",
  failed: "failed",
  cancelled: "was cancelled",
  unsent: "was not sent",
  lost: "is lost",
};

/** The line of an event. */
export function detachedCallLine(
  entry: { readonly [K in keyof DetachedCallEvents]: EventOf<K> }[keyof DetachedCallEvents],
  paint: Paint,
): { readonly says: string } {
  switch (entry.kind) {
    case "DetachedCallBegun":
      return { says: `${paint("cyan", "…")} asks ${entry.model} by a job, under the key ${entry.key}` };
    case "DetachedCallSubmitted": {
      const found = entry.adopted === true ? ", which was found by its key" : "";
      return { says: `${paint("cyan", "…")} waits for model job ${entry.reference}${found}` };
    }
    case "DetachedCallEnded":
      return { says: `${paint("yellow", `✖ its model job ${ENDS[entry.how]}`)}: ${short(entry.why, WORDS_MAX)}` };
  }
}
