/** The events of a run part by part: each event once and in order, whatever a page may have and whatever is kept. */
import { beforeAll, describe, expect, test } from "vitest";
import { EventParts } from "../../src/history/event-parts.ts";
import { commitsAfter } from "../../src/history/reader.ts";
import type { CommittedEvent } from "../../src/ports/reading.ts";
import { DamagedCopy, type StoredRun, createLongRun } from "../support/runs/damaged-copies.ts";

let storedRun: StoredRun;

beforeAll(async () => {
  storedRun = await createLongRun();
});

const kinds = (events: readonly Pick<CommittedEvent, "kind" | "version">[]): readonly string[] =>
  events.map(({ kind, version }) => `${version} ${kind}`);

async function wholeOf({ world, row }: DamagedCopy): Promise<readonly string[]> {
  const commits = await commitsAfter({ objects: world.objects, row }, 0);
  return commits.flatMap(({ version, events }) => kinds(events.map((event) => ({ version, ...event }))));
}

/** All pages, each behind the last event of the one before. */
async function pagesOf(parts: EventParts, { row }: DamagedCopy, eventsMax: number): Promise<readonly string[]> {
  const read: CommittedEvent[] = [];
  for (let isMore = true; isMore;) {
    const page = await parts.after(row, { after: read.at(-1)?.version ?? 0, startIndex: null, eventsMax });
    read.push(...page.entries);
    isMore = page.more;
  }
  return kinds(read);
}

describe("pages of events", () => {
  test.each([0, 1, 2, 7, 500])(
    "have each event once if a page has %i at most, beyond one commit",
    async (eventsMax) => {
      const copy = new DamagedCopy(storedRun);
      const whole = await wholeOf(copy);
      expect(await pagesOf(new EventParts(copy.world.objects), copy, eventsMax)).toEqual(whole);
    },
  );

  test.each([
    ["names", { namesBytes: 1_536, eventsCharacters: 12_000_000 }],
    ["events", { namesBytes: 4_000_000, eventsCharacters: 1 }],
    ["neither", { namesBytes: 1, eventsCharacters: 1 }],
  ])("have each event once if there is no room to keep: %s", async (_, kept) => {
    const copy = new DamagedCopy(storedRun);
    const whole = await wholeOf(copy);
    expect(await pagesOf(new EventParts(copy.world.objects, kept), copy, 50)).toEqual(whole);
  });
});
