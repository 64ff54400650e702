/**
 * One run: its document and its events. The events come as a stream, where the server streams, and as pages that wait
 * otherwise. Each commit reads the document again, since it says what no event says, such as a lease.
 */
import { computed, signal } from "@preact/signals";
import type { EventPage } from "../../operations/event-page.ts";
import type { Reset } from "../../operations/live-page.ts";
import type { Delta } from "../../ports/delta-log.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { askApi, documentOf, sendToApi } from "../api/http.ts";
import { ApiError, type ShownProblem, troubleOf } from "../api/problem.ts";
import { pathOf } from "../model/commands.ts";
import { type LiveStep, withDelta, withEntries, withReset } from "../model/live-text.ts";
import { rowReader } from "../model/beats.ts";
import { eventReader } from "../model/event-stream.ts";
import { answered, elapse, failed, whileVisible } from "./poll.ts";

export interface OpenedRun {
  readonly run: string;
  readonly shown: Shown | null;
  /** Null until the first page is there. */
  readonly entries: readonly TimelineEntry[] | null;
  /** What the model says, and no commit has; null: nothing. */
  readonly live: LiveStep | null;
  readonly trouble: ShownProblem | null;
}

export const followed = signal<OpenedRun | null>(null);

const NO_ENTRIES: readonly TimelineEntry[] = [];

const entries = computed(() => followed.value?.entries ?? NO_ENTRIES);
const readRows = rowReader();

/** The rows of the timeline. They change with the events only, and not with what the model says or with the document. */
export const timelineRows = computed(() => readRows(entries.value));

const change = (run: string, part: Partial<OpenedRun>): void => {
  const before = followed.peek();
  if (before?.run === run) followed.value = { ...before, ...part };
};

const RETRY_MS_MAX = 5_000;
/** A run that has ended changes only by a redrive or a purge. */
const ENDED_MS = 3_000;
const SHOWN_MS = 3_000;

/** Follows a run until `stop` fires. A hidden page reads nothing. */
export async function followShown(run: string, stop: AbortSignal): Promise<void> {
  followed.value = { run, shown: null, entries: null, live: null, trouble: null };
  const gathered = gatherer(run);
  let after = "0";
  await whileVisible(stop, async (signal) => {
    void keepShown(run, signal);
    for (let failures = 0; !signal.aborted;) {
      try {
        const part = await readEvents(run, { after, stop: signal, gathered });
        after = part.next;
        failures = 0;
        if (part.isOver) await elapse(ENDED_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        const trouble = troubleOf(error);
        failed(trouble);
        change(run, { trouble });
        failures += 1;
        await elapse(Math.min(RETRY_MS_MAX, 500 * 2 ** failures), signal);
      }
    }
  });
}

interface Part {
  /** The cursor behind what was read. */
  readonly next: string;
  readonly isOver: boolean;
}

interface Reading {
  readonly after: string;
  readonly stop: AbortSignal;
  readonly gathered: Gatherer;
}

async function readEvents(run: string, from: Reading): Promise<Part> {
  const { after, stop, gathered } = from;
  const response = await sendToApi(
    `${pathOf("timeline", { run })}?deltas=true&cursor=${after}${after === "0" ? "" : "&wait=15"}`,
    {
      headers: { accept: "text/event-stream, application/json" },
      signal: stop,
    },
  );
  const isStream = response.ok && (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  if (isStream && response.body !== null) return readStream(run, { ...from, body: response.body });
  const { entries, next, live, inProgress, more } = await documentOf<EventPage>(response);
  if (live !== undefined && live.reset !== null) lose(run, live.reset);
  gathered.add(entries);
  gathered.show();
  for (const delta of live?.deltas ?? []) hear(run, delta);
  return { next: live?.cursor ?? String(next), isOver: !inProgress && !more };
}

async function readStream(run: string, from: Reading & { readonly body: ReadableStream<Uint8Array> }): Promise<Part> {
  const { gathered } = from;
  const read = eventReader();
  const decoder = new TextDecoder();
  const reader = from.body.getReader();
  let next = from.after;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) return { next, isOver: false };
      answered();
      for (const { event, id, text } of read(decoder.decode(value, { stream: true }))) {
        if (id !== "") next = id;
        if (event === "end") return { next, isOver: true };
        if (event === "message") gathered.add(JSON.parse(text) as readonly TimelineEntry[]);
        else gathered.show();
        if (event === "reset") lose(run, JSON.parse(text) as Reset);
        else if (event === "delta") hear(run, JSON.parse(text) as Delta);
      }
      gathered.showSoon();
    }
  } finally {
    gathered.show();
    await reader.cancel().catch(() => undefined);
  }
}

const hear = (run: string, delta: Delta): void =>
  change(run, { live: withDelta(followed.peek()?.live ?? null, delta) });

const lose = (run: string, reset: Reset): void =>
  change(run, { live: withReset(followed.peek()?.live ?? null, reset) });

interface Gatherer {
  readonly add: (entries: readonly TimelineEntry[]) => void;
  readonly show: () => void;
  /** At once, unless something was shown a moment ago. */
  readonly showSoon: () => void;
}

/** How long events gather after others were shown: the events of a long run come in hundreds of chunks. */
const GATHER_MS = 150;

function gatherer(run: string): Gatherer {
  let gathered: TimelineEntry[] = [];
  let shownAt = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (): void => {
    clearTimeout(timer);
    timer = undefined;
    shownAt = performance.now();
    const entries = gathered;
    gathered = [];
    take(run, entries);
  };
  return {
    add: (entries) => void gathered.push(...entries),
    show,
    showSoon: () => {
      const waitMs = shownAt + GATHER_MS - performance.now();
      if (waitMs <= 0) show();
      else timer ??= setTimeout(show, waitMs);
    },
  };
}

function take(run: string, entries: readonly TimelineEntry[]): void {
  answered();
  const before = followed.peek();
  if (before?.run !== run) return;
  if (entries.length > 0 || before.entries === null) {
    change(run, {
      entries: before.entries === null ? entries : [...before.entries, ...entries],
      live: withEntries(before.live, entries),
      trouble: null,
    });
    void readShown(run);
  } else if (before.trouble !== null) change(run, { trouble: null });
}

async function keepShown(run: string, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await readShown(run);
    await elapse(SHOWN_MS, stop);
  }
}

/** The runs whose document is being read, and whether it is to be read again after that. */
const reading = new Map<string, boolean>();

/** Reads the document of the run again, for example after an action. Requests of one run follow each other. */
export async function readShown(run: string): Promise<void> {
  if (reading.has(run)) {
    reading.set(run, true);
    return;
  }
  try {
    do {
      reading.set(run, false);
      await readShownOnce(run);
    } while (reading.get(run) === true);
  } finally {
    reading.delete(run);
  }
}

async function readShownOnce(run: string): Promise<void> {
  try {
    const shown = await askApi<Shown>(pathOf("show", { run }));
    answered();
    change(run, { shown, trouble: null });
  } catch (error) {
    const trouble = troubleOf(error);
    failed(trouble);
    if (error instanceof ApiError) change(run, { trouble });
  }
}
