/** What the console makes of long runs and long lists: only what is new is laid out again. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withEntries } from "../../src/console/model/audit-list.ts";
import { type HistoryRow, rowReader, rowsOf } from "../../src/console/model/beats.ts";
import { mapOf } from "../../src/console/model/minimap.ts";
import { NO_RUNS_READ, withFirstPage } from "../../src/console/model/run-list.ts";
import { UNTOLD } from "../../src/render/story.ts";
import { renderEvents } from "../../src/render/timeline.ts";
import type { AuditEntry } from "../../src/operations/access/audit.ts";
import type { Listed } from "../../src/operations/list.ts";
import type { Summary, TimelineEntry } from "../../src/operations/views.ts";
import { type Walk, walks } from "../support/walks/random-walks.ts";

const entriesOf = ({ commits }: Walk): readonly (readonly TimelineEntry[])[] =>
  commits.map(({ version, epoch, events }) => events.map((event) => ({ version, epoch, ...event })));

describe("the rows of the timeline", () => {
  test("are the same whether the events come at once or commit by commit", () => {
    fc.assert(
      fc.property(walks, (walk) => {
        const read = rowReader();
        const parts = entriesOf(walk);
        let rows: readonly HistoryRow[] = [];
        for (let count = 0; count <= parts.length; count += 1) rows = read(parts.slice(0, count).flat());
        expect(rows).toEqual(rowsOf(parts.flat()));
      }),
      { numRuns: 40 },
    );
  });

  const inline = (json: unknown) => ({ kind: "inline", json });
  const beat = (number: number): readonly TimelineEntry[] =>
    (
      [
        { kind: "ModelCallCompleted", model: "m", finish: "tool-calls", tokensIn: 1, tokensOut: 1, tookMs: number },
        { kind: "ToolIntended", call: `c${number}`, effect: "keyed", key: "k" },
        { kind: "ToolInvoked", call: `c${number}` },
        { kind: "ToolResultRecorded", call: `c${number}`, outcome: "succeeded", externalId: null, value: inline(1) },
      ] as const
    ).map((event) => {
      const parts = [{ kind: "call", tool: "step", args: inline({}), provider: null }];
      const of = event.kind === "ModelCallCompleted" ? { parts } : {};
      return { version: number, epoch: 1, at: 1_000 * number, ...event, ...of } as unknown as TimelineEntry;
    });

  test("stay the same objects where no event changed them, and another run begins anew", () => {
    const read = rowReader();
    const some = [1, 2, 3].flatMap(beat);
    const before = read(some);
    const after = read([...some, ...beat(4)]);
    expect(after.map((row, index) => row === before[index])).toEqual([true, true, true, false]);
    expect(read(beat(7))).toEqual(rowsOf(beat(7)));
    expect(read([])).toEqual([]);
  });

  test("a call of a child run lasts until its end, whatever becomes of the process of its parent, and leads to its run", () => {
    const [asked, intended, , settled] = beat(1) as readonly [TimelineEntry, TimelineEntry, unknown, TimelineEntry];
    const child = { call: "c1", child: "local-kid", agent: "kid", try: 1, grant: { beats: 4 } };
    const at = (ms: number, event: object): TimelineEntry =>
      ({ version: 2, epoch: 1, at: ms, ...event }) as unknown as TimelineEntry;
    const takeover = { kind: "takeover", from: "x", takeovers: 1 };
    const dispatched = [asked, intended, at(2_000, { kind: "ChildDispatched", ...child })];
    const died = at(5_000, { kind: "RecoveryDecided", rule: "takeover", why: "", action: takeover });
    const laneIn = (entries: readonly TimelineEntry[]) =>
      rowsOf(entries).flatMap((row) => (row.kind === "beat" ? row.lanes : []))[0];
    expect(laneIn([...dispatched, died])).toMatchObject({
      outcome: "open",
      spans: [{ kind: "child", from: 2_000, to: null }],
    });
    const all = [...dispatched, died, { ...settled, at: 9_000 }];
    expect(laneIn(all)).toMatchObject({ outcome: "succeeded", spans: [{ kind: "child", from: 2_000, to: 9_000 }] });
    const lines = rowsOf(all).flatMap((row) => row.lines);
    expect(lines.flatMap(({ about }) => about ?? [])).toEqual(["local-kid"]);
  });

  test("are one path for each tone in the map, however many they are", () => {
    const rows = rowsOf(Array.from({ length: 500 }, (_, index) => beat(index + 1)).flat());
    const map = mapOf(rows, { width: 1_000, height: 32 });
    expect(map.map(({ tone, d }) => ({ tone, cells: d.split("z").length - 1 }))).toEqual([
      { tone: "beat", cells: 500 },
    ]);
    // The longest beat takes the whole height; the shortest is still seen.
    expect(map[0]?.d).toMatch(/^M0 28h1\.6V32h-1\.6z.*M998 0h1\.6V32h-1\.6z$/);
    expect(mapOf([], { width: 1_000, height: 32 })).toEqual([{ tone: "beat", d: "" }]);
  });
});

describe("lists that are read again and again", () => {
  const run = (name: string, createdAt: number, beats = 1): Summary =>
    ({ run: name, createdAt, beats, spent: { usd: 1 } }) as Summary;
  const page = (...runs: readonly Summary[]): Listed => ({
    ...{
      kind: "listed",
      runs,
      damaged: [{ run: "hurt", why: "its checksum does not match" }],
      more: false,
      next: null,
    },
  });

  test("stay the same object without news, and keep the runs that did not change", () => {
    const read = withFirstPage(NO_RUNS_READ, page(run("b", 2), run("a", 1)));
    expect(withFirstPage(read, page(run("b", 2), run("a", 1))).list).toBe(read.list);
    const next = withFirstPage(read, page(run("b", 2), run("a", 1, 9))).list;
    expect(next.runs.map((each, index) => each === read.list.runs[index])).toEqual([true, false]);
    expect(next.damaged[0]).toBe(read.list.damaged[0]);
    expect(withFirstPage(read, page(run("b", 2))).list.runs).toEqual([run("b", 2)]);
  });

  test("an audit entry gets its outcome when it is read again, and older ones stay below it", () => {
    const entry = (id: string, outcome: string | null): AuditEntry => ({ id, outcome }) as AuditEntry;
    const known = withEntries([], [entry("3", null), entry("2", "done")]);
    const all = withEntries(withEntries(known, [entry("1", "done")]), [entry("4", null), entry("3", "done")]);
    expect(all.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(["4 null", "3 done", "2 done", "1 done"]);
  });
});

test("a story that is told on leaves the story before it as it was", () => {
  const page = { paint: (_: string, text: string): string => text, width: 80 };
  fc.assert(
    fc.property(walks, (walk) => {
      const [first = [], ...others] = entriesOf(walk);
      const { story } = renderEvents(UNTOLD, first, page);
      const before = structuredClone(story);
      renderEvents(story, others.flat(), page);
      expect(story).toEqual(before);
    }),
    { numRuns: 20 },
  );
});
