/**
 * What one reader of a UI message stream gets next: the committed chunks from its index on, and in the chunks that each
 * reply leaves free, what its model is saying before the reply is committed.
 *
 * A reply begins with `start-step`, then come `LIVE_CHUNKS` free chunks, `reset-step`, and the committed reply. So the
 * text of a model call that died is never final, and the index of each committed chunk is the same for all readers.
 */
import type { Live } from "../../operations/live-page.ts";
import { LIVE_CHUNKS, type UiChunk } from "./ui-chunks.ts";
import type { UiSegment } from "./ui-messages.ts";

/** Text that waits until it is worth a chunk, once half of the free ones are used. */
const PENDING_CHARACTERS = 200;

type DeltaPart = Live["deltas"][number]["parts"][number];

export class UiReader {
  /** The index of the next chunk. */
  #at: number;
  /** The parts that are shown of the open step, and what is not shown yet of each; null: what is shown is not known. */
  #shown: Map<string, string> | null;

  constructor(startIndex: number) {
    this.#at = startIndex;
    this.#shown = null;
  }

  /** The chunks that the log has for this reader. `hasEnded`: the last of them is `finish`. */
  committed(segment: Pick<UiSegment, "chunks" | "isDone">): readonly UiChunk[] {
    const { chunks, isDone } = segment;
    const from = this.#at;
    if (isDone) {
      this.#at = Math.max(from, chunks.length);
      const end = endFrom(chunks);
      // The last step that this reader saw has no reply: the run ended instead.
      const isLost = from > end + prefixLength(chunks[end]?.type === "finish-step");
      return isLost ? [{ type: "reset-step" }, ...chunks.slice(end)] : chunks.slice(from);
    }
    if (from >= chunks.length) return [];
    this.#at = chunks.length;
    this.#shown = new Map();
    return chunks.slice(from);
  }

  /** The chunks for what the model is saying. `base`: how many chunks are committed; `hasStep`: a step is open in them. */
  live(
    { reset, deltas }: Pick<Live, "reset" | "deltas">,
    { base, hasStep }: { readonly base: number; readonly hasStep: boolean },
  ): readonly UiChunk[] {
    if (deltas.length === 0 && reset === null) return [];
    const liveFrom = base + prefixLength(hasStep);
    const liveTo = liveFrom + LIVE_CHUNKS;
    const chunks: UiChunk[] = [];
    const prefix: readonly UiChunk[] = hasStep
      ? [{ type: "finish-step" }, { type: "start-step" }]
      : [{ type: "start-step" }];
    if (this.#at < liveFrom) {
      chunks.push(...prefix.slice(this.#at - base));
      this.#at = liveFrom;
      this.#shown = new Map();
    }
    const send = (chunk: UiChunk): void => {
      chunks.push(chunk);
      this.#at += 1;
    };
    const isStale = reset !== null && this.#shown !== null && this.#shown.size > 0;
    if ((isStale || this.#shown === null) && this.#at < liveTo) send({ type: "reset-step" });
    if (reset !== null || this.#shown === null) this.#shown = new Map();
    for (const delta of deltas) {
      for (const part of delta.parts)
        this.#say(part, `${delta.epoch}.${delta.version}.${part.index}`, { liveTo, send });
    }
    return chunks;
  }

  /** Sends one piece of text, unless it waits for more. One free chunk is left for a reset. */
  #say(part: DeltaPart, id: string, { liveTo, send }: { liveTo: number; send: (chunk: UiChunk) => void }): void {
    if (part.kind === "call" || this.#shown === null) return;
    const isNew = !this.#shown.has(id);
    const text = `${this.#shown.get(id) ?? ""}${part.text}`;
    const left = liveTo - this.#at - 1;
    const isDue = left > LIVE_CHUNKS / 2 || text.length >= PENDING_CHARACTERS;
    if (left < (isNew ? 2 : 1) || !isDue) {
      if (!isNew) this.#shown.set(id, text);
      return;
    }
    if (isNew) send({ type: `${part.kind}-start`, id });
    send({ type: `${part.kind}-delta`, id, delta: text });
    this.#shown.set(id, "");
  }
}

const prefixLength = (hasStep: boolean): number => (hasStep ? 2 : 1);

/** Where the end of a segment begins: what follows its last reply and its last result. */
function endFrom(chunks: readonly UiChunk[]): number {
  const last = chunks.findLastIndex(({ type }) => !END.has(type));
  return last + 1;
}

const END: ReadonlySet<string> = new Set(["finish-step", "error", "abort", "finish"]);
