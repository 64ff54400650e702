/** What the model says at this moment: text of a step that is not committed, so it may still be lost. */
import type { Delta } from "../../ports/delta-log.ts";
import type { Reset } from "../../operations/live-page.ts";
import type { ModelStep } from "../../protocol/step.ts";
import type { TimelineEntry } from "../../operations/views.ts";

export interface LivePart {
  readonly kind: "text" | "reasoning" | "call";
  /** The tool of a call. */
  readonly tool: string | null;
  readonly text: string;
}

export interface LiveStep extends ModelStep {
  readonly parts: readonly LivePart[];
  /** The number of the last delta: one that comes twice is passed over. */
  readonly seq: number;
  /** The model says more than was streamed. */
  readonly isCut: boolean;
  /** Why the text belongs to no reply; null: the model may still be speaking. */
  readonly lost: Reset["why"] | null;
}

/** The step with what the delta adds to it. A delta of another step begins that one. */
export function withDelta(step: LiveStep | null, delta: Delta): LiveStep {
  const { epoch, version, seq, isCut = false } = delta;
  const isSame = step?.epoch === epoch && step.version === version;
  if (isSame && seq <= step.seq) return step;
  const parts = new Map((isSame ? step.parts : []).entries());
  for (const { kind, index, tool = null, text } of delta.parts) {
    const before = parts.get(index);
    parts.set(index, { kind, tool: before?.tool ?? tool, text: `${before?.text ?? ""}${text}` });
  }
  const ordered = [...parts].toSorted(([one], [other]) => one - other).map(([, part]) => part);
  return { epoch, version, seq, isCut, parts: ordered, lost: null };
}

/** A step that has no reply is kept, so that the reader sees what became of the words it read. */
export const withReset = (step: LiveStep | null, { epoch, version, why }: Reset): LiveStep | null =>
  step?.epoch === epoch && step.version === version ? { ...step, lost: why } : step;

/** The reply replaces its text, and the next reply replaces that of a lost step. */
export const withEntries = (step: LiveStep | null, entries: readonly TimelineEntry[]): LiveStep | null =>
  entries.some(({ kind }) => kind === "ModelCallCompleted") ? null : step;
