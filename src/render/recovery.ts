/** Renders a recovery decision as a line of the timeline, and the name of a call. */
import type { EventOf } from "../core/event.ts";
import type { Style } from "./paint.ts";
import { relative, short } from "./words.ts";

/** What the timeline has said about the calls so far. */
export interface KnownCalls {
  /** The tool of each proposed call. */
  readonly tools: ReadonlyMap<string, string>;
  /** The calls of a class without a probe: such a call only waits before it runs again. */
  readonly unprobed: ReadonlySet<string>;
}

interface RecoveryContext {
  readonly story: KnownCalls;
  readonly entry: EventOf<"RecoveryDecided"> & { readonly epoch: number };
  readonly page: Pick<Style, "paint">;
}

const WORDS_MAX = 300;

export function recoveryWords({ story, entry, page }: RecoveryContext): string {
  const { action, rule, at, epoch } = entry;
  const { paint } = page;
  const again = paint("yellow", "↻");
  const why = short(entry.why, WORDS_MAX);
  switch (action.kind) {
    case "takeover":
      return paint("yellow", `⚡ epoch ${epoch} took over: the process that held the run is gone`);
    case "retry":
      return `${again} the model is asked again ${relative(action.at, at)} (${rule}): ${why}`;
    case "compact": {
      const when = action.at === undefined ? "next" : relative(action.at, at);
      return `${again} its context is compacted ${when} (${rule}): ${why}`;
    }
    case "nudge":
      return `${again} the model is told (${rule}): ${why}`;
    case "again":
      return `${again} ${callName(story, action.call)} ${rule.startsWith("call failed") ? "failed and is tried again" : "gave no answer"}: ${why}`;
    case "probe": {
      const then = story.unprobed.has(action.call)
        ? `runs again ${relative(action.at, at)}, when its earlier request can no longer take effect`
        : `is probed ${relative(action.at, at)}`;
      return `${again} ${callName(story, action.call)} ${then} (${rule}): ${why}`;
    }
    case "leaveOut":
      return `${again} the model is asked again without reasoning and metadata (${rule}): ${why}`;
    case "limitReply":
      return `${again} the model is asked again for at most ${action.tokensMax} tokens (${rule}): ${why}`;
    case "hold":
      return paint("yellow", `‖ waits for ${action.to === null ? "its agent" : "an upgrade"} (${rule}): ${why}`);
    case "block":
      return paint("yellow", `‖ waits for an operator (${rule}): ${why}`);
    case "intrinsicChanged":
      return paint("yellow", `! ${why}; its process ended, and the run goes on in another one`);
    case "askAgain":
      return paint("yellow", `? a human is asked again about ${callName(story, action.call)}: ${why}`);
    case "postpone":
      return `${again} ${callName(story, action.call)} did not begin, and a later beat makes it: ${why}`;
    case "warn": {
      const end = action.expiresAt === null ? "goes on waiting" : `ends ${relative(action.expiresAt, at)}`;
      return paint("yellow", `! nobody answers, and the run ${end}: ${why}`);
    }
    case "toolBack":
      return `${again} ${callName(story, action.call)} continues (${rule})`;
    case "tell":
      return `${again} the model is told that the outcome of ${callName(story, action.call)} is unknown (${rule})`;
    case "compensate":
      return paint("yellow", `${again} its effects are undone, the newest first: ${why}`);
    case "undo":
      return `${again} ${callName(story, action.call)} is undone next`;
    case "restart":
      return paint("yellow", `${again} begins again from its task: ${why}`);
    case "cancel":
      return paint("yellow", `${again} the run will end: ${why}`);
    case "tryAgain":
      return paint("yellow", `${again} goes on with try ${action.try} of ${action.tries} after: ${why}`);
    case "stop":
      return `${paint("red", "✖")} has to stop (${rule}): ${why}`;
    case "abort":
    case "force":
      return `${paint("red", "✖")} gives up (${rule}): ${why}`;
  }
}

/** Formats a call, such as `bookFlight (c4)`. */
export function callName({ tools }: Pick<KnownCalls, "tools">, call: string): string {
  const undoes = call.startsWith("undo-");
  const tool = tools.get(undoes ? call.slice(5) : call);
  if (tool === undefined) return call;
  return undoes ? `undo of ${tool} (${call.slice(5)})` : `${tool} (${call})`;
}
