/**
 * The fold of the timeline: what its lines have said so far of a run. A fold over many events changes its own maps, since
 * a copy at each call would cost the square of the number of calls.
 */
import { EFFECTS } from "../core/calls/effects.ts";
import { countAfter, proposedBy } from "../core/calls/proposed-calls.ts";
import type { Value } from "../core/message.ts";
import type { TimelineEntry } from "../operations/views.ts";
import type { KnownCalls } from "./recovery.ts";

/** The state of the fold. */
export interface Story extends KnownCalls {
  readonly startedAt: number | null;
  readonly beats: number;
  readonly microUsd: number;
  /** The run is about to be stopped: the next reply of its model is the closing call. */
  readonly stops: boolean;
  /** How many calls were proposed, in a fork also before it. */
  readonly asked: number;
  /** The first and the last release of each call. */
  readonly releases: ReadonlyMap<string, { readonly first: number; readonly last: number }>;
  /** The arguments that a human set, by call. */
  readonly edited: ReadonlyMap<string, Value>;
}

/** The state of the fold before the first event. */
export const UNTOLD: Story = {
  startedAt: null,
  beats: 0,
  microUsd: 0,
  stops: false,
  tools: new Map(),
  asked: 0,
  releases: new Map(),
  unprobed: new Set(),
  edited: new Map(),
};

/** A story that one fold owns. */
interface OwnStory extends Story {
  readonly tools: Map<string, string>;
  readonly releases: Map<string, { readonly first: number; readonly last: number }>;
  readonly unprobed: Set<string>;
  readonly edited: Map<string, Value>;
}

export const copyOf = (story: Story): OwnStory => ({
  ...story,
  tools: new Map(story.tools),
  releases: new Map(story.releases),
  unprobed: new Set(story.unprobed),
  edited: new Map(story.edited),
});

/** The story after an event. It takes over the maps of the story before. */
export function after(story: OwnStory, entry: TimelineEntry): OwnStory {
  const { startedAt, beats, tools, asked, releases, unprobed, edited } = story;
  if (startedAt === null) return after({ ...story, startedAt: entry.at }, entry);
  switch (entry.kind) {
    case "RunStarted":
      return { ...story, asked: countAfter(entry, asked) };
    case "ModelCallCompleted":
      for (const { call, tool } of proposedBy(entry, asked)) tools.set(call, tool);
      return { ...story, beats: beats + 1, asked: countAfter(entry, asked) };
    case "RecoveryDecided":
      return entry.action.kind === "stop" ? { ...story, stops: true } : story;
    case "BudgetDebited":
      return { ...story, microUsd: story.microUsd + (entry.debit.microUsd ?? 0) };
    case "ToolIntended":
      if (!EFFECTS[entry.effect].hasProbe) unprobed.add(entry.call);
      return story;
    case "HumanApprovalReceived":
      if (entry.decision.args !== null) edited.set(entry.call, entry.decision.args);
      return story;
    case "ToolInvoked": {
      const first = releases.get(entry.call)?.first ?? entry.at;
      releases.set(entry.call, { first, last: entry.at });
      return story;
    }
    default:
      return story;
  }
}
