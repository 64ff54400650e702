/**
 * The timeline: what a run did, one line for each thing that happened, with its beats, its money, and every death that
 * it survived. It is a fold, so `timeline` tells a whole run and `watch` goes on with what was added.
 */
import type { EventOf, ReplyPart } from "../core/event.ts";
import type { TimelineEntry } from "../runner/look.ts";
import type { Ink, Paint } from "./paint.ts";
import { count, dollars, duration, relative, short, shortValue } from "./words.ts";

/** What the lines so far have told. */
export interface Story {
  readonly startedAt: number | null;
  readonly epoch: number;
  readonly beats: number;
  readonly microUsd: number;
  /** Calls ever proposed, in order. */
  readonly tools: readonly string[];
  /** When each call was released, first and last. */
  readonly releases: ReadonlyMap<string, { readonly first: number; readonly last: number }>;
}

export const UNTOLD: Story = {
  startedAt: null,
  epoch: 0,
  beats: 0,
  microUsd: 0,
  tools: [],
  releases: new Map(),
};

export interface Told {
  readonly story: Story;
  readonly lines: readonly string[];
}

type Entry<K extends TimelineEntry["kind"]> = Extract<TimelineEntry, { readonly kind: K }>;

const ARGS_MAX = 90;
const WORDS_MAX = 160;

/** `entries` are whole commits, in order. */
export function tell(story: Story, entries: readonly TimelineEntry[], paint: Paint): Told {
  const lines: string[] = [];
  let now = story;
  for (const [index, entry] of entries.entries()) {
    now = { ...after(now, entry), startedAt: now.startedAt ?? entry.at, epoch: entry.epoch };
    const line = lineOf(now, { entry, next: entries.slice(index + 1), paint });
    if (line !== null) lines.push(stamped(now, { entry, line, paint }));
  }
  return { story: now, lines };
}

/** When, by whose epoch, what. */
function stamped(
  story: Story,
  of: { readonly entry: TimelineEntry; readonly line: string; readonly paint: Paint },
): string {
  const { entry, line, paint } = of;
  const elapsed = entry.at - (story.startedAt ?? entry.at);
  const time = (elapsed < 1_000 ? `+${(elapsed / 1_000).toFixed(1)}s` : `+${duration(elapsed)}`).padStart(8);
  return `${paint("dim", `${time}  e${String(entry.epoch).padEnd(3)}`)} ${line}`;
}

function after(story: Story, entry: TimelineEntry): Story {
  switch (entry.kind) {
    case "ModelCallCompleted": {
      const asked = callsIn(entry.parts).map(({ tool }) => tool);
      return { ...story, beats: story.beats + 1, tools: [...story.tools, ...asked] };
    }
    case "BudgetDebited":
      return { ...story, microUsd: story.microUsd + (entry.debit.microUsd ?? 0) };
    case "ToolInvoked": {
      const first = story.releases.get(entry.call)?.first ?? entry.at;
      return { ...story, releases: new Map(story.releases).set(entry.call, { first, last: entry.at }) };
    }
    default:
      return story;
  }
}

interface Line {
  readonly entry: TimelineEntry;
  readonly next: readonly TimelineEntry[];
  readonly paint: Paint;
}

/** Null: another line tells it already. */
function lineOf(story: Story, { entry, next, paint }: Line): string | null {
  switch (entry.kind) {
    case "RunStarted":
      return `started with agent version ${entry.agentVersion}`;
    case "AgentChanged":
      return paint("yellow", `goes on with agent version ${entry.to}, it was ${entry.from}`);
    case "ModelCallCompleted":
      return modelLine(story, { entry, next, paint });
    case "ModelCallLost":
      return paint("yellow", `${count(entry.calls, "reply", "replies")} lost${costIn(story, next)}: ${entry.why}`);
    case "ToolIntended":
    case "BudgetDebited":
      return null;
    case "MessageAbsorbed":
      return entry.stage === "taken" ? `an answer about ${callName(story, entry.body.call)} came in` : null;
    case "CheckFailed":
      return `${paint("red", "✖")} not done yet, ${entry.check}: ${short(entry.why, WORDS_MAX)}`;
    case "RecoveryDecided":
      return recoveryLine(story, { entry, paint });
    case "RunEnded":
      return entry.status === "completed"
        ? `${paint("green", "■ completed")} ${shortValue(entry.result, WORDS_MAX)}`
        : `${paint("red", `■ failed, ${entry.failure.code}`)}: ${short(entry.failure.message, WORDS_MAX)}`;
    case "ToolInvoked":
      // The first time is in the commit of the beat that asks for it.
      return isFirst(story, entry) ? null : callLine(story, { entry, paint });
    default:
      return callLine(story, { entry, paint });
  }
}

function modelLine(
  story: Story,
  of: { readonly entry: Entry<"ModelCallCompleted">; readonly next: readonly TimelineEntry[]; readonly paint: Paint },
): string {
  const { entry, next, paint } = of;
  const calls = callsIn(entry.parts);
  const first = story.tools.length - calls.length + 1;
  const asks = calls.map(({ tool, args }, index) => `${tool} (c${first + index}) ${shortValue(args, ARGS_MAX)}`);
  const words = entry.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(" ");
  const says = words.trim() === "" ? "says nothing" : `says: ${short(words, WORDS_MAX)}`;
  const what = asks.length > 0 ? `asks for ${asks.join(", ")}` : says;
  return `${paint("bold", `beat ${story.beats}`)} ${what}${paint("dim", costIn(story, next))}`;
}

/** What the next debit takes, and what it comes to. It belongs to the event before it. */
function costIn(story: Story, next: readonly TimelineEntry[]): string {
  const [debited] = next;
  if (debited?.kind !== "BudgetDebited" || (debited.debit.microUsd ?? 0) === 0) return "";
  const micro = debited.debit.microUsd ?? 0;
  return `  ${dollars(micro)}, ${dollars(story.microUsd + micro)} in all`;
}

type CallEntry = Entry<"ToolInvoked" | "ToolResultRecorded" | "ToolOutcomeUnknown" | "ToolResultReconciled">;

function callLine(story: Story, { entry, paint }: { readonly entry: CallEntry; readonly paint: Paint }): string {
  const call = callName(story, entry.call);
  switch (entry.kind) {
    case "ToolInvoked":
      return `${paint("cyan", "▶")} ${call} runs again with its key`;
    case "ToolResultRecorded": {
      const { outcome, externalId, value } = entry;
      const [mark, ink]: [string, Ink] = outcome === "succeeded" ? ["✔", "green"] : ["✖", "red"];
      const name = externalId === null ? "" : ` as ${externalId}`;
      const took = paint("dim", tookOf(story, entry));
      return `${paint(ink, mark)} ${call} ${outcome}${name}${took} ${shortValue(value, ARGS_MAX)}`;
    }
    case "ToolOutcomeUnknown": {
      const { askFrom, at } = entry;
      const asks = askFrom === null ? "" : paint("dim", `, a person can tell ${fromThen(askFrom, at)}`);
      return `${paint("yellow", "?")} ${call} may have happened or not: ${short(entry.why, WORDS_MAX)}${asks}`;
    }
    case "ToolResultReconciled": {
      const { as, by, note } = entry.answer;
      return `${paint("green", "✔")} ${by} says about ${call}: ${as}${note === null ? "" : ` (${note})`}`;
    }
  }
}

const fromThen = (askFrom: number, at: number): string => (askFrom <= at ? "at once" : `in ${duration(askFrom - at)}`);

function recoveryLine(
  story: Story,
  { entry, paint }: { readonly entry: EventOf<"RecoveryDecided"> & { readonly epoch: number }; readonly paint: Paint },
): string {
  const { action, rule, at } = entry;
  const why = short(entry.why, WORDS_MAX);
  switch (action.kind) {
    case "takeover":
      return paint("yellow", `⚡ epoch ${entry.epoch} took over: its process died while it had the run`);
    case "retry":
      return `${paint("yellow", "↻")} the model is asked again ${relative(action.at, at)} (${rule}): ${why}`;
    case "nudge":
      return `${paint("yellow", "↻")} the model is told (${rule}): ${why}`;
    case "again":
      return `${paint("yellow", "↻")} ${callName(story, action.call)} gave no answer: ${why}`;
    case "abort":
      return `${paint("red", "✖")} gives up (${rule}): ${why}`;
  }
}

const isFirst = ({ releases }: Story, { call, at }: Entry<"ToolInvoked">): boolean => releases.get(call)?.first === at;

function tookOf({ releases }: Story, { call, at }: Entry<"ToolResultRecorded">): string {
  const since = releases.get(call)?.last;
  return since === undefined ? "" : ` in ${duration(at - since)}`;
}

/** `bookFlight (c4)`: calls are numbered in the order in which they were asked for. */
function callName({ tools }: Story, call: string): string {
  const tool = tools[Number(call.slice(1)) - 1];
  return tool === undefined ? call : `${tool} (${call})`;
}

const callsIn = (parts: readonly ReplyPart[]) => parts.filter((part) => part.kind === "call");
