/** Which worker process gets which task. */
import { describe, expect, it } from "vitest";
import { type Place, SPARE_PLACES, TURN_MS, freeIn, isSurplus, placeFor } from "../../src/workers/placement.ts";

const BOUNDS = { workers: 2, beatsPerWorker: 3 };
const WISH = { agent: "clerk", execution: "x", failures: 0 };

const place = (change: Partial<Place> = {}): Place => ({
  ...{ agent: "clerk", tasks: 1, waiting: 0, most: 3, isHeavy: false, isClosing: false, knows: () => false },
  wasIdle: false,
  servedMs: TURN_MS,
  ...change,
});

describe("a beat", () => {
  it("goes to the process that had its run last, if that has room", () => {
    const known = place({ tasks: 2, knows: (execution) => execution === "x" });
    const idle = place({ tasks: 0 });
    expect(placeFor([idle, known], WISH, BOUNDS)).toEqual({ kind: "use", place: known });
    expect(placeFor([idle, { ...known, tasks: 3 }], WISH, BOUNDS)).toEqual({ kind: "use", place: idle });
  });

  it("gets a process of its own while there are fewer than allowed, and shares the least busy one then", () => {
    const [busy, less] = [place({ tasks: 2 }), place()];
    expect(placeFor([busy], WISH, BOUNDS)).toEqual({ kind: "spawn", replaced: null });
    expect(placeFor([busy, less], WISH, BOUNDS)).toEqual({ kind: "use", place: less });
    const full = [place({ tasks: 3 }), place({ tasks: 3 })];
    expect(placeFor(full, WISH, BOUNDS)).toEqual({ kind: "full", closing: null });
  });

  it("does not share a process whose memory is short beyond 16 tasks", () => {
    const bounds = { workers: 1, beatsPerWorker: 64 };
    const heavy = place({ tasks: 16, most: 64, isHeavy: true });
    expect(placeFor([heavy], WISH, bounds)).toEqual({ kind: "full", closing: null });
    expect(placeFor([{ ...heavy, tasks: 15 }], WISH, bounds).kind).toBe("use");
  });

  it("shares a process whose other tasks wait for their model, up to 16 for each place", () => {
    const waits = place({ tasks: 47, waiting: 45 });
    expect(placeFor([waits, waits], WISH, BOUNDS)).toEqual({ kind: "use", place: waits });
    for (const change of [{ waiting: 44 }, { tasks: 48 }, { isHeavy: true }, { most: 2 }]) {
      const full = { ...waits, ...change };
      expect(placeFor([full, full], WISH, BOUNDS).kind).toBe("full");
    }
    const alone = place({ most: 1, waiting: 1 });
    expect(placeFor([alone], WISH, { workers: 1, beatsPerWorker: 1 }).kind).toBe("full");
  });

  it("never shares a process with another agent, with a retry, or with a process that closes", () => {
    const others = [place({ agent: "guest" }), place({ most: 1 }), place({ isClosing: true, tasks: 0 })];
    for (const other of others) {
      const placed = placeFor([other, other], WISH, BOUNDS);
      expect(placed.kind).not.toBe("use");
    }
  });

  it("replaces an idle process of another agent", () => {
    const idle = place({ agent: "guest", tasks: 0 });
    expect(placeFor([idle, place({ agent: "guest" })], WISH, BOUNDS)).toEqual({ kind: "spawn", replaced: idle });
  });

  it("takes an idle process without an agent, but no spare one", () => {
    const unused = place({ agent: null, tasks: 0 });
    expect(placeFor([place(), unused], WISH, BOUNDS)).toEqual({ kind: "use", place: unused });
    const busy = place();
    expect(placeFor([busy, busy, unused], WISH, BOUNDS)).toEqual({ kind: "use", place: busy });
  });
});

describe("a task that cannot share a process", () => {
  const busy = place({ tasks: 2 });

  it("gets a spare place, and then waits until the process that served its agent for longest has closed", () => {
    const alone = { ...WISH, failures: 1 };
    expect(placeFor([busy, busy], alone, BOUNDS)).toEqual({ kind: "spawn", replaced: null });
    const longest = place({ tasks: 3, servedMs: TURN_MS + 1 });
    const all = [busy, longest, ...Array.from({ length: SPARE_PLACES }, () => place({ most: 1 }))];
    expect(placeFor(all, alone, BOUNDS)).toEqual({ kind: "full", closing: all[1] });
    expect(placeFor([...all.slice(1), place({ isClosing: true })], alone, BOUNDS)).toEqual({
      ...{ kind: "full", closing: null },
    });
  });

  it("gets a spare place too if its agent has no process", () => {
    expect(placeFor([busy, busy], { ...WISH, agent: "guest" }, BOUNDS)).toEqual({ kind: "spawn", replaced: null });
  });

  it("is alone after its process died, and takes an idle process of its agent", () => {
    const bounds = { workers: 2, beatsPerWorker: 16 };
    const [retries, alone] = [place({ most: 2 }), place({ most: 1 })];
    for (const failures of [1, 2]) {
      const wish = { ...WISH, failures };
      expect(placeFor([place(), retries, alone], wish, bounds)).toEqual({ kind: "spawn", replaced: null });
      const idle = place({ tasks: 0 });
      expect(placeFor([place(), retries, idle], wish, bounds)).toEqual({ kind: "use", place: idle });
    }
  });

  it("is one of a few retries after a store did not answer, and alone after the second time", () => {
    const bounds = { workers: 2, beatsPerWorker: 16 };
    const retries = place({ most: 2 });
    const wish = { ...WISH, isOutage: true };
    expect(placeFor([place(), retries], { ...wish, failures: 1 }, bounds)).toEqual({ kind: "use", place: retries });
    expect(placeFor([place(), retries], { ...wish, failures: 2 }, bounds)).toEqual({ kind: "spawn", replaced: null });
  });

  it("waits for a process of its own while its agent has code that has completed no beat here", () => {
    const bounds = { workers: 2, beatsPerWorker: 16 };
    const fresh = place({ most: 16, isNew: true });
    expect(placeFor([fresh], WISH, bounds)).toEqual({ kind: "spawn", replaced: null });
    expect(placeFor([fresh, fresh], WISH, bounds)).toEqual({ kind: "full", closing: null });
    const idle = { ...fresh, tasks: 0 };
    expect(placeFor([fresh, idle], WISH, bounds)).toEqual({ kind: "use", place: idle });
    const known = { ...fresh, isNew: false };
    expect(placeFor([fresh, known], WISH, bounds)).toEqual({ kind: "use", place: known });
  });

  it("closes no process while one keeps house, which is free soon", () => {
    const bounds = { workers: 1, beatsPerWorker: 1 };
    expect(placeFor([place({ agent: null, most: 1 })], WISH, bounds)).toEqual({ kind: "full", closing: null });
  });

  it("waits while no process has served its agent for a turn, and leaves an idle one to its agent for that time", () => {
    const bounds = { workers: 1, beatsPerWorker: 1 };
    const young = place({ agent: "guest", most: 1, servedMs: TURN_MS - 1 });
    expect(placeFor([young], WISH, bounds)).toEqual({ kind: "full", closing: null });
    const idle = { ...young, tasks: 0 };
    expect(placeFor([idle], WISH, bounds)).toEqual({ kind: "full", closing: null });
    expect(placeFor([{ ...idle, servedMs: TURN_MS }], WISH, bounds).kind).toBe("spawn");
    const unused = { ...idle, wasIdle: true };
    expect(placeFor([unused], WISH, bounds)).toEqual({ kind: "spawn", replaced: unused });
  });

  it("leaves its place when it is over", () => {
    const idle = place({ tasks: 0 });
    const house = place({ agent: null });
    expect(isSurplus(idle, { places: [idle, busy, busy], workers: 2 })).toBe(true);
    expect(isSurplus(idle, { places: [idle, busy, house], workers: 2 })).toBe(false);
    expect(isSurplus(busy, { places: [busy, busy, busy], workers: 2 })).toBe(false);
  });
});

describe("the places of a process that are free", () => {
  it("are those that no acting beat has, and none where it closes or waits for its first commit", () => {
    expect(freeIn(place({ tasks: 2, waiting: 1 }), BOUNDS)).toBe(2);
    expect(freeIn(place({ tasks: 5, waiting: 1 }), BOUNDS)).toBe(0);
    expect(freeIn(place({ tasks: 1, most: 1 }), BOUNDS)).toBe(0);
    expect(freeIn(place({ tasks: 0, most: 1 }), BOUNDS)).toBe(3);
    expect(freeIn(place({ tasks: 0, isClosing: true }), BOUNDS)).toBe(0);
    expect(freeIn(place({ tasks: 1, isNew: true }), BOUNDS)).toBe(0);
    expect(freeIn(place({ tasks: 0, isNew: true }), BOUNDS)).toBe(1);
  });
});
