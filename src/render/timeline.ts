/**
 * The timeline of a run: one line for each event, with its beats, its cost, and every process death that it survived.
 * It is a fold over events, so `timeline` renders a whole run and `watch` continues with new events.
 */
import { stripVTControlCharacters } from "node:util";
import { droppedNames } from "../core/dropped-names.ts";
import type { Value } from "../core/message.ts";
import type { TimelineEntry } from "../operations/views.ts";
import { grantWords } from "./grants.ts";
import type { Style, Paint } from "./paint.ts";
import { childLine } from "./children.ts";
import { filesMadeWords, filesWords } from "./files.ts";
import { waitLine } from "./input-waits.ts";
import { detachedCallLine } from "./detached-calls.ts";
import { proposedBy } from "../core/calls/proposed-calls.ts";
import { decisionWords, messageWords } from "./message.ts";
import { callName, recoveryWords } from "./recovery.ts";
import { type Story, after, copyOf } from "./story.ts";
import { dueBy, routeWords, count, crackWords, dollars, duration, short, shortValue } from "./words.ts";
import type { EventOf } from "../core/event.ts";
import type { MemoryEvents } from "../core/memory.ts";

/** Whether to colour, and the number of columns of a line. */
export type LineStyle = Pick<Style, "paint" | "width">;

/** The rendered lines, and the state with which the next call continues. */
export interface RenderedEvents {
  readonly story: Story;
  readonly lines: readonly string[];
}

/** Renders `entries`, which are whole commits in order, and returns the story so far. */
export function renderEvents(story: Story, entries: readonly TimelineEntry[], page: LineStyle): RenderedEvents {
  const told = tellEach(story, entries, page);
  const lines = told.lines.map(({ entry, says, shows }) =>
    fitted(`${stamp(told.story, entry, page)}${says}`, { shows, page }),
  );
  return { story: told.story, lines };
}

/** What is said of one entry. */
interface Saying extends Line {
  readonly entry: TimelineEntry;
}

/** The same with the entry of each line, for a page that lays out time and cost itself. */
export function tellEach(
  story: Story,
  entries: readonly TimelineEntry[],
  page: LineStyle,
): { readonly story: Story; readonly lines: readonly Saying[] } {
  const lines: Saying[] = [];
  let now = copyOf(story);
  for (const [index, entry] of entries.entries()) {
    now = after(now, entry);
    const line = lineOf({ story: now, entry, next: entries[index + 1], page });
    if (line !== null) lines.push({ ...line, entry });
  }
  return { story: now, lines };
}

/** The time since the run's first event, the epoch, and the version, which `fork`, `replay` and `snapshot` take. */
function stamp({ startedAt }: Story, { at, epoch, version }: TimelineEntry, { paint }: LineStyle): string {
  const elapsed = at - (startedAt ?? at);
  const time = elapsed < 1_000 ? `${(elapsed / 1_000).toFixed(1)}s` : duration(elapsed);
  return paint("dim", `${`+${time}`.padStart(8)}  e${String(epoch).padEnd(3)} v${String(version).padEnd(3)} `);
}

/** Cuts a shown value at the end of the line. The sentence before it is never cut. */
function fitted(
  says: string,
  { shows, page }: { readonly shows: Value | undefined; readonly page: LineStyle },
): string {
  if (shows === undefined) return says;
  const room = page.width - stripVTControlCharacters(says).length - 1;
  return `${says} ${shortValue(shows, Math.max(VALUE_MIN, room))}`;
}

const VALUE_MIN = 30;
const WORDS_MAX = 300;

interface Line {
  readonly says: string;
  readonly shows?: Value | undefined;
}

interface Context<E = TimelineEntry> {
  readonly story: Story;
  readonly entry: E;
  /** The entry that follows in the same commit or the next one. */
  readonly next: TimelineEntry | undefined;
  readonly page: LineStyle;
}

type Entry<K extends TimelineEntry["kind"]> = Extract<TimelineEntry, { readonly kind: K }>;

const forkOf = ({ forked }: Entry<"RunStarted">): string =>
  forked === undefined ? "" : `, forked from ${forked.run} at version ${forked.version}`;

/** What the tool gets of the arguments that a human set, where that is something else. */
function parsedLine({ story, entry, page }: Context<Entry<"ToolIntended">>): Line | null {
  const { call, parsed } = entry;
  const edited = story.edited.get(call);
  if (parsed === undefined || edited === undefined) return null;
  const isShort = edited.kind === "inline" && parsed.json.kind === "inline";
  const dropped = isShort ? droppedNames(edited.json, parsed.json.json) : [];
  const lacks = dropped.length === 0 ? "" : `, without ${short(dropped.join(", "), WORDS_MAX)}`;
  return { says: page.paint("yellow", `${callName(story, call)} gets${lacks}`), shows: parsed.json };
}

/** The line of an entry; null if another line already says it. */
function lineOf(context: Context): Line | null {
  const { story, entry, next, page } = context;
  const { paint } = page;
  const name = (call: string): string => callName(story, call);
  switch (entry.kind) {
    case "RunStarted":
      return { says: `started with agent version ${entry.agentVersion}${forkOf(entry)}${dueBy(entry.deadline)}` };
    case "AgentChanged": {
      const by = entry.by === undefined ? "" : `, accepted by ${entry.by}`;
      return { says: paint("yellow", `continues with agent version ${entry.to} instead of ${entry.from}${by}`) };
    }
    case "ModelCallCompleted":
      return beatLine({ ...context, entry });
    case "ModelCallLost": {
      const lost = `${count(entry.calls, "reply", "replies")} of the model lost${costIn(story, next)}`;
      return { says: `${paint("yellow", lost)}: ${entry.why}` };
    }
    case "ToolsLeftOut":
      return { says: paint("yellow", leftOutWords(entry)) };
    case "RequestChosen":
      return choiceLine(entry);
    case "Recalled":
    case "Learned":
      return memoryLine(entry);
    case "DetachedCallBegun":
    case "DetachedCallSubmitted":
    case "DetachedCallEnded":
      return detachedCallLine(entry, paint);
    case "Compacted":
    case "ResultSummarised":
      return summaryLine(entry, { paint, cost: costIn(story, next) });
    case "BudgetDebited":
      return null;
    case "ToolIntended":
      return parsedLine({ ...context, entry });
    case "MessageAbsorbed":
      return entry.stage === "taken" ? { says: messageWords(entry.body, name) } : null;
    case "DecisionIgnored":
      return { says: paint("yellow", `✖ ${decisionWords(entry, name)}`) };
    case "ChildDispatched":
    case "ChildStarted":
    case "ChildSuperseded":
    case "ChildContinued":
    case "ChildResumed":
    case "ChildAskedToStop":
    case "ChildNeverMade":
      return childLine(entry, { paint, name });
    case "WaitBegun":
    case "InputRefused":
    case "InputIgnored":
      return waitLine(entry, { paint, name });
    case "RunPaused":
    case "RunResumed":
      return { says: entry.kind === "RunPaused" ? paint("yellow", "paused") : "resumed" };
    case "CheckFailed":
      return { says: `${paint("red", "✖")} not done yet, ${entry.check}: ${short(entry.why, WORDS_MAX)}` };
    case "CrackSignalled":
      return { says: `${paint("yellow", "!")} ${crackWords(entry.crack)}: ${short(entry.why, WORDS_MAX)}` };
    case "TopologyMoved":
      return { says: `${paint("cyan", "→")} ${entry.where}: ${short(entry.note, WORDS_MAX)}` };
    case "RecoveryDecided":
      return { says: recoveryWords({ ...context, entry }) };
    case "RunEnded":
      if (entry.status === "completed") return { says: paint("green", "■ completed"), shows: entry.result };
      if (entry.status === "cancelled") return { says: paint("yellow", "■ cancelled") };
      return { says: `${paint("red", `■ failed, ${entry.failure.code}`)}: ${short(entry.failure.message, WORDS_MAX)}` };
    case "RunRedriven":
      return { says: paint("yellow", `↻ redriven by ${entry.by} after ${entry.failure.code}: ${entry.why}`) };
    default:
      return callLine({ ...context, entry });
  }
}

/** A reply that a limit cut plans nothing. */
function cutWords({ cut }: Entry<"ModelCallCompleted">): string {
  if (cut === undefined) return "";
  const calls = cut.calls === 0 ? "" : `, ${count(cut.calls, "call")} dropped`;
  return `cut by its limit of tokens (${cut.limit}${calls}), `;
}

function beatLine({ story, entry, next, page }: Context<Entry<"ModelCallCompleted">>): Line {
  const calls = proposedBy(entry, story.asked - entry.parts.filter(({ kind }) => kind === "call").length);
  const names = calls.map(({ call }) => callName(story, call));
  const words = entry.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(" ");
  const made = filesMadeWords(entry.parts);
  const spoken = words.trim() === "" && made === "" ? "says nothing" : `says: ${short(words, WORDS_MAX)}${made}`;
  const says = `${cutWords(entry)}${spoken}`;
  const cost = costIn(story, next);
  const name = story.stops ? "closing reply" : `beat ${story.beats}`;
  const beat = `${page.paint("bold", name)}${page.paint("dim", cost === "" ? "" : `${cost},`)}`;
  return {
    says: `${beat} ${names.length > 0 ? `asks for ${names.join(", ")}` : says}${routeWords(entry)}`,
    shows: calls.length === 1 ? calls[0]?.args : undefined,
  };
}

/** The cost of an event, from the debit that follows it, and the total so far. */
function costIn(story: Story, next: TimelineEntry | undefined): string {
  if (next?.kind !== "BudgetDebited" || (next.debit.microUsd ?? 0) === 0) return "";
  const cost = next.debit.microUsd ?? 0;
  return ` ${dollars(cost)}, ${dollars(story.microUsd + cost)} in all`;
}

type CallEntry = Entry<
  | "ApprovalRequested"
  | "HumanApprovalReceived"
  | "ToolInvoked"
  | "ToolResultRecorded"
  | "ToolCompensated"
  | "ToolOutcomeUnknown"
  | "ToolResultReconciled"
>;

function callLine({ story, entry, next, page }: Context<CallEntry>): Line | null {
  const { paint } = page;
  const call = callName(story, entry.kind === "ToolCompensated" ? entry.call.replace("undo-", "") : entry.call);
  const release = story.releases.get(entry.call);
  switch (entry.kind) {
    case "ApprovalRequested":
      return { says: `${paint("yellow", "?")} ${call} waits for approval: ${short(entry.reason, WORDS_MAX)}` };
    case "HumanApprovalReceived": {
      const { as, by, note, args } = entry.decision;
      const mark = as === "deny" ? paint("red", "✖") : paint("green", "✔");
      const done = { approve: "approved", deny: "denied", edit: "changed and approved" }[as];
      const why = note === null ? "" : `: ${short(note, WORDS_MAX)}`;
      const more = entry.decision.more === undefined ? "" : `, with ${grantWords(entry.decision.more)} more`;
      return { says: `${mark} ${call} is ${done} by ${by}${more}${why}`, ...(args === null ? {} : { shows: args }) };
    }
    case "ToolInvoked":
      // The first release is in the same commit as the beat's own line.
      if (release?.first === entry.at) return null;
      return { says: `${paint("cyan", "▶")} ${call} runs again` };
    case "ToolResultRecorded": {
      const mark = entry.outcome === "succeeded" ? paint("green", "✔") : paint("red", "✖");
      const name = entry.externalId === null ? "" : ` as ${entry.externalId}`;
      const took = release === undefined ? "" : ` in ${duration(entry.at - release.last)}`;
      const says = `${mark} ${call} ${entry.outcome}${name}${filesWords(entry.files)}${paint("dim", took)}`;
      if (entry.outcome === "succeeded") return { says, shows: entry.value };
      // An error message is not cut: it may end with what to do.
      return { says: `${says}: ${shortValue(entry.value, WORDS_MAX)}` };
    }
    case "ToolCompensated":
      return { says: `${paint("green", "↶")} ${call} is undone`, shows: entry.value };
    case "ToolOutcomeUnknown": {
      const { reconcilableFrom, at, why, onUnknown = "ask" } = entry;
      const when =
        reconcilableFrom === null || reconcilableFrom <= at ? "now" : `in ${duration(reconcilableFrom - at)}`;
      const after = AFTER[onUnknown];
      const isDecided = isTellOf(entry.call, next) && next?.version === entry.version;
      const asks =
        reconcilableFrom === null || isDecided
          ? ""
          : `; ${after} ${when}${onUnknown === "ask" ? "" : ", unless an operator reconciles it first"}`;
      const what = entry.unbegun === true ? `${call} could not be started` : `the outcome of ${call} is unknown`;
      return { says: `${paint("yellow", "?")} ${what}: ${short(why, WORDS_MAX)}${asks}` };
    }
    case "ToolResultReconciled": {
      const { as, by, note, value } = entry.answer;
      const said = entry.evidence ?? note;
      const name = entry.externalId === undefined ? "" : ` as ${entry.externalId}`;
      const files = filesWords(entry.answer.files);
      const says = `${paint("green", "✔")} ${by} reconciled ${call}: ${as}${name}${files}${said === null ? "" : ` (${said})`}`;
      return { says, shows: value ?? undefined };
    }
  }
}

/** After the last try the model is told in the same commit, and that decision has a line of its own. */
const isTellOf = (call: string, next: TimelineEntry | undefined): boolean =>
  next?.kind === "RecoveryDecided" && next.action.kind === "tell" && next.action.call === call;

const AFTER = {
  ask: "an operator can reconcile it",
  tell: "the model is told",
  fail: "the run fails",
  compensate: "all effects are undone",
} as const;

/** What an agent chose for the next call of its model. */
function choiceLine({ choice, stop }: EventOf<"RequestChosen">): { readonly says: string } {
  const { instructions, offered, model, options } = choice;
  const chosen = [
    ...(instructions === undefined ? [] : [`instructions${digestOf(instructions)}`]),
    ...(offered === undefined ? [] : [`tools ${offered.join(", ") || "none"}`]),
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(options === undefined ? [] : [`options ${JSON.stringify(options)}`]),
  ];
  const says = chosen.length === 0 ? "the agent chose nothing of its own" : `the agent chose ${chosen.join(", ")}`;
  return { says: stop === undefined ? says : `the agent stops its model: ${stop}` };
}

/** What a run does not offer of the tools of its servers. */
function leftOutWords({ tools, count }: EventOf<"ToolsLeftOut">): string {
  if (count === 0) return "all tools of its servers are offered again";
  const rest = count > tools.length ? `; and ${count - tools.length} more` : "";
  return `tools are left out: ${tools.map(({ tool, source, why }) => `${tool} of ${source}: ${why}`).join("; ")}${rest}`;
}

const digestOf = (value: NonNullable<EventOf<"RequestChosen">["choice"]["instructions"]>): string =>
  value.kind === "blob" ? ` ${value.sha256.slice(0, 8)} (${value.bytes} bytes)` : "";

const SHOWN_MAX = 3;

/** Renders what a run recalls and learns, as a line of its timeline. */
export function memoryLine({ kind, refs }: { readonly [K in keyof MemoryEvents]: EventOf<K> }[keyof MemoryEvents]): {
  readonly says: string;
} {
  const names = refs.slice(0, SHOWN_MAX).map(({ id }) => id);
  const rest = refs.length > names.length ? ` and ${refs.length - names.length} more` : "";
  return { says: `${kind === "Recalled" ? "recalled from memory" : "added to memory"}: ${names.join(", ")}${rest}` };
}

/**
 * Renders summaries as lines of the timeline: of older messages, and of results that are too long to show. `cost`: what
 * the call cost, in words; empty if it is not known.
 */
function summaryLine(
  entry: EventOf<"Compacted"> | EventOf<"ResultSummarised">,
  { paint, cost }: { readonly paint: Paint; readonly cost: string },
): { readonly says: string } {
  const by = entry.model === undefined ? "" : ` by ${entry.model}`;
  if (entry.kind === "Compacted") {
    const { from, to, messages } = entry.replaced;
    const words = `summary${by} stands for messages ${from}–${to} (${messages}), ${count(entry.tokens, "token")}`;
    return { says: `${paint("yellow", "≡")} its context was compacted${cost}: ${words}${routeWords(entry)}` };
  }
  const { call, manifest, failed, tokens } = entry;
  const made = `the result of ${call} (${manifest.bytes} bytes)`;
  if (failed === true) return { says: `${paint("yellow", "≡")} ${made} has no summary${cost}` };
  const read = manifest.read < manifest.characters ? `, of its first ${manifest.read} characters` : "";
  const words = `${made} has a summary${by}${read}, ${count(tokens, "token")}`;
  return { says: `${paint("yellow", "≡")} ${words}${cost}${routeWords(entry)}` };
}
