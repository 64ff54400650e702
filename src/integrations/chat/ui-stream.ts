/**
 * Streams a run to the AI SDK's `useChat` as server-sent events, one UI message chunk each. A reader that reconnects says
 * how many chunks it has, and gets the next one (ADR 0094).
 */
import { UiReader } from "./ui-live.ts";
import type { UiChunk } from "./ui-chunks.ts";
import { addEntries, dropChunks, liveStreamOf, uiFold, withoutEnd } from "./ui-messages.ts";
import type { EventPage } from "../../operations/event-page.ts";
import type { OpenStreams, Seat } from "../../api/streams/open-streams.ts";
import { type PageOf, WITH_DELTAS, followRun, piecesOf } from "../../api/streams/follow-run.ts";

export interface UiStreamOptions {
  readonly pageOf: PageOf;
  readonly run: string;
  /** What the reader follows: the segment with this entry; null: the last turn. */
  readonly entry: string | null;
  readonly startIndex: number;
  /** An error that the page shows at the end; null: none. */
  readonly says?: string | null;
  readonly streams: OpenStreams;
  readonly seat: Seat;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers with the stream, or with the API's response if there is no such run. */
export function streamUi(options: UiStreamOptions): Promise<Response> {
  const { pageOf, run, entry, streams, seat, headers, says = null } = options;
  const fold = uiFold(run);
  const reader = new UiReader(options.startIndex);
  function chunksFor(page: EventPage): { readonly chunks: readonly UiChunk[]; readonly isOver: boolean } {
    addEntries(fold, page.entries);
    dropChunks(fold, entry);
    if (page.more) return { chunks: [], isOver: false };
    const segment = liveStreamOf(fold.segments, entry);
    // What was refused waits for nothing more.
    if (segment === null && says !== null) return { chunks: [{ type: "start" }, ...refusal(says)], isOver: true };
    if (segment === null && !page.inProgress) {
      return { chunks: options.startIndex === 0 ? [{ type: "start" }, ...ABSENT] : ABSENT, isOver: true };
    }
    if (segment === null) return { chunks: [], isOver: false };
    const chunks = reader.committed(segment);
    if (segment.isDone) {
      return { chunks: says === null ? chunks : [...chunks.map(withoutEnd), ...refusal(says)], isOver: true };
    }
    // What the model says now is no update of an earlier message.
    if (segment.turn !== (fold.segments.at(-1)?.turn ?? segment.turn)) return { chunks, isOver: false };
    const live = page.live ?? { reset: null, deltas: [] };
    const base = segment.chunks.length;
    return { chunks: [...chunks, ...reader.live(live, { base, hasStep: fold.hasStep })], isOver: false };
  }
  return followRun({
    ...WITH_DELTAS,
    pageOf,
    streams,
    seat,
    opening: ": connected\n\n",
    broken: "",
    headers: { "x-vercel-ai-ui-message-stream": "v1", ...headers },
    next: (page) => {
      const { chunks, isOver } = chunksFor(page);
      return { pieces: piecesOf(chunks, (chunk) => `data: ${JSON.stringify(chunk)}\n\n`), isOver };
    },
  });
}

const refusal = (errorText: string): readonly UiChunk[] => [
  { type: "error", errorText },
  { type: "finish", finishReason: "error" },
];

/** What ends the stream of an entry that the log of an ended run lacks, such as a decision that came too late. */
const ABSENT = refusal("The run has ended, and what this stream follows is not in its log.");
