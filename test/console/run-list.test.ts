/** The list of runs of the console, over pages in the order of the server: the latest change of status first. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_RUNS_READ, type ReadRuns, withFirstPage, withNextPage } from "../../src/console/model/run-list.ts";
import type { Listed } from "../../src/operations/list.ts";
import type { Summary } from "../../src/operations/views.ts";

const run = (name: string, of: Partial<Summary> = {}): Summary =>
  ({ run: name, status: "running", createdAt: 0, statusSince: 0, spent: { usd: 1 }, ...of }) as Summary;

/** A store and its clock, which goes on with each change. */
function storeOf(count: number, limit: number) {
  const runs = new Map<string, Summary>();
  let now = 0;
  const change = (name: string, of: Partial<Summary> = {}): void => {
    now += 1;
    runs.set(name, { ...(runs.get(name) ?? run(name, { createdAt: now })), ...of, statusSince: now });
  };
  for (let index = 0; index < count; index += 1) change(`r${index}`);
  const pageAfter = (after: string | null): Listed => {
    const all = [...runs.values()].toSorted((one, other) => other.statusSince - one.statusSince);
    const behind = all.filter(({ statusSince }) => after === null || statusSince < Number(after));
    const page = behind.slice(0, limit);
    const next = behind.length > limit ? String(page.at(-1)?.statusSince) : null;
    return { ...{ kind: "listed", runs: page, damaged: [] }, more: next !== null, next };
  };
  return { runs, change, pageAfter };
}

type Store = Pick<ReturnType<typeof storeOf>, "pageAfter">;

/** Reads the first page and the next one of the pass, as the console does at each turn. `between`: what happens meanwhile. */
function turnOf(read: ReadRuns, { pageAfter }: Store, between: () => void = () => undefined): ReadRuns {
  const first = withFirstPage(read, pageAfter(null));
  between();
  return first.pass === null || first.pass.next === null
    ? first
    : withNextPage(first, first.pass, pageAfter(first.pass.next));
}

const turns = (count: number, read: ReadRuns, store: Store): ReadRuns =>
  Array.from({ length: count }).reduce<ReadRuns>((last) => turnOf(last, store), read);

const namesIn = ({ list }: ReadRuns): readonly string[] => list.runs.map((each) => each.run);

describe("the list of runs", () => {
  test("keeps an old run whose change of status moves it to the first page, whatever page is read after it", () => {
    const store = storeOf(9, 3);
    let read = turns(4, NO_RUNS_READ, store);
    store.change("r0", { status: "blocked" });
    for (let turn = 0; turn < 6; turn += 1) {
      read = turnOf(read, store);
      expect(read.list.runs.find((each) => each.run === "r0")?.status).toBe("blocked");
    }
    expect(namesIn(read)).toEqual(["r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r0"]);
  });

  test("keeps a run that moves to the first page while the last page of a pass is read", () => {
    const store = storeOf(6, 3);
    const read = turnOf(turns(3, NO_RUNS_READ, store), store, () => store.change("r0", { status: "blocked" }));
    for (const each of [read, turnOf(read, store)]) expect(namesIn(each)).toEqual(["r5", "r4", "r3", "r2", "r1", "r0"]);
  });

  test("reads what changed behind the first page with the next pass, which begins at the first page of its turn", () => {
    const store = storeOf(9, 3);
    const read = turns(4, NO_RUNS_READ, store);
    for (const name of ["r0", "n1", "n2", "n3", "n4"]) store.change(name, { status: "blocked" });
    const later = turns(8, read, store);
    const blocked = later.list.runs.filter(({ status }) => status === "blocked").map((each) => each.run);
    expect(blocked).toEqual(["n4", "n3", "n2", "n1", "r0"]);
  });

  test("loses a purged run after a whole pass without it, and at once where one page has all", () => {
    const store = storeOf(9, 3);
    const read = turns(4, NO_RUNS_READ, store);
    store.runs.delete("r1");
    expect(namesIn(turns(1, read, store))).toContain("r1");
    expect(namesIn(turns(5, read, store))).toEqual(["r8", "r7", "r6", "r5", "r4", "r3", "r2", "r0"]);
    const small = storeOf(3, 3);
    const all = turnOf(NO_RUNS_READ, small);
    small.runs.delete("r1");
    expect(namesIn(turnOf(all, small))).toEqual(["r2", "r0"]);
  });

  test("stops a pass after 20 pages, says so, and holds what these have", () => {
    const store = storeOf(50, 2);
    const read = turns(18, NO_RUNS_READ, store);
    expect({ isCut: read.isCut, runs: read.list.runs.length }).toEqual({ isCut: null, runs: 38 });
    const whole = turns(1, read, store);
    expect({ isCut: whole.isCut, runs: whole.list.runs.length }).toEqual({ isCut: true, runs: 40 });
    for (let index = 0; index < 10; index += 1) store.change(`n${index}`);
    expect(turns(50, whole, store).list.runs).toHaveLength(40);
  });

  test("holds a run that became unreadable as damaged only, until it is readable again", () => {
    const store = storeOf(2, 3);
    const read = turnOf(NO_RUNS_READ, store);
    const damaged = [{ run: "r0", why: "its checksum does not match" }];
    const page = { ...store.pageAfter(null), damaged };
    const hurt = withFirstPage(read, { ...page, runs: page.runs.filter((each) => each.run !== "r0") });
    expect({ names: namesIn(hurt), damaged: hurt.list.damaged }).toEqual({ names: ["r1"], damaged });
    const mended = turnOf(hurt, store);
    expect({ names: namesIn(mended), damaged: mended.list.damaged }).toEqual({ names: ["r1", "r0"], damaged: [] });
  });

  test("misses no run that the store has, while fewer runs change between two turns than a page holds", () => {
    const step = fc.record({
      names: fc.array(fc.nat(11), { maxLength: 2 }),
      between: fc.array(fc.nat(11), { maxLength: 1 }),
      purged: fc.option(fc.nat(11), { freq: 4 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const store = storeOf(8, 3);
        let read = turns(4, NO_RUNS_READ, store);
        for (const { names, between, purged } of steps) {
          for (const name of names) store.change(`r${name}`);
          if (purged !== null) store.runs.delete(`r${purged}`);
          read = turnOf(read, store, () => between.forEach((name) => store.change(`r${name}`)));
          const listed = new Set(namesIn(turnOf(read, store)));
          expect([...store.runs.keys()].filter((name) => !listed.has(name))).toEqual([]);
        }
        expect(new Set(namesIn(turns(12, read, store)))).toEqual(new Set(store.runs.keys()));
      }),
    );
  });
});
